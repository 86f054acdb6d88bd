"""The programs that the scripts need, and the Debian package that brings each."""

import os
import re
import shutil
from pathlib import Path

from heddle.errors import Failure

PYTHON = "/usr/bin/python3"
JAVA_MAJOR_MIN = 17
PACKAGES = {
    "cargo": None,
    "cc": "gcc",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "mvn": "maven",
    "python3": "python3",
}
RUST = "Rust 1.95 or newer from https://rustup.rs (Debian's own is too old)"


def need(*names):
    """The paths of programs; the first that is missing is named with what brings it."""
    return [_need(name) for name in names]


def _need(name):
    found = shutil.which(name, path=search_path())
    if found:
        return found
    package = PACKAGES[name]
    remedy = f"install {RUST}" if package is None else f"the package {package} brings it (apt-get install {package})"
    raise Failure(f"{name} is missing: {remedy}")


def search_path():
    """PATH with the place where rustup puts cargo, which a fresh shell may not know yet."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), os.path.expanduser("~/.cargo/bin")])


def java_home():
    """JAVA_HOME, or else derived from the java on the path, checked to be new enough for Spark."""
    home = os.environ.get("JAVA_HOME")
    if home:
        if not os.access(f"{home}/bin/java", os.X_OK):
            raise Failure(f"JAVA_HOME is {home}, but {home}/bin/java cannot be run: unset it or point it at a Java")
    else:
        home = str(Path(os.path.realpath(_need("java"))).parents[1])
    major = java_major(home)
    if major is not None and major < JAVA_MAJOR_MIN:
        raise Failure(f"the Java in {home} is version {major}, Spark 4 needs {JAVA_MAJOR_MIN} or newer: "
                      f"the package {PACKAGES['java']} brings one")
    return home


def java_major(home):
    """The major version that the release file of a Java home states, None without one."""
    try:
        release = Path(home, "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(found.group(1)) if found else None


def need_venv():
    """Says at once when this Python cannot make a virtual environment with pip."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise Failure("python3 cannot make virtual environments: the package python3-venv brings that "
                      "(apt-get install python3-venv)") from None
