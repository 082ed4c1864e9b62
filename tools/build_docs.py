"""Build the documentation site in out/docs: the pages of docs/ and the API reference from docstrings.

Usage: python tools/build_docs.py

The Markdown files and the data they link to are copied as they lie in the repository, so that a link works on the
site and in the repository alike. Every warning (a link, a heading or a name that is not there) ends it with an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**/*",
    "examples/*/README.md",
    "integrations/*/README.md",
    "planweave/*/*.yaml",
)


def main() -> int:
    """Copy the pages, then run MkDocs; its exit code."""
    source = ROOT / "build" / "docs"
    shutil.rmtree(source, ignore_errors=True)
    for path in (path for pattern in PAGES for path in ROOT.glob(pattern) if path.is_file()):
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an announcement, at every build
    done = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    # A line for each page otherwise; with --quiet MkDocs does not count warnings
    for line in done.stdout.splitlines():
        if line and not line.startswith("INFO"):
            print(line)
    if not done.returncode:
        print(ROOT / "out" / "docs" / "index.html")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
