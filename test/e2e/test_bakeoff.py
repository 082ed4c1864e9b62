"""The command `planweave bench` with worker processes: killed and gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASKS = ["switch_on_the_radio", "light_the_candle", "turn_off_light", "plug_in_the_phone"]
TIMES = {"model_s", "body_s", "ours_s"}


def command(out, *more, repeat=3):
    return [
        sys.executable,
        "-m",
        "planweave",
        "bench",
        "home",
        "--method",
        "iterative",
        "brainbody",
        "--model",
        "simulated:0.2",
        "--repeat",
        str(repeat),
        "--tasks",
        *TASKS,
        "--out",
        str(out),
        *more,
    ]


def run(arguments):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def numbers(out):
    rows = json.loads((out / "results.json").read_text())["rows"]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def test_a_killed_run_goes_on_to_the_same_numbers(tmp_path):
    whole = run(command(tmp_path / "whole", "--jobs", "2"))
    assert whole.returncode == 0, whole.stderr
    assert "no language model" in whole.stdout and "brainbody" in whole.stdout and "report:" in whole.stdout

    out = tmp_path / "killed"
    process = subprocess.Popen(
        command(out, "--jobs", "2"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 60.0
        while len(list(out.rglob("*.jsonl"))) < 3 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)  # nobody tells when a file is there
        assert process.poll() is None, "it was over before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60.0)
    done = len(list(out.rglob("*.jsonl")))
    assert 3 <= done < 24 and not (out / "report.md").exists()

    resumed = run(command(out, "--jobs", "2", "--resume"))
    assert resumed.returncode == 0, resumed.stderr
    assert f"{done} of 24 episodes are there already" in resumed.stdout
    assert numbers(out) == numbers(tmp_path / "whole")
