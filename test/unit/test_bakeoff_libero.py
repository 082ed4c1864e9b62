"""The suite `libero` with a stand-in for LIBERO's simulator, and once with LIBERO where it is installed."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from codes import raises_code
from doubles.bakeoff_engines import InlineEngine
from doubles.libero_body import StepsOnly

import planweave.bench.suites.libero as suite_module
import planweave.libero.suites as catalogue
from planweave.bench.libero_tables import ended_at, tables
from planweave.bench.playback import replay
from planweave.bench.records import read_end, read_record
from planweave.bench.report import write_report
from planweave.bench.results import Results
from planweave.bench.runner import Config, Run, prepare
from planweave.bench.suites import SUITES
from planweave.bench.suites.libero import LiberoSuite
from planweave.bench.task_files import chosen_tasks
from planweave.cli.main import main as planweave
from planweave.core.base.failure import Code
from planweave.libero.client import LiberoSimulator

HERE = Path(__file__).parent
SERVER, SCENES = HERE.parent / "doubles" / "libero_server.py", HERE / "data" / "libero_scenes.json.gz"
OPTIONS = {"view": "truth", "steps": "4000", "video": False}


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Play tasks with stand-ins: bench(cases, needed=steps to success, body=…) gives results and the run's outcome."""
    made = []

    def play(*cases, needed=150, body=StepsOnly, options=OPTIONS, methods=("classical",), models=("simulated:0",)):
        suite = SUITES["libero"]
        suite.close()

        def start():
            made.append(LiberoSimulator([sys.executable, "-u", str(SERVER), "plays", str(SCENES), str(needed)]))
            return made[-1]

        def body_on(simulator, name, view):
            task = simulator.load(name)
            return task, body(simulator, task)

        monkeypatch.setattr(suite, "_start", start)
        monkeypatch.setattr(suite_module, "body_on", body_on)
        config = Config("libero", cases, methods, models, options=options)
        out = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        prepare(out, config, False)
        outcome = Run(out, config, InlineEngine(jobs=1)).play()
        return Results(out, config), outcome

    play.made = made
    yield play
    SUITES["libero"].close()


def slow(simulator, task):
    """A body whose actions take half of the published limit each."""
    return StepsOnly(simulator, task, steps=150)


def end_of(results):
    (one,) = results.played
    return read_end(one.path)


def options(**given):
    rest = {"suites": None, "view": None, "inits": None, "steps": None, "video": None, "tasks": []}
    return Namespace(**{**rest, **given})


# ---- suites and tasks


def test_suites_have_short_names_limits_and_states():
    assert len(catalogue.suites()) == 50
    goal, swap = catalogue.suites_named(["goal", "libero_10_swap"])
    assert (goal.name, goal.steps, goal.tasks, goal.inits) == ("libero_goal", 300, 10, 50) and swap.steps == 520
    assert [s.name for s in catalogue.suites_named([])] == list(catalogue.BASE)
    assert catalogue.suites()["libero_goal_with_milk"].inits == 10
    with raises_code("unknown_name", "'goal_swap'"):
        catalogue.suites_named(["goal_swop"])


@pytest.mark.parametrize(
    ("task", "code", "data"),
    [
        ("libero_goal/10", "configuration", "0 to 9"),
        ("libero_goal/1/50", "configuration", "0 to 49"),
        ("libero_goal_with_milk/1/10", "configuration", "0 to 9"),
        ("libero_goal/x", "configuration", "libero_goal/3/0"),
        ("libero_goal", "configuration", "libero_goal/3/0"),
        ("libero_gaol/1", "unknown_name", "'libero_goal'"),
    ],
)
def test_tasks_that_do_not_exist_are_refused_by_name(task, code, data):
    with raises_code(code, data):
        catalogue.suite_of(task)
    assert task not in LiberoSuite().cases()


def test_tasks_are_chosen_by_suite_or_by_name_with_so_many_initial_states(monkeypatch, tmp_path):
    monkeypatch.setattr(suite_module, "python", lambda: None)
    suite = LiberoSuite()
    asked, told = suite.chosen(options(suites=["goal", "object"], inits=2))
    assert len(asked) == 40 and told == OPTIONS
    found, _ = chosen_tasks(asked, "libero")
    assert len(found) == 40 and found[0] == "libero_object/0/0" and "libero_goal/9/1" in found
    asked, told = suite.chosen(options(tasks=["libero_goal/3,libero_goal/4/7"], inits=2, steps="published"))
    assert asked == ["libero_goal/3/0", "libero_goal/3/1", "libero_goal/4/7"] and told["steps"] == "published"
    (tmp_path / "ids.txt").write_text("libero_90/3/0\n")
    asked, _ = suite.chosen(options(tasks=[str(tmp_path / "ids.txt")]))
    assert chosen_tasks(asked, "libero")[0] == ("libero_90/3/0",)


