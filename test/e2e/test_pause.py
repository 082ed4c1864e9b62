"""A pause with the whole tabletop: a thing stays in the hand, a person moves another one, and the task goes on."""

import numpy as np
import pytest
from codes import raises_code
from doubles.table_watch import Watch

from planweave.core.symbolic.world import Literal
from planweave.core.workflow.task_status import TaskState
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

RED, BLUE = 0, 1  # in the scene's order
GOAL = (Literal("in", ("red_cube", "left_tray")),)
LEFT_TRAY, IN_TRAY = (0.58, 0.38), 0.14  # m: middle, and distance from it
STANDS = 0.02  # rad/s
PLACE = (0.66, -0.06, 0.0)  # m: free, and away from where the blue cube is


@pytest.fixture
def table(start_node, make_node, spin_until):
    """The tabletop system in real time, a client of it, and a watch."""
    nodes = load_system("tabletop").nodes
    parameters = {
        "planner_node": {"client": "none"},
        "feedback_node": {"require_approval": False, "method": "classical"},
        "simulation_node": {"real_time_factor": 1.0, "scene": "blocks"},
    }
    for node in nodes:
        start_node(node.name, parameter_files=node.parameter_files, **parameters.get(node.name, {}))
    watch = Watch(make_node("watch"))
    with Client() as client:
        spin_until(lambda: not client.missing(nodes), 60, "the nodes to be there")
        spin_until(lambda: (w := client.world(0.5)) is not None and "red_cube" in w.by_name, 60, "the cubes to be seen")
        yield client, watch


@pytest.mark.gl
def test_a_thing_stays_in_the_hand_while_a_person_moves_another_one(table, spin_until):
    client, watch = table
    task_id = client.submit("", goal=GOAL)
    spin_until(lambda: watch.in_the_air(RED), 60, "the cube to be in the air")
    client.pause(reason="my hand")
    with raises_code("goal", task_id):
        client.pause()
    spin_until(lambda: watch.says(TaskState.PAUSED, "grab_and_putin(red_cube, left_tray) was interrupted"), 20, "it")
    spin_until(lambda: watch.speed < STANDS, 10, "the arm to stand")
    held, states = watch.poses[RED].copy(), watch.states
    moved = watch.move(BLUE, PLACE)
    spin_until(moved.done, 20, "a person's hand")
    assert moved.result().success, moved.result().message
    spin_until(lambda: watch.states > states + 100, 30, "a second of the robot's time")
    assert watch.speed < STANDS and watch.says(TaskState.PAUSED)
    assert np.linalg.norm(watch.poses[RED] - held) < 0.005, "it is held as it was"
    assert watch.in_the_air(RED)
    told = client.resume(task_id)
    assert "the blue cube was moved by" in told, told
    spin_until(lambda: watch.status.state.ended, 90, "the task to end")
    assert watch.status.state is TaskState.SUCCEEDED, watch.status.message
    assert np.hypot(*(watch.poses[RED][:2] - LEFT_TRAY)) < IN_TRAY, "the simulator's truth"
    assert np.hypot(*(watch.poses[BLUE][:2] - PLACE[:2])) < 0.03, "it is left where the person has put it"
    _, record = client.task(task_id)
    acted = [(e["action"], e["code"]) for e in record["events"] if e["event"] == "action"]
    *late, canceled, placed = acted  # a busy machine may have moved too late before the pause, and tried again
    assert all(tried == ("grab_and_putin(red_cube, left_tray)", "CONTROL_FAILED") for tried in late), acted
    assert [canceled, placed] == [
        ("grab_and_putin(red_cube, left_tray)", "CANCELED"),
        ("place_in(red_cube, left_tray)", "SUCCESS"),
    ]
    with raises_code("goal", task_id):
        client.resume(task_id)
