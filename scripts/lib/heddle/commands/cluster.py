"""scripts/cluster: the command line."""

import argparse

from heddle import cluster, configs, gpus

EPILOG = """The daemons run from copies of their configuration in DIR/rm-conf and DIR/nodeK/conf.
DIR/client-conf is a HADOOP_CONF_DIR for any Hadoop client; DIR/endpoints holds
name=host:port lines; logs are in DIR/logs, container logs in DIR/nodeK/userlogs.
The simulated GPUs of a node are in DIR/nodeK/topology.toml, which may be edited
while it runs."""


def main(arguments):
    """start, stop or run; returns the exit code."""
    options = _parse(arguments)
    if options.action == "start":
        endpoints = cluster.start(options.dir, options.config, options.nodes, options.rm_only,
                                  configs.parse_defines(options.defines),
                                  gpus.Options(options.gpus, options.topology, options.cgroup,
                                               options.unsafe_no_isolation))
        for name, address in endpoints.items():
            print(f"{name}={address}")
    elif options.action == "stop":
        print("stopped" if cluster.stop(options.dir) else "nothing was running")
    else:
        cluster.run(options.dir, options.command)
    return 0


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="cluster", description="Real daemons in the background on free ports.",
                                     epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    start = actions.add_parser("start", help="start a ResourceManager and nodes; returns when all are registered")
    start.add_argument("--dir", required=True, help="a new or empty directory for everything of this cluster")
    start.add_argument("--config", help="a Hadoop configuration directory; without it a small one is made")
    start.add_argument("--nodes", type=int, default=1, help="how many NodeManagers (1)")
    start.add_argument("--rm-only", action="store_true", help="no node, but DIR/nm-conf for one of your own")
    start.add_argument("-D", action="append", default=[], dest="defines", metavar="KEY=VALUE",
                       help="set a key on both daemons and for clients; may be repeated")
    cards = start.add_mutually_exclusive_group()
    cards.add_argument("--gpus", type=int, metavar="N", help="give each node N simulated A100s")
    cards.add_argument("--topology", metavar="FILE", help="give each node the simulated GPUs of this file, of which "
                       "there are examples in conf/topologies; without either node 1 has the machine's GPUs")
    start.add_argument("--cgroup", choices=gpus.CGROUPS, help="where device rules are set (v1 where it is mounted)")
    start.add_argument("--unsafe-no-isolation", action="store_true",
                       help="offer GPUs even where containers cannot be kept from those of others")
    stop = actions.add_parser("stop", help="end the daemons and all containers; may be repeated")
    stop.add_argument("--dir", required=True)
    run = actions.add_parser("run", help="run a client of the cluster as the account that runs its containers")
    run.add_argument("--dir", required=True)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(arguments)
    if options.action == "run":
        if options.command[:1] == ["--"]:
            del options.command[0]
        if not options.command:
            run.error("COMMAND is missing")
    return options
