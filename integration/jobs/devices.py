"""Tells what happens when the device nodes of a directory, and /dev/null, are opened: JSON on stdout.

    devices.py DIR                 once
    devices.py DIR --orphan OUT    once, to OUT, from a child that has left its parent and its session
    devices.py DIR --repeat OUT    again and again, to OUT, with a count of the turns
"""

import errno
import json
import os
import sys
import time


def attempt(path):
    """`open`, or the name of the error."""
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "open"


def table(folder):
    """What each node answers, by its name."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] + ["/dev/null"]
    return {os.path.basename(path): attempt(path) for path in paths}


def write(path, value):
    """Writes JSON by renaming, so that it is whole when it is there."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(value, out)
    os.rename(path + ".new", path)


def orphan(folder, out):
    """Forks twice; the grandchild looks once its parent has gone."""
    if os.fork() == 0:
        os.setsid()
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                time.sleep(0.01)
            write(out, table(folder))
        os._exit(0)
    os.wait()
    while not os.path.exists(out):
        time.sleep(0.05)


def main():
    """See above."""
    folder, how, out = (sys.argv[1:] + ["", ""])[:3]
    if how == "--orphan":
        orphan(folder, out)
    turn = 0
    while how == "--repeat":
        write(out, {"turn": turn, "table": table(folder)})
        turn += 1
        time.sleep(0.2)
    if not how:
        json.dump(table(folder), sys.stdout)


if __name__ == "__main__":
    main()
