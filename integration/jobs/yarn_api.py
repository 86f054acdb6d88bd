"""Reads a cluster with yarn-api-client and writes what it got as JSON.

Arguments: the ResourceManager's URL, the URL of a NodeManager, an application id,
the NodeId of that NodeManager, a container on it.
"""

import json
import sys

from yarn_api_client import NodeManager, ResourceManager


def main():
    """See above."""
    rm_url, nm_url, app, node, container = sys.argv[1:]
    rm, nm = ResourceManager(service_endpoints=[rm_url]), NodeManager(service_endpoint=nm_url)
    answers = {
        "info": rm.cluster_information(),
        "metrics": rm.cluster_metrics(),
        "scheduler": rm.cluster_scheduler(),
        "apps": rm.cluster_applications(),
        "running": rm.cluster_applications(states=["RUNNING"], queue="gpu"),
        "app": rm.cluster_application(app),
        "attempts": rm.cluster_application_attempts(app),
        "state": rm.cluster_application_state(app),
        "nodes": rm.cluster_nodes(),
        "healthy": rm.cluster_nodes(states=["RUNNING"]),
        "node": rm.cluster_node(node),
        "nm.info": nm.node_information(),
        "nm.apps": nm.node_applications(),
        "nm.app": nm.node_application(app),
        "nm.containers": nm.node_containers(),
        "nm.container": nm.node_container(container),
    }
    json.dump({name: answer.data for name, answer in answers.items()}, sys.stdout)


if __name__ == "__main__":
    main()
