"""The figures of the tabletop tasks: rows out of runs."""

from benchmarks.tabletop import _recovery_rows, _task_rows
from planweave.bench.tabletop_tasks import load_task
from planweave_ros.tabletop_runs import TabletopRun


def test_rows_count_success_failures_and_recovery():
    good = [TabletopRun("plus_sign", seed, motion=30.0, wall=3.0, actions=11) for seed in range(98)]
    bad = [TabletopRun("plus_sign", 98, ["x"], ["GRASP_LOST", "NO_GRASP"]), TabletopRun("plus_sign", 99, ["y"])]
    per_task, papers, failures = _task_rows([load_task("plus_sign")], good + bad)
    assert per_task.value.startswith("98 of 100; 30 s, 3.0 s for 11 actions")
    assert papers.met is True and papers.value == "98 of 100"
    assert failures.value == "GRASP_LOST 1, NO_GRASP 1, wrong end without a failed action 1"
    assert _task_rows([load_task("plus_sign")], good[1:] + bad)[1].met is False
    slipped = [TabletopRun("plus_sign", 1, slips=1, replans=2), TabletopRun("plus_sign", 2, ["x"], slips=1)]
    every, hit = _recovery_rows([*good[:8], *slipped])
    assert every.met is True and hit.value == "1 of 2 (2 slips, 0 vanishings; 2 times planned again)"
    assert _recovery_rows([*good[:8], *bad])[0].met is False
