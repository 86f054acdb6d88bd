"""Which account runs the containers of a submitter, and what that account may enter.

The rules are the NodeManager's: a daemon that is not root runs containers as
itself; a root daemon never as root but as nonsecure-mode.local-user, or as the
submitter where nonsecure-mode.limit-users is false and the submitter is a local
account that container-executor.cfg lets through (min.user.id, banned.users,
allowed.system.users).
"""

import json
import os
import pwd
from dataclasses import dataclass

from heddle.errors import Failure

EXECUTOR = "yarn.nodemanager.linux-container-executor."
LIMIT_USERS = EXECUTOR + "nonsecure-mode.limit-users"
LOCAL_USER = EXECUTOR + "nonsecure-mode.local-user"


@dataclass(frozen=True)
class Account:
    """A local account: its name, user id and group id."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Rules:
    """What decides the account; the defaults are Hadoop's."""

    limit_users: bool = True
    local_user: str = "nobody"
    uid_min: int = 1000
    banned: frozenset = frozenset({"yarn", "mapred", "hdfs", "bin"})
    allowed: frozenset = frozenset()


def current():
    """The account of this process; a user id without a name keeps its number."""
    return by_uid(os.geteuid())


def by_uid(uid):
    """The account with this user id."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, os.getegid())
    return Account(entry.pw_name, uid, entry.pw_gid)


def by_name(name):
    """The local account with this name, None if there is none."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, entry.pw_uid, entry.pw_gid)


def read_rules(properties, executor_cfg):
    """The rules in a node's configuration: a dict of keys, which go first, and the text of container-executor.cfg."""
    own = dict(_cfg_lines(executor_cfg))
    own |= {name: properties[EXECUTOR + name] for name in ("min.user.id", "banned.users", "allowed.system.users")
            if EXECUTOR + name in properties}
    rules = Rules()
    uid_min = own.get("min.user.id", "").strip()
    return Rules(
        # Hadoop reads a boolean that is neither true nor false as its default.
        limit_users=properties.get(LIMIT_USERS, "true").strip().lower() != "false",
        local_user=properties.get(LOCAL_USER, "").strip() or rules.local_user,
        uid_min=int(uid_min) if uid_min.isdigit() else rules.uid_min,
        banned=_names(own["banned.users"]) if own.get("banned.users") else rules.banned,
        allowed=_names(own.get("allowed.system.users", "")),
    )


def _cfg_lines(text):
    """key=value lines ahead of the first section; # begins a comment."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            return
        key, equals, value = line.partition("=")
        if equals:
            yield key.strip(), value.strip()


def _names(text):
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def of_containers(submitter, daemon, rules):
    """The account that runs the containers of a submitter's name on a node of this daemon account."""
    if daemon.uid != 0:
        return daemon
    own = None if rules.limit_users else by_name(submitter)
    if own and own.uid != 0 and own.name not in rules.banned \
            and (own.uid >= rules.uid_min or own.name in rules.allowed):
        return own
    local = by_name(rules.local_user)
    if local is None:
        raise Failure(f"{LOCAL_USER} is {rules.local_user}, which is no local account")
    if local.uid == 0:
        raise Failure(f"{LOCAL_USER} is {rules.local_user}, containers never run as root")
    return local


def become(account):
    """Gives up root for good and becomes the account, with its own groups."""
    os.setgroups(os.getgrouplist(account.name, account.gid))
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def closed_to(account, paths):
    """The paths that the account cannot enter: a list of (path, the part of it that is closed)."""
    paths = [(os.path.abspath(path), os.path.realpath(path)) for path in paths]
    if account.uid == os.geteuid():
        return _closed(paths)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            become(account)
            with os.fdopen(writer, "w", encoding="utf-8") as out:
                json.dump(_closed(paths), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise Failure(f"cannot act as the account {account.name}")
    return [tuple(row) for row in json.loads(text)]


def _closed(paths):
    """closed_to for this very process; real path beside path, because links lead elsewhere."""
    found = []
    for path, real in paths:
        for step in _ancestors(path) + _ancestors(real):
            if not os.access(step, os.X_OK):
                found.append((path, step))
                break
        else:
            wanted = os.X_OK if os.path.isdir(path) else os.R_OK
            if os.path.exists(path) and not os.access(path, wanted):
                found.append((path, path))
    return found


def _ancestors(path):
    """The directories above a path, outermost first."""
    above = []
    while os.path.dirname(path) != path:
        path = os.path.dirname(path)
        above.insert(0, path)
    return above


def demand_open(account, what):
    """Fails with a sentence unless the account can enter every path of the dict name: path."""
    for path, step in closed_to(account, what.values()):
        name = next(name for name, given in what.items() if os.path.abspath(given) == path)
        raise Failure(f"{name}{'' if name.endswith(path) else f' is {path}'}: the account {account.name}, which runs "
                      f"the containers, cannot {'read it' if step == path else f'enter {step}'}: "
                      "choose a place that it can enter")
