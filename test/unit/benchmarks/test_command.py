"""The command python -m benchmarks."""

from benchmarks import __main__ as benchmarks


def test_figures_that_have_no_tasks_refuse_one(capsys):
    assert benchmarks.main(["household", "--task", "watch_tv"]) == 2
    assert "figures of household" in capsys.readouterr().err
