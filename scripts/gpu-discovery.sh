#!/bin/bash
# Tells Spark which GPUs a container has. Put it where containers can read it, and name that place:
#   --conf spark.executor.resource.gpu.discoveryScript=/path/to/gpu-discovery.sh
# (and spark.driver.resource.gpu.discoveryScript for a driver with GPUs). Prints
#   {"name": "gpu", "addresses": ["0", "1"]}
set -euo pipefail
if ! indices=$(nvidia-smi --query-gpu=index --format=csv,noheader); then
    echo "gpu-discovery.sh: nvidia-smi found no GPU in this container: $indices" >&2
    exit 1
fi
addresses=
for index in $indices; do
    addresses+="${addresses:+, }\"$index\""
done
echo "{\"name\": \"gpu\", \"addresses\": [$addresses]}"
