"""A task by its name, from one command to the check of its own."""

import json
import subprocess
import sys


def test_the_command_line_runs_a_task_by_name():
    """No system running: places laid out for the task are taken, the arm acts, and geometry says that it is done."""
    done = subprocess.run(
        [sys.executable, "-m", "planweave", "run", "--task", "red_triangle", "--method", "classical", "--json"],
        capture_output=True,
        text=True,
        timeout=540,
    )
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["success"] is True, result["message"]
    assert result["task"] == "red_triangle" and result["sentence"].startswith("Create a triangle")
    assert result["checked"] == {"by": "the world as observed", "fulfilled": True, "lacking": []}
    assert "at(pink_cube, location_c)" in result["goal"] and result["usage"]["requests"] == 0
