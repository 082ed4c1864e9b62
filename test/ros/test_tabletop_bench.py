"""Figures of the tabletop tasks: rows out of runs; true poses over DDS."""

import pytest

pytestmark = pytest.mark.gl


def test_rows_count_success_failures_and_recovery():
    from benchmarks.tabletop import _recovery_rows, _task_rows
    from planweave.bench.tabletop_tasks import load_task
    from planweave_ros.tabletop_runs import TabletopRun

    good = [TabletopRun("plus_sign", seed, motion=30.0, wall=3.0, actions=11) for seed in range(98)]
    bad = [TabletopRun("plus_sign", 98, ["x"], ["GRASP_LOST", "NO_GRASP"]), TabletopRun("plus_sign", 99, ["y"])]
    per_task, papers, failures = _task_rows([load_task("plus_sign")], good + bad)
    assert per_task["value"].startswith("98 of 100; 30 s, 3.0 s for 11 actions")
    assert papers["met"] is True and papers["share"] == 0.98
    assert failures["value"] == "GRASP_LOST 1, NO_GRASP 1, wrong end without a failed action 1"
    assert _task_rows([load_task("plus_sign")], good[1:] + bad)[1]["met"] is False
    slipped = [TabletopRun("plus_sign", 1, slips=1, replans=2), TabletopRun("plus_sign", 2, ["x"], slips=1)]
    every, hit = _recovery_rows([*good[:8], *slipped])
    assert every["met"] is True and hit["value"] == "1 of 2 (2 slips, 0 vanishings; 2 times planned again)"
    assert _recovery_rows([*good[:8], *bad])[0]["met"] is False


def test_true_poses_are_told_to_whom_listens(make_node):

    from planweave.simulation.scene import load_scene
    from planweave_ros.tabletop_runs import Truth
    from simulation_node.node import SimulationNode

    make_node(SimulationNode)
    truth = Truth(make_node("measurer"))
    bodies = {b.name: b for b in truth.bodies(load_scene("blocks"), seconds=20.0)}
    assert bodies["red_cube"].position == pytest.approx((0.47, 0.02, 0.025), abs=2e-3)
    assert bodies["red_cube"].yaw == pytest.approx(0.3, abs=0.01) and "left_tray" in bodies