@pytest.mark.parametrize(
    ("given", "code", "data"),
    [
        ({"view": "camera"}, "configuration", "PLANWEAVE_VISION_MODEL"),
        ({"view": "eyes"}, "unknown_name", "'eyes'"),
        ({"steps": "300"}, "configuration", ("300", "4000")),
        ({"inits": 0}, "configuration", "--inits"),
        ({"suites": ["goal"], "tasks": ["libero_goal/1"]}, "configuration", ("--suites", "--tasks")),
        ({"suites": ["libero_gaol"]}, "unknown_name", "'libero_gaol'"),
        ({"tasks": ["libero_goal/12"]}, "configuration", "0 to 9"),
    ],
)
def test_what_cannot_be_played_is_said_before_anything_runs(monkeypatch, given, code, data):
    monkeypatch.setattr(suite_module, "python", lambda: None)
    monkeypatch.delenv("PLANWEAVE_VISION_MODEL", raising=False)
    with raises_code(code, data):
        LiberoSuite().chosen(options(**given))


def test_without_libero_or_with_half_of_it_the_command_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path / "none"))
    assert planweave(["bench", "libero", "--suites", "goal", "--out", str(tmp_path / "out")]) != 0
    assert "planweave setup libero" in capsys.readouterr().err
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path))
    assert planweave(["bench", "libero", "--out", str(tmp_path / "out")]) != 0
    assert "not complete" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_options_of_libero_belong_to_libero(capsys):
    assert planweave(["bench", "home", "--view", "truth"]) == 2
    assert "--view belongs to: planweave bench libero" in capsys.readouterr().err


# ---- episodes


def test_success_is_what_the_checker_says_within_the_published_limit(bench):
    results, outcome = bench("libero_goal/3/0", needed=150)
    assert not outcome.missing and results.played[0].measures.sr == 1
    end = end_of(results)
    assert end["conditions"] == {"LIBERO's checker, within 300 steps": True}
    assert end["details"]["first"] == 150 and end["details"]["holds"] and end["claimed"]
    assert end["details"]["processor_seconds"] > 0
    events = read_record(results.played[0].path)
    assert events[0]["sentence"] == "open the top layer of the drawer and put the bowl inside"
    assert next(e for e in events if e["event"] == "goal")["source"] == "grammar"
    assert events[0]["options"] == OPTIONS and "grasp(akita_black_bowl_1)" in events[0]["gold"]


def test_a_goal_that_holds_later_counts_only_with_the_longer_limit(bench):
    results, _ = bench("libero_goal/3/0", needed=350, body=slow)
    assert results.played[0].measures.sr == 0 and end_of(results)["details"]["first"] == 350
    rates, failures = tables(results)
    assert rates.rows[0][:5] == ["libero_goal", "1", "0.00", "–", "1.00"]
    assert failures.rows[0][:2] == ["steps", ""]


def test_with_the_published_limit_no_action_begins_after_it(bench):
    results, _ = bench("libero_goal/3/0", needed=0, body=slow, options={**OPTIONS, "steps": "published"})
    end = end_of(results)
    assert end["details"]["steps"] == 300 and end["kind"] == "CanceledError" and "300 steps" in end["error"]
    assert ended_at(end) == ("steps", "")
    assert tables(results)[0].rows[0][4] == "–"


def test_what_planweave_claims_and_the_checker_denies_is_a_false_success(bench):
    results, _ = bench("libero_goal/7/0", needed=0)
    end = end_of(results)
    assert end["claimed"] and not end["details"]["holds"] and not end["measures"]["sr"]
    rates, failures = tables(results)
    assert rates.rows[0][6] == "1" and failures.rows[0][0] == "judge"


def test_failures_name_the_action_that_failed_for_good_and_its_code(bench):
    def clumsy(simulator, task):
        return StepsOnly(simulator, task, steps=10, failures=1.0)

    results, _ = bench("libero_goal/3/0", needed=0, body=clumsy)
    assert ended_at(end_of(results)) == ("open", "CONTROL_FAILED")
    results, _ = bench(
        "libero_goal/3/0",
        needed=60,
        body=lambda s, t: StepsOnly(s, t, 20, {"grasp(akita_black_bowl_1)": Code.NO_GRASP}),
    )
    assert results.played[0].measures.sr == 1 and "failed" not in end_of(results), "it was done at the second try"


