"""What is lost where feedback_node is killed with SIGKILL: 30 kills at moments spread over a task, in a home.

At every kill one task runs and another one waits. Lost is a task that is not known afterwards, or does not end; done
twice is a step, other than walking and looking, that a task had done before the kill and did again after it.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import Row, figure
from benchmarks.spun_node import started_system
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.task_status import TaskState
from planweave.launcher import running_system
from planweave.launcher.running_system import RunningSystem, log_folder
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

KILLS = 30
_LONGEST = 6.0  # s after its begin that the last kill comes; a task takes about as long
_ENDED = 180.0  # s for both tasks to end
_AGAIN = 1.5  # s in which a killed node is started again
_ACTION = "0.4"  # s that an action takes


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """The rows: one for each kind of end, and what was lost."""
    system, logs = load_system("household"), log_folder("bench")
    settings = {
        "planner_node.client": "none",
        "virtualhome_node.action_seconds": _ACTION,
        "feedback_node.tasks_file": str(logs / "tasks.sqlite"),
        "feedback_node.after_restart": "continue",
    }
    running_system.STEADY = 1.0  # all deaths are ours: none makes a node be given up
    rows: list[tuple[str, int, int, bool]] = []
    with started_system(system, console, system.overrides(settings), logs) as (client, running):
        for number in range(KILLS):
            row = _killed(client, running, number)
            rows.append(row)
            console.print(f"kill {number + 1}: {row}", markup=False)
    return [_row(moment, [row for row in rows if row[0] == moment]) for moment in sorted({row[0] for row in rows})]


def _row(moment: str, kills: Sequence[tuple[str, int, int, bool]]) -> Row:
    _, *columns = zip(*kills)
    lost, twice, reached = map(sum, columns)
    return figure(
        f"feedback_node killed while {moment}: {len(kills)} times",
        f"{lost} tasks lost, {twice} steps done twice, all goals reached {reached} times",
        "0 lost, 0 twice",
        not lost and not twice,
    )


def _killed(client: Client, running: RunningSystem, number: int) -> tuple[str, int, int, bool]:
    """The moment of one kill, tasks lost, steps done twice, and whether both goals were reached."""
    client.load_scene("home_flat")
    ids = [
        client.submit("put the salmon in the fridge", method="classical"),
        client.submit("", method="classical", goal=[Literal("agent_in", (_room(client),))]),
    ]
    time.sleep(_LONGEST * (number + 0.5) / KILLS)
    status, _ = client.task(ids[0])
    moment = "acting" if status.phase.startswith("acting") else "ended" if status.state.ended else "planning"
    running.signal("feedback_node", signal.SIGKILL)
    again = time.monotonic() + _AGAIN
    while time.monotonic() < again:  # the supervisor of `planweave up` looks as often
        running.revive(lambda message: None)
        time.sleep(0.1)
    states: dict[str, TaskState] = {}
    deadline = time.monotonic() + _ENDED
    while time.monotonic() < deadline and not (states and all(s.ended for s in states.values())):
        running.revive(lambda message: None)
        time.sleep(0.2)
        with contextlib.suppress(PlanweaveError):  # it is not there yet
            states = {task.task_id: task.state for task in client.tasks() if task.task_id in ids}
    lost = sum(not states.get(task_id, TaskState.QUEUED).ended for task_id in ids)
    twice = sum(_twice(client.task(task_id)[1]) for task_id in states)
    return moment, lost, twice, all(states.get(i) is TaskState.SUCCEEDED for i in ids)


def _room(client: Client) -> str:
    """The bedroom of the home."""
    world = client.world()
    assert world is not None
    return next(o.name for o in world.objects if o.class_name == "bedroom")


def _twice(record: dict[str, Any]) -> int:
    """Steps that changed the world by themselves, were done before an interruption, and again after it."""
    events = record["events"]
    cut = next((k for k, event in enumerate(events) if event["event"] == "interrupted"), len(events))
    before, after = (
        {e["action"] for e in part if e["event"] == "action" and e["code"] == "SUCCESS"}
        for part in (events[:cut], events[cut:])
    )
    return len({a for a in before & after if not a.startswith(("walk", "find", "turnto"))})
