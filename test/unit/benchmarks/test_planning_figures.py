"""The figures of motion planning come from real plans."""

from benchmarks.planning_figures import measure


def test_motions_are_planned_among_so_many_obstacles_and_timed():
    figures = measure(6, seed=1, obstacles=(6, 30))
    assert set(figures) == {6, 30}
    for planned in figures.values():
        assert len(planned.milliseconds) + planned.failed == 6 and planned.failed <= 1
        assert all(0 < ms < 10_000 for ms in planned.milliseconds)
