"""Pages in a real Chromium: what a person sees, that the console is silent, and that nothing could not be had."""

import json
import subprocess

import caches
from harness import CLIENT_DEADLINE_S, require, require_match, wait_for
from scenarios.clients import app_of
from scenarios.gpu import KEYS, cards, unless_isolated
from scenarios.registry import HEDDLE, check
from scenarios.spark import expect_success, tail


def browse(bench, pages):
    """What Chromium saw on pages given as name: (URL, text to wait for); pictures lie beside the other details."""
    chromium = caches.need("chromium", "chromium")
    folder = bench.logs / "screenshots"
    folder.mkdir(exist_ok=True)
    words = [f"{name}={url}={text}" for name, (url, text) in pages.items()]
    done = subprocess.run([caches.client_python("playwright"), caches.HERE / "jobs" / "browse.py", chromium, folder, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=CLIENT_DEADLINE_S)
    require(done.returncode == 0, f"Chromium could not be driven: {done.stderr[-1500:]}")
    seen = json.loads(done.stdout)
    (folder / f"{bench.name}.json").write_text(json.dumps(seen, indent=1))
    for name in pages:
        page = seen[name]
        bad = [answer for answer in page["answers"] if answer[0] >= 400]
        require(not page["console"], f"{name}: the console says {page['console']}")
        require(not page["failed"] and not bad, f"{name}: not to be had: {page['failed']} {bad}")
        require(page["title"] and (folder / f"{name}.png").stat().st_size > 5000, f"{name}: an empty page")
    return seen


def shows(seen, name, *texts):
    """Fails unless a page shows each text."""
    missing = [text for text in texts if text not in seen[name]["text"]]
    require(not missing, f"{name} does not show {missing}: {seen[name]['text'][:1500]!r}")


@check("browser/pages", targets=HEDDLE)
def pages(bench):
    """Chromium opens /cluster, an application's page and the Spark UI through the proxy while a job with GPUs runs,
    and what is left of them after it: silent console, nothing missing, what matters is shown."""
    caches.need("chromium", "chromium")
    cluster = bench.fresh_cluster(nodes=2, keys=KEYS, options=["--gpus", 4, *unless_isolated()])
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    script = bench.file("gpu-discovery.sh", (caches.REPOSITORY / "scripts" / "gpu-discovery.sh").read_bytes(), 0o755)
    conf = {"spark.executor.cores": "1", "spark.executor.resource.gpu.amount": "2", "spark.ui.enabled": "true",
            "spark.task.resource.gpu.amount": "2", "spark.executor.resource.gpu.discoveryScript": str(script),
            "spark.ui.port": "0"}
    with bench.spark("--name", "seen by Chromium", bench.base / "jobs" / "hold.py", 2, ready, go, answer, executors=2,
                     cluster=cluster, conf=conf) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("the job", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        app, root = client.app(), f"http://{cluster.endpoints()['rm.http']}"
        held = {name: len(cards(cluster, name)["assignedGpuDevices"]) for name in ("node1", "node2")}
        require(sum(held.values()) == 4, f"the job holds cards of {held}")
        busy = max(held, key=held.get)
        proxy = f"{root}/proxy/{app}"
        node_page = f"http://{cluster.endpoints()[f'{busy}.http']}/node"
        told = browse(bench, {
            "cluster": (f"{root}/cluster", "seen by Chromium"),
            "nodes": (f"{root}/cluster/nodes", cluster.node_hosts()[0]),
            "application": (f"{root}/cluster/app/{app}", "seen by Chromium"),
            "node": (node_page, app.replace("application", "container")),
            "spark-jobs": (f"{proxy}/", "Completed Jobs"),
            "spark-executors": (f"{proxy}/executors/", "Executors"),
            "spark-environment": (f"{proxy}/environment/", "Java Home"),
        })
        devices = [one["uuid"] for one in cards(cluster, busy)["totalGpuDevices"]]
        tracking = app_of(cluster, app)["trackingUrl"]
        require(tracking.startswith(proxy), f"the tracking URL is {tracking}, not behind {proxy}")
        go.touch()
        expect_success(client)
    shows(told, "cluster", app, "seen by Chromium", "SPARK", "RUNNING", "gpu", "default", *cluster.node_hosts())
    shows(told, "application", app, "seen by Chromium", "SPARK", "RUNNING", "root.gpu")
    shows(told, "node", "GPUs", *devices)
    # From either page one click leads to the other, and to Spark.
    for name in ("cluster", "application"):
        require(any(link.startswith(proxy) for link in told[name]["links"]), f"{name} links {told[name]['links']}")
    require(any(link.endswith(f"/cluster/app/{app}") for link in told["cluster"]["links"]), "no link to the application")
    require(told["cluster"]["bars"] >= 2, "no bars for the queues")
    require(told["cluster"]["wider"] <= 0, f"/cluster is {told['cluster']['wider']} pixels too wide")
    shows(told, "spark-jobs", "Spark Jobs", "Completed Jobs")
    shows(told, "spark-environment", "seen by Chromium", "Spark Properties")
    require_match(r"driver", told["spark-executors"]["text"], "Spark's page of executors")
    for name in ("spark-jobs", "spark-executors", "spark-environment"):
        require(told[name]["url"].startswith(proxy), f"{name} left the proxy for {told[name]['url']}")
        styles = [url for status, url in told[name]["answers"] if url.endswith(".css") and status == 200]
        require(styles and all(url.startswith(proxy) for url in styles), f"{name} has the styles {styles}")
    after = browse(bench, {"cluster-after": (f"{root}/cluster", "seen by Chromium"),
                           "application-after": (f"{root}/cluster/app/{app}", "SUCCEEDED")})
    shows(after, "cluster-after", app, "FINISHED", "SUCCEEDED")
    shows(after, "application-after", "FINISHED", "SUCCEEDED")
    cluster.stop()
    return f"Chromium {told['version']}"
