"""Where the tests keep what they download and compile, and how it gets there.

Everything is built beside its final name and renamed, so that an interrupted
run leaves nothing half made and two runs may race.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
SYSTEM_PYTHON = "/usr/bin/python3"
PYSPARK_VERSION = "4.3.0"
# The list of Spark checks runs with each; the first is the one of everything else.
SPARK_VERSIONS = (PYSPARK_VERSION, "3.5.7")
HADOOP_VERSION = "3.5.0"
# Clients from PyPI with all that they need, each in an environment of its own.
CLIENTS = {
    "playwright": ("playwright==1.65.2", "greenlet==3.5.6"),
    "skein": ("skein==0.8.2", "grpcio==1.85.3", "protobuf==7.36.2", "PyYAML==6.0.4", "cryptography==50.0.2"),
    "yarn-api-client": ("yarn-api-client==1.0.3", "requests==2.34.2"),
}


class MissingTool(Exception):
    """A program that the tests need is not installed."""


def cache_dir():
    """The cache that the quickstart uses too: $HEDDLE_CACHE or its default."""
    chosen = os.environ.get("HEDDLE_CACHE")
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/cache/heddle")
    return REPOSITORY / "target" / "cache"


def need(tool, package):
    """The path of a program, or MissingTool naming the package that brings it."""
    path = shutil.which(tool)
    if path is None:
        raise MissingTool(f"{tool} is not installed (package {package})")
    return path


def java_home():
    """JAVA_HOME, derived from the java on the path when it is unset."""
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    return str(Path(os.path.realpath(need("java", "openjdk-17-jdk-headless"))).parents[1])


def _make_aside(target, build):
    """Has build(path) fill a fresh directory, then renames it to target."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=target.name + ".aside-", dir=target.parent))
    aside.chmod(0o755)
    try:
        build(aside)
        try:
            aside.rename(target)
        except OSError:
            if not target.exists():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target


def _quietly(command, **options):
    """Runs a build step; its output is shown only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} exited {done.returncode}:\n{done.stdout[-4000:]}")


def _venv(name, requirements):
    """A virtual environment in the cache with what pip installs."""
    def build(aside):
        _quietly([SYSTEM_PYTHON, "-m", "venv", aside])
        _quietly([aside / "bin" / "python", "-m", "pip", "install", "-q", *requirements])

    return _make_aside(cache_dir() / name, build)


def spark_home(version=PYSPARK_VERSION):
    """The pyspark of a version, installed by pip; SPARK_HOME takes the place of the one that the quickstart uses."""
    if version == PYSPARK_VERSION and os.environ.get("SPARK_HOME"):
        return Path(os.environ["SPARK_HOME"])
    venv = _venv(f"pyspark-{version}", [f"pyspark=={version}"])
    found = glob.glob(str(venv / "lib" / "python3*" / "site-packages" / "pyspark"))
    if not found:
        raise RuntimeError(f"{venv} holds no pyspark")
    return Path(found[0])


def client_python(name):
    """The Python of the environment of a client in CLIENTS."""
    requirements = CLIENTS[name]
    version = requirements[0].rpartition("==")[2]
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:8]
    return _venv(f"{name}-{version}-{digest}", requirements) / "bin" / "python"


def stock_jars():
    """A directory with the stock ResourceManager and NodeManager and what they need."""
    def build(aside):
        mvn = need("mvn", "maven")
        _quietly([mvn, "-q", "-B", "-f", HERE / "oracle" / "pom.xml",
                  "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={aside}"])

    return _make_aside(cache_dir() / f"oracle-hadoop-{HADOOP_VERSION}", build)


def test_classes(version=PYSPARK_VERSION):
    """The Java of integration/java compiled against a Spark, one directory per version and state of the sources."""
    sources = sorted((HERE / "java").glob("*.java"))
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    jars = spark_home(version) / "jars"

    def build(aside):
        javac = need("javac", "openjdk-17-jdk-headless")
        jar = need("jar", "openjdk-17-jdk-headless")
        _quietly([javac, "-nowarn", "-Xlint:-options,-deprecation", "-cp", f"{jars}/*", "-d", aside, *sources])
        _quietly([jar, "--create", "--file", aside / "tests.jar", "-C", aside, "."])
        for path in [aside, *aside.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    return _make_aside(cache_dir() / f"integration-java-{version}-{digest.hexdigest()[:16]}", build)


def python_for_spark():
    """The Python of driver and executors: one that every account can enter."""
    if not os.path.exists(SYSTEM_PYTHON):
        raise MissingTool(f"{SYSTEM_PYTHON} does not exist (package python3)")
    return SYSTEM_PYTHON


if __name__ == "__main__":
    print(spark_home(), stock_jars(), test_classes(), file=sys.stderr)