@pytest.mark.parametrize(
    ("task", "stage"),
    [("libero_spatial_swap/8", "read"), ("libero_10_object/5", "see"), ("libero_goal_task/7", "judge")],
)
def test_sentences_that_are_not_understood_fail_and_are_no_fault_of_the_run(bench, task, stage):
    results, outcome = bench(f"{task}/0", needed=0)
    assert not outcome.missing and ended_at(end_of(results))[0] == stage


def test_tasks_with_contradictory_goals_are_listed_and_left_out_of_a_second_row(bench):
    results, _ = bench("libero_10_object/5/0", "libero_10_object/4/0", "libero_goal/3/0", needed=150)
    rates = tables(results)[0]
    assert [row[0] for row in rates.rows] == ["libero_10_object", "libero_goal", "all", "all but 1 task (below)"]
    assert rates.rows[-1][1] == "2" and "libero_10_object/5: the goal wants the bowl" in rates.remarks[0]


def test_published_numbers_stand_with_the_camera_and_never_with_true_poses(bench):
    results, _ = bench("libero_goal/3/0")
    assert not any("OpenVLA" in row[0] for table in tables(results) for row in table.rows)
    assert "upper bound" in tables(results)[0].notes[0]
    results, _ = bench("libero_goal/3/0", options={**OPTIONS, "view": "camera", "vision": "eyes"})
    assert "named once an episode by eyes" in tables(results)[0].notes[0]
    of_others = tables(results)[-1]
    assert dict(zip(of_others.header, of_others.rows[0]))["trained"] == "on the suites"
    assert {len(row) for row in of_others.rows} == {len(of_others.header)}
    results, _ = bench(
        "libero_goal/3/0", options={**OPTIONS, "view": "camera"}, methods=("iterative",), models=("simulated:0",)
    )
    assert not any("OpenVLA" in row[0] for table in tables(results) for row in table.rows), (
        "a simulated model is no system"
    )


# ---- what goes wrong


def test_one_simulator_serves_all_episodes_and_is_ended_with_the_suite(bench):
    bench("libero_goal/3/0", "libero_goal/7/0")
    (simulator,) = bench.made
    assert simulator.alive
    SUITES["libero"].close()
    assert not simulator.alive


def test_a_simulator_that_dies_costs_its_episode_alone(bench):
    results, outcome = bench("libero_object/0/0", "libero_goal/3/0")
    assert [e.spec.case for e in results.played] == ["libero_goal/3/0"] and len(bench.made) == 2
    ((name, reason),) = outcome.missing.items()
    assert "libero_object" in name and "SystemDownError" in reason and "free(): invalid pointer" in reason


def test_a_checker_that_raises_is_no_failure_of_the_method(bench):
    results, outcome = bench("libero_goal/9/0", "libero_goal/3/0")
    assert [e.spec.case for e in results.played] == ["libero_goal/3/0"]
    assert "check_success" in next(iter(outcome.missing.values()))


def test_a_task_whose_files_are_missing_is_told_and_the_next_is_played(bench):
    results, outcome = bench("libero_spatial/0/0", "libero_goal/3/0")
    assert [e.spec.case for e in results.played] == ["libero_goal/3/0"]
    assert "FileNotFoundError: no such file" in next(iter(outcome.missing.values()))


# ---- records and reports


def test_episodes_are_replayed_without_the_simulator(bench, monkeypatch):
    results, _ = bench("libero_goal/3/0", "libero_10_object/5/0", needed=150)
    monkeypatch.setattr(suite_module, "body_on", None)
    for one in results.played:
        events = read_record(one.path)
        assert replay(events) == len(events)


def test_models_plan_from_the_sentence_too(bench):
    results, outcome = bench("libero_goal/3/0", methods=("tree_planner", "iterative"))
    assert not outcome.missing and [e.measures.sr for e in results.played] == [1, 1]


def test_a_failed_episode_has_a_video_where_one_is_asked_for(bench):
    results, _ = bench("libero_goal/3/0", "libero_goal/7/0", needed=250, options={**OPTIONS, "video": True})
    videos = [e.spec.case for e in results.played if e.path.with_suffix(".mp4").is_file()]
    assert videos == [e.spec.case for e in results.played if not e.measures.sr] == ["libero_goal/7/0"]


def test_the_report_has_the_suite_s_own_tables(bench):
    results, _ = bench("libero_goal/3/0", "libero_10_object/5/0", needed=150)
    write_report(results, "how", "about", {})
    text = (results.out / "report.md").read_text()
    assert "false successes" in text and "libero" in text.lower()
    assert len(json.loads((results.out / "results.json").read_text())["tables"]) == 2
