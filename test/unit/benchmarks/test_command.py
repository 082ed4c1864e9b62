"""The command python -m benchmarks."""

from benchmarks import __main__ as benchmarks
from benchmarks import results
from benchmarks.figures import figure
from planweave.core.base.errors import SystemDownError


def test_figures_that_have_no_tasks_refuse_one(capsys):
    assert benchmarks.main(["tokens", "--task", "watch_tv"]) == 2
    assert "figures of tokens" in capsys.readouterr().err


def test_each_figure_can_be_measured_several_times(monkeypatch, tmp_path):
    turns = iter(range(1, 4))
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr("benchmarks.world.run", lambda options, console: [figure("time", f"{next(turns)} s", "≤ 2 s")])
    assert benchmarks.main(["world", "--runs", "3"]) == 0
    (measured,) = results.ResultFile.read(tmp_path / "world.json").figures
    assert (measured.value, measured.values, measured.met) == ("2 [1, 3] s", ("1 s", "2 s", "3 s"), (None,) * 3)


def test_runs_are_kept_where_a_later_one_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path)

    def run(options, console):
        if (tmp_path / "world.json").exists():
            raise SystemDownError("it has died")
        return [figure("time", "1 s")]

    monkeypatch.setattr("benchmarks.world.run", run)
    assert benchmarks.main(["world", "--runs", "3"]) == 1
    (measured,) = results.ResultFile.read(tmp_path / "world.json").figures
    assert measured.values == ("1 s",)
