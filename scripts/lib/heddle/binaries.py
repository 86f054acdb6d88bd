"""The built daemons: where they lie, and a copy of them that every account can run."""

import os
import shutil
import subprocess
from pathlib import Path

from heddle.errors import Failure

REPOSITORY = Path(__file__).resolve().parents[3]
NAMES = ("resourcemanager", "nodemanager", "container-launch", "container-localizer")
# The crates that they, and what simulates GPUs, are built from.
PACKAGES = ("resourcemanager", "nodemanager", "isolator", "container-localizer", "fake-nvml")


def find(builds=("release", "debug")):
    """The folder of the built daemons: $HEDDLE_BIN, or the newest of these builds."""
    chosen = os.environ.get("HEDDLE_BIN")
    if chosen:
        folders = [Path(chosen)]
    else:
        target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
        folders = [target / build for build in builds]
    whole = [folder for folder in folders if all((folder / name).is_file() for name in NAMES)]
    if not whole:
        raise Failure(f"no built daemons in {' or '.join(map(str, folders))} "
                      f"({', '.join(NAMES)}): build them with cargo build --release")
    return max(whole, key=lambda folder: (folder / NAMES[0]).stat().st_mtime)


def copy(folder, target):
    """Copies the daemons into the new folder target and makes sure that they run from there."""
    target.mkdir()
    target.chmod(0o755)
    for name in NAMES:
        shutil.copyfile(folder / name, target / name)
        (target / name).chmod(0o755)
    try:
        subprocess.run([target / NAMES[0], "--version"], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except PermissionError:
        raise Failure(f"{target} is on a file system from which no program may run (noexec): "
                      "choose another --dir") from None
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{target / NAMES[0]} does not run: {getattr(error, 'stderr', None) or error}") from None
