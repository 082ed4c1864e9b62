"""Build wheels of planweave and of its ROS messages into a folder, for machines without the checkout.

Usage: python tools/wheels.py [--out dist] [--library-only]

Run it with the Python of the environment that tools/prepare.py made: the messages are packed as they are installed
there, and setuptools is taken from there, so nothing is downloaded. Beside the wheels lies no-deps.txt, which names
the packages to install without their dependencies.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Packages of messages that tools/prepare.py builds, by folder
MESSAGES = {
    "planweave_interfaces": ROOT / "interfaces",
    **{name: ROOT / "requirements" / name for name in ("tf2_msgs", "control_msgs")},
}


def main() -> None:
    """Build what is asked for and print the paths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheels")
    parser.add_argument("--library-only", action="store_true", help="planweave alone, without the ROS messages")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.whl"):
        old.unlink()
    build_library(out)
    if not options.library_only:
        prefix = Path(sys.prefix)
        for name, folder in MESSAGES.items():
            pack_messages(name, folder, prefix, out)
        shutil.copyfile(ROOT / "requirements" / "data.in", out / "no-deps.txt")
    for path in sorted(out.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def build_library(out: Path) -> None:
    """The wheel of planweave. Built outside the checkout: setuptools would pack what an older build left in build/."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "setup.cfg"
        settings.write_text(f"[build]\nbuild_base = {scratch}\n[egg_info]\negg_base = {scratch}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-build-isolation", "--wheel-dir", str(out), str(ROOT)]
        if subprocess.run(command, env={**os.environ, "DIST_EXTRA_CONFIG": str(settings)}, check=False).returncode:
            sys.exit("planweave: the wheel could not be built, see the lines above")


def pack_messages(name: str, folder: Path, prefix: Path, out: Path) -> None:
    """The wheel of a package of messages, from its files in the environment ``prefix``.

    Libraries, message definitions and the entry of the ament index are installed below the prefix of the
    environment, where the wheels of ROS 2 put theirs.
    """
    site = Path(sysconfig.get_paths()["purelib"])
    if not (site / name).is_dir() or not list(prefix.glob(f"lib/lib{name}__*.so")):
        sys.exit(
            f"planweave: {name} is not installed in {prefix}; run `make wheel`, without a sourced ROS 2: "
            "where ROS 2 comes from its own packages, build the messages with colcon"
        )
    manifest = ElementTree.parse(folder / "package.xml").getroot()
    release = manifest.findtext("version") or "0"
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    requires = [
        line.split("#")[0].strip()
        for line in (ROOT / "requirements" / "ros.in").read_text(encoding="utf-8").splitlines()
    ]
    info = f"{name}-{release}.dist-info"
    metadata = "\n".join(
        [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            f"Version: {release}",
            f"Summary: {manifest.findtext('description')}",
            f"License: {manifest.findtext('license')}",
            f"Requires-Python: =={sys.version_info[0]}.{sys.version_info[1]}.*",
            *(f"Requires-Dist: {line}" for line in requires if line),
        ]
    )
    files = dict(installed_files(name, site, prefix, f"{name}-{release}.data/data"))
    files[f"{info}/METADATA"] = f"{metadata}\n".encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: planweave\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = wheel.encode()
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for path, data in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(out / f"{name}-{release}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)


def installed_files(name: str, site: Path, prefix: Path, data: str) -> Iterator[tuple[str, bytes]]:
    """Path in the wheel and content of every installed file that is needed to run; ``data``: its folder for the prefix.

    Headers and CMake files, needed to build other packages on these messages, are left out.
    """
    for path in sorted((site / name).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(site).as_posix(), path.read_bytes()
    share = [path for path in (prefix / "share" / name).rglob("*") if path.relative_to(prefix).parts[2] != "cmake"]
    index = prefix.glob(f"share/ament_index/resource_index/*/{name}")
    for path in sorted([*prefix.glob(f"lib/lib{name}__*.so"), *share, *index]):
        if path.is_file():
            yield f"{data}/{path.relative_to(prefix).as_posix()}", path.read_bytes()


if __name__ == "__main__":
    main()
