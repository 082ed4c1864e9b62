"""Run `make demo` and `make test` in a fresh clone for every supported Python that is found, and print a table.

Usage: make matrix [ARGS="--only demo --python /opt/python3.14/bin/python3.14 --folder /tmp/clones"]

Pythons are looked for on the path, in pyenv's and in uv's folders. A clone holds what is committed. The table is also
written to out/matrix.json, with machine, date and commit. Standard library only.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = [(3, minor) for minor in range(10, 15)]  # of tools/prepare.py
COLUMNS = ("python", "install MB", "demo cold s", "demo", "demo warm s", "test s", "passed", "skipped", "failed")


def main():
    """Run what is asked for on each Python; the exit code is 0 where all succeeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="an interpreter to use, instead of those found")
    parser.add_argument("--only", choices=("demo", "test"), help="one of the two commands")
    parser.add_argument("--folder", type=Path, help="folder of the clones; a temporary one otherwise")
    parser.add_argument("--minutes", type=float, default=60, help="limit of each command")
    options = parser.parse_args()
    pythons = options.python or found_pythons()
    if not pythons:
        sys.exit("planweave: no Python from 3.10 to 3.14 found; name one: make matrix ARGS='--python PATH'")
    base = options.folder or Path(tempfile.mkdtemp(prefix="planweave-matrix-"))
    base.mkdir(parents=True, exist_ok=True)
    rows = []
    for python in pythons:
        rows.append(try_python(python, base, options.only, options.minutes * 60))
        write(rows)
    print(table(rows))
    sys.exit(any(row["failures"] for row in rows))


def found_pythons():
    """One interpreter of each supported version, in their order."""
    home = Path.home()
    places = {}
    for version in VERSIONS:
        name = "python{}.{}".format(*version)
        candidates = [shutil.which(name)]
        for pattern in (
            f".pyenv/versions/{name[6:]}.*/bin/{name}",
            f".local/share/uv/python/cpython-{name[6:]}*/bin/{name}",
        ):
            candidates += sorted(map(str, home.glob(pattern)), reverse=True)
        for candidate in filter(None, candidates):
            if version_of(candidate) == version:  # pyenv's shims exist for versions that are not active
                places[version] = candidate
                break
    return list(places.values())


def version_of(python):
    """Major and minor version of an interpreter; None where it does not run."""
    try:
        code = "import sys; print(*sys.version_info[:2])"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(map(int, done.stdout.split()))


def try_python(python, base, only, limit):
    """A row of the table: one fresh clone and its commands."""
    name = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]
    clone = base / f"python-{name}"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    row: dict = {"python": name, "failures": []}
    if only != "test":
        text, row["demo cold s"] = make(clone, python, "demo", limit, row)
        reached = re.findall(r"(\d+) of (\d+) goals reached", text)
        row["demo"] = "{} of {}".format(*reached[-1]) if reached else "?"
    if only != "demo":
        text, row["test s"] = make(clone, python, "test", limit, row)
        summary = (re.findall(r"(?m)^=+ (.* in [\d.]+s.*) =+$", text) or [""])[-1]
        for outcome in ("passed", "skipped", "failed"):
            found = re.search(rf"(\d+) {outcome}", summary)
            row[outcome] = int(found[1]) if found else 0
    if only != "test":
        _, row["demo warm s"] = make(clone, python, "demo", limit, row)
    files = (path for path in (clone / ".venv").rglob("*") if path.is_file() and not path.is_symlink())
    row["install MB"] = round(sum(path.stat().st_size for path in files) / 1e6)
    return row


def make(clone, python, target, limit, row):
    """Run a target of the clone's Makefile; returns what it printed and its seconds. The output is kept in a file."""
    log = clone.with_name(f"{clone.name}-{target}-{len(row)}.log")
    print(f"{row['python']}: make {target}, output in {log}", flush=True)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    }
    begun = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(
            ["make", f"PYTHON={python}", target],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            ended = f"exit code {code}" if (code := process.wait(limit)) else ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            ended = f"no end after {limit / 60:g} min"
    if ended:
        row["failures"].append(f"make {target}: {ended}")
    return log.read_text(errors="replace"), round(time.monotonic() - begun)


def write(rows):
    """Write out/matrix.json."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    head = {"date": time.strftime("%Y-%m-%d"), "commit": commit.strip(), "machine": machine(), "rows": rows}
    path = ROOT / "out" / "matrix.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(head, indent=1) + "\n")


def machine():
    """Processor, cores and distribution, in a few words."""
    processor = re.search(r"(?m)^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text())
    release = re.search(r'(?m)^PRETTY_NAME="?(.*?)"?$', Path("/etc/os-release").read_text())
    name = processor.group(1) if processor else platform.machine()
    return f"{name}, {os.cpu_count()} cores, {release.group(1) if release else platform.system()}"


def table(rows):
    lines = [COLUMNS, ["---"] * len(COLUMNS)]
    lines += [[str(row.get(column, "")) for column in COLUMNS] for row in rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    failures = [f"{row['python']}: {', '.join(row['failures'])}" for row in rows if row["failures"]]
    return "\n".join([text, *failures])


if __name__ == "__main__":
    main()
