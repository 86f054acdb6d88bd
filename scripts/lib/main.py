"""Hands the command line of an entry point in scripts/ to its module."""

import importlib
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from heddle.errors import Failure  # noqa: E402

COMMANDS = ("cluster", "quickstart", "test", "latency", "check-conf", "hostile", "fuzz", "simulate")


def main():
    """Runs one command; a failure that was foreseen is one sentence, not a traceback."""
    name, arguments = sys.argv[1], sys.argv[2:]
    if name not in COMMANDS:
        raise SystemExit(f"unknown command {name}: it is one of {', '.join(COMMANDS)}")
    os.umask(0o022)  # other accounts read what is made here
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    sys.stdout.reconfigure(line_buffering=True)
    try:
        return importlib.import_module(f"heddle.commands.{name.replace('-', '_')}").main(arguments)
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130


def _terminated(number, _frame):
    """Makes SIGTERM and SIGHUP unwind like Ctrl-C does, so that everything started is stopped."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
