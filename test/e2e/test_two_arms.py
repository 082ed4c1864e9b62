"""Two simulated arms in one ROS domain, each in its namespace, do two tasks at once and know nothing of each other."""

import threading
import time

import pytest
from ros_fixtures import PATIENCE, PATIENT, SIMULATION

from planweave.core.workflow.task_status import TaskState
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

pytestmark = pytest.mark.gl
TASKS = {
    "arm1": ("put the red cube in the left tray", "in(red_cube, left_tray)"),
    "arm2": ("put the blue cube in the right tray", "in(blue_cube, right_tray)"),
}


def test_two_arms_do_two_tasks_at_once(ros, tmp_path, monkeypatch, start_node, spin_until):
    system, running, clients, results = load_system("tabletop"), {}, {}, {}
    begun, ended = {}, {}
    try:
        for name in TASKS:
            monkeypatch.setenv("PLANWEAVE_NAMESPACE", name)
            logs = tmp_path / name
            logs.mkdir()
            running[name] = RunningSystem(system, logs, {**PATIENT, "planner_node": {"client": "none"}}).__enter__()
            clients[name] = Client()
        for name, client in clients.items():
            running[name].wait_ready(client, 60.0 * PATIENCE)
            spin_until(
                lambda c=client: c.nodes() == sorted(node.name for node in system.nodes),
                20.0,
                "our nodes, and none of the other's, to be seen",
            )

        def work(name):
            def told(status):
                if status.state is TaskState.RUNNING:
                    begun.setdefault(name, time.monotonic())

            results[name] = clients[name].run_task(
                TASKS[name][0], method="classical", timeout=120.0 * PATIENCE, on_status=told
            )
            ended[name] = time.monotonic()

        threads = [threading.Thread(target=work, args=(name,)) for name in TASKS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200.0 * PATIENCE)
        for name, (_, goal) in TASKS.items():
            assert results[name].success, results[name].message
            facts = {str(fact) for fact in clients[name].world().facts}
            others = {other for _, other in TASKS.values()} - {goal}
            assert goal in facts and not facts & others, "each arm has done its own task only"
        assert max(begun.values()) < min(ended.values()), "one after the other"

        monkeypatch.setenv("PLANWEAVE_NAMESPACE", "arm1")
        second = start_node("executor_node", parameter_files=[SIMULATION])
        assert second.wait(60.0 * PATIENCE) == 2, second.output()
        assert "arm1/executor_node already publishes /arm1/world_state" in second.output()
    finally:
        for client in clients.values():
            client.__exit__()
        for system in running.values():
            system.stop()
