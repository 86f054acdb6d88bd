"""A skein client that takes requests on stdin, one JSON object a line, and answers on stdout."""

import json
import sys

import skein


def container(one):
    """What the application's master tells of a container."""
    return {"id": one.id, "service": one.service_name, "state": str(one.state), "exit": one.exit_message,
            "container": one.yarn_container_id, "node": one.yarn_node_http_address}


class Console:
    """The requests, by name."""

    def __init__(self, client):
        self.client = client
        self.masters = {}

    def submit(self, spec):
        """Submits an application; its id."""
        return self.client.submit(skein.ApplicationSpec.from_dict(spec))

    def connect(self, app):
        """Waits until the application's master answers."""
        self.masters[app] = self.client.connect(app)

    def report(self, app):
        """What the ResourceManager tells of it."""
        report = self.client.application_report(app)
        return {"state": str(report.state), "final": str(report.final_status), "name": report.name,
                "queue": report.queue, "tags": sorted(report.tags), "progress": report.progress,
                "containers": report.usage.num_used_containers, "vcores": report.usage.used_resources.vcores,
                "memory": report.usage.used_resources.memory}

    def scale(self, app, service, count):
        """Gives a service that many containers; those that were started or stopped."""
        return [container(one) for one in self.masters[app].scale(service, count)]

    def containers(self, app, states=None):
        """The containers in these states, else those that live."""
        return [container(one) for one in self.masters[app].get_containers(states=states)]

    def end_container(self, app, container_id):
        """Ends one container."""
        self.masters[app].kill_container(container_id)

    def exchange(self, app, key, value):
        """Keeps a value with the application's master; what it gives back."""
        self.masters[app].kv[key] = value.encode()
        return self.masters[app].kv[key].decode()

    def shutdown(self, app, status):
        """Ends the application with a final status."""
        self.masters.pop(app).shutdown(status)

    def kill(self, app):
        """Has the ResourceManager kill it."""
        self.client.kill_application(app)

    def nodes(self):
        """The nodes that the ResourceManager tells of."""
        return [{"id": one.id, "state": str(one.state), "memory": one.total_resources.memory}
                for one in self.client.get_nodes()]

    def queue(self, name):
        """A queue and its applications' states."""
        queue = self.client.get_queue(name)
        return {"name": queue.name, "state": str(queue.state), "capacity": queue.capacity}


def main():
    """Arguments: the file of the driver's log, options of its Java."""
    with skein.Client(log=sys.argv[1], java_options=sys.argv[2:]) as client:
        console = Console(client)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"ok": getattr(console, request.pop("call"))(**request)}
            except skein.SkeinError as error:
                answer = {"error": type(error).__name__, "message": str(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
