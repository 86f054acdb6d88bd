"""What is fetched once and kept: built aside, renamed when whole, one builder at a time."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from heddle import binaries, tools
from heddle.errors import Failure
from heddle.layout import UNFIT

PYSPARK_VERSION = "4.3.0"


def folder():
    """$HEDDLE_CACHE, or else /var/cache/heddle for root and target/cache for others; made if missing."""
    chosen = os.environ.get("HEDDLE_CACHE")
    default = Path("/var/cache/heddle") if os.geteuid() == 0 else binaries.REPOSITORY / "target" / "cache"
    path = Path(os.path.realpath(chosen or default))
    unfit = UNFIT.search(str(path))
    if unfit:
        raise Failure(f"the cache would be {path}, but {unfit.group()!r} in the path breaks YARN's launch commands: "
                      "set HEDDLE_CACHE to a path of letters, digits, /, -, _ and .")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot make the cache {path}: {error.strerror}: "
                      "set HEDDLE_CACHE to a folder that you can write") from None
    return path


@contextlib.contextmanager
def lock(cache):
    """Holds the cache against other builders; waits for one that is at work."""
    try:
        handle = open(cache / ".lock", "w", encoding="ascii")
    except OSError as error:
        raise Failure(f"cannot write to the cache {cache}: {error.strerror}: "
                      "set HEDDLE_CACHE to a folder that you can write") from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def spark(say):
    """(SPARK_HOME, the Python for driver and executors): the user's, or pyspark fetched with pip."""
    home = os.environ.get("SPARK_HOME")
    if home:
        if not os.access(f"{home}/bin/spark-submit", os.X_OK):
            raise Failure(f"SPARK_HOME is {home}, but {home}/bin/spark-submit cannot be run")
        return Path(os.path.realpath(home)), os.environ.get("PYSPARK_PYTHON") or tools.PYTHON
    cache = folder()
    venv = cache / f"pyspark-{PYSPARK_VERSION}"
    found = _pyspark(venv)
    if found is None:
        tools.need_venv()
        with lock(cache):
            found = _pyspark(venv)
            if found is None:
                say(f"fetching pyspark {PYSPARK_VERSION} with pip into {venv} (450 MB, once)")
                _build_venv(cache, venv)
                found = _pyspark(venv)
    if found is None:
        raise Failure(f"{venv} holds no pyspark after its installation")
    return found, str(venv / "bin" / "python")


def _pyspark(venv):
    """The pyspark in a whole virtual environment of the Python we have, None if there is none."""
    try:
        version = subprocess.run([venv / "bin" / "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    home = venv / "lib" / f"python{version}" / "site-packages" / "pyspark"
    return home if (home / "bin" / "spark-submit").exists() else None


def _build_venv(cache, venv):
    """Installs pyspark beside its place and moves it there."""
    aside = Path(tempfile.mkdtemp(prefix=f"{venv.name}.aside-", dir=cache))
    try:
        aside.chmod(0o755)
        built, scratch = aside / "venv", aside / "tmp"
        scratch.mkdir()
        environment = dict(os.environ, TMPDIR=str(scratch), PIP_DISABLE_PIP_VERSION_CHECK="1")
        for command in ([tools.PYTHON, "-m", "venv", built],
                        [built / "bin" / "python", "-m", "pip", "install", "--no-cache-dir",
                         f"pyspark=={PYSPARK_VERSION}"]):
            if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode != 0:
                raise Failure(f"this failed: {' '.join(map(str, command))}")
        _move_paths(built, venv)
        if venv.exists():
            venv.rename(aside / "old")
        built.rename(venv)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _move_paths(built, venv):
    """Puts the final place into the scripts that pip wrote with the one beside it."""
    for path in (built / "bin").iterdir():
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if bytes(built) in data:
            path.write_bytes(data.replace(bytes(built), bytes(venv)))
