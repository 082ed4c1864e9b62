"""Runs of the bake-off: records, resume, what goes wrong with one episode and not with the rest, reports, replay."""

import errno
import json

import pytest
from codes import raises_code
from doubles.bakeoff_engines import InlineEngine

import planweave.bench.runner as runner
from planweave.bench.episodes import Spec, play
from planweave.bench.playback import Difference, replay
from planweave.bench.records import EpisodeText, find_record, read_end, read_record, write_record
from planweave.bench.report import write_report
from planweave.bench.results import Results, as_json
from planweave.bench.runner import Config, Limits, Run, newest_of, prepare
from planweave.bench.suites import SUITES
from planweave.bench.task_files import ids_of
from planweave.cli.main import main as planweave
from planweave.core.base.errors import ModelError, UnknownNameError
from planweave.llm.clients.base import Capabilities

TASKS = ("switch_on_the_radio", "light_the_candle", "turn_off_light")
CONFIG = Config("home", TASKS, ("iterative", "base_llm", "classical"), ("simulated:0.3",), repeat=2)
SECONDS = {"model_s", "body_s", "ours_s"}


def run(out, config=CONFIG, engine=None, limits=None, resume=False):
    prepare(out, config, resume)
    engine = engine or InlineEngine()
    return Run(out, config, engine, limits).play(), engine


def numbers(out, config=CONFIG):
    """All numbers of a run but seconds."""
    rows = as_json(Results(out, config))["rows"]
    return [{k: v for k, v in row.items() if k not in SECONDS} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole")
    outcome, _ = run(out)
    assert outcome.done == outcome.ran == 18 and not outcome.missing
    return out


def test_methods_without_a_model_are_run_once_under_none():
    specs = CONFIG.specs()
    assert len(specs) == 18 and {s.model for s in specs if s.method == "classical"} == {"none"}
    assert len({s.name for s in specs}) == 18
    assert {s.repetition for s in specs[:9]} == {0}, "an unfinished run has some of everything"


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_to_the_same_numbers(whole, tmp_path):
    def killed_after_seven(spec, count):
        if len(engine.played) == 7:
            raise KeyboardInterrupt

    engine = InlineEngine(killed_after_seven, jobs=1)
    outcome, _ = run(tmp_path, engine=engine)
    assert outcome.stopped == "interrupted" and 5 <= outcome.done <= 7 and len(outcome.missing) == 18 - outcome.done
    before = outcome.done
    half = next(tmp_path.rglob("*.jsonl"))
    half.rename(half.with_name(half.name + ".part"))  # as a kill in the middle of writing leaves it
    with raises_code("configuration", "--resume"):
        prepare(tmp_path, CONFIG, resume=False)
    outcome, engine = run(tmp_path, resume=True)
    assert outcome.done == 18 and outcome.ran == 19 - before and not outcome.missing
    assert numbers(tmp_path) == numbers(whole)
    outcome, engine = run(tmp_path, resume=True)
    assert outcome.ran == 0 and not engine.played


@pytest.mark.slow
def test_a_folder_of_another_run_is_refused_with_the_difference(whole, tmp_path):
    other = Config("home", TASKS[:2], ("iterative", "blocking"), ("simulated:0.1",), repeat=2)
    differences = (
        "cases was 3 (turn_off_light)",
        "methods was 3 (base_llm, classical), now 2 (blocking)",
        "models was 1 (simulated:0.3), now 1 (simulated:0.1)",
    )
    with raises_code("configuration", differences) as error:
        prepare(whole, other, resume=True)
    assert "repeat" not in str(error.value)
    (tmp_path / "thesis.tex").write_text("years of work")
    with raises_code("configuration", "config.json"):
        prepare(tmp_path, CONFIG, resume=True)


def test_the_newest_run_of_a_configuration_is_found(whole, tmp_path):
    assert newest_of(whole.parent, CONFIG) is not None
    assert newest_of(tmp_path, CONFIG) is None


@pytest.mark.slow
def test_a_lost_worker_costs_one_more_try_and_a_second_one_the_episode(tmp_path):
    def lost(spec, count):
        if (spec.case == TASKS[0] and count < 2) or spec.case == TASKS[1]:
            raise RuntimeError("worker died")

    outcome, engine = run(tmp_path, engine=InlineEngine(lost))
    assert outcome.done == 12 and len(outcome.missing) == 6
    assert all("lost twice (RuntimeError: worker died)" in m for m in outcome.missing.values())
    results = Results(tmp_path, CONFIG)
    assert len(results.missing) == 6 and results.row("iterative", "simulated:0.3").wanted == 6
    assert len(results.row("iterative", "simulated:0.3").episodes) == 4
    write_report(results, "how", "about", outcome.missing)
    assert "6 of 18 episodes are missing" in (tmp_path / "report.md").read_text()
    outcome, _ = run(tmp_path, resume=True)
    assert outcome.done == 18


def test_an_episode_that_cannot_be_set_up_says_why(tmp_path, monkeypatch):
    real = type(SUITES["home"]).stage

    def stage(self, case, repetition=0):
        if case.id == TASKS[1]:
            raise UnknownNameError("scene", "home_flta", ["home_flat"])
        return real(self, case, repetition)

    monkeypatch.setattr(type(SUITES["home"]), "stage", stage)
    outcome, engine = run(tmp_path)
    assert outcome.done == 12 and set(engine.tries.values()) == {1, 2}
    for reason in outcome.missing.values():
        assert "UnknownNameError" in reason and "'home_flta'" in reason


@pytest.mark.slow
def test_a_disk_that_fills_stops_the_run_and_keeps_what_is_there(tmp_path, monkeypatch):
    real, count = write_record, [0]

    def full(path, text):
        count[0] += path.suffix == ".jsonl"
        if count[0] > 5 and path.suffix == ".jsonl":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, text)

    monkeypatch.setattr(runner, "write_record", full)
    outcome, _ = run(tmp_path)
    assert outcome.done == 5 and len(outcome.missing) == 13 and "No space left" in outcome.stopped
    monkeypatch.undo()
    assert run(tmp_path, resume=True)[0].done == 18


def test_a_record_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("planweave.bench.records.os.fsync", full)
    with pytest.raises(OSError) as failed:
        write_record(tmp_path / "a" / "b.jsonl", "text")
    assert failed.value.errno == errno.ENOSPC
    assert not any(p.is_file() for p in tmp_path.rglob("*"))


@pytest.mark.slow
def test_a_model_that_refuses_is_given_up_and_its_episodes_are_void(tmp_path, monkeypatch):
    config = Config("home", TASKS, ("base_llm", "lang_prompt"), ("embedded", "simulated:0"), repeat=1)

    class Refusing:
        endpoint, model, capabilities = "http://x", "m", Capabilities()

        def complete(self, request):
            raise ModelError("429: slow down")

    import planweave.bench.episodes as episodes
    import planweave.bench.models as models

    real = models.client_for
    monkeypatch.setattr(
        episodes, "client_for", lambda name, *more: Refusing() if name == "embedded" else real(name, *more)
    )
    outcome, engine = run(tmp_path, config, InlineEngine(jobs=1))
    assert outcome.done == 6 and len(outcome.missing) == 6
    assert sum("given up after 5 failures in a row" in m for m in outcome.missing.values()) == 1
    assert len(engine.played) == 11
    assert len(list(tmp_path.rglob("*.void"))) == 5 and len(list(tmp_path.rglob("*.jsonl"))) == 6
    assert Results(tmp_path, config).row("base_llm", "embedded").estimates["sr"] is None
    monkeypatch.undo()


def test_the_budget_of_a_run_is_kept_over_all_workers(tmp_path):
    outcome, engine = run(tmp_path, limits=Limits(tokens=12_000, per_minute=6e6))
    used = sum(e.measures.tokens for e in Results(tmp_path, CONFIG).played)
    assert 0 < used < 12_000 + 2 * 5000  # a reply that passes the limit is the last
    assert outcome.missing and all("budget" in m for m in outcome.missing.values())
    assert len(list((tmp_path / "episodes" / "classical").rglob("*.jsonl"))) >= 1
    assert all(s.per_minute == 3e6 for s in engine.played if s.model != "none")


def test_tasks_are_chosen_by_id_and_number():
    known = list(SUITES["home"].cases())
    assert ids_of([], known, 2) == tuple(known[:2]) and len(ids_of([], known)) == len(known)
    assert ids_of(["light_the_candle,watch_tv"], known) == ("watch_tv", "light_the_candle")
    with raises_code("unknown_name", "'watch_tv'"):
        ids_of(["wach_tv"], known)


# ---- records


def test_a_record_holds_every_exchange_action_and_change_of_the_world(whole):
    events = read_record(next((whole / "episodes" / "iterative").rglob("*radio.0.jsonl")))
    head, end = events[0], events[-1]
    assert head["goal"] == ["switched_on(radio_71)"] and head["facts"] and "radio_71" in head["objects"]
    asked = [e for e in events if e["event"] == "exchange"]
    assert len(asked) == end["measures"]["requests"] > 1
    assert all(e["request"]["messages"][0]["content"].startswith("You plan for a robot") for e in asked)
    assert all(e["request"]["json_schema"]["properties"] for e in asked)
    done = [e for e in events if e["event"] == "action" and e["code"] == "SUCCESS"]
    assert done and any(e["added"] for e in done)
    facts = set(head["facts"])
    for e in events:
        if e["event"] == "action":
            assert not facts & set(e["added"]) and set(e["removed"]) <= facts
            facts = (facts - set(e["removed"])) | set(e["added"])
    assert [e["at"] for e in events] == sorted(e["at"] for e in events)


def test_long_texts_stand_in_a_record_once():
    record = EpisodeText()
    for _ in range(3):
        record.add("exchange", request={"messages": [{"role": "system", "content": "x" * 500}], "json_schema": None})
    assert record.text().count("x" * 500) == 1


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", "x.jsonl"),
        ("not json", ("line 1", "JSON")),
        ('{"event": "end"}', "x.jsonl"),
        ("[1]", "line 1"),
        ('{"event": "episode", "format": 2}', "--resume"),
        ('{"event": "episode", "format": 7}', "format 7"),
    ],
)
def test_a_file_that_is_no_record_is_named(tmp_path, text, data, capsys):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with raises_code("configuration", data):
        read_record(path)
    assert planweave(["show", str(path)]) == 2 and "error:" in capsys.readouterr().err


def test_a_record_is_found_by_its_path_or_the_neighbours_are_named(whole):
    path = next(whole.rglob("*.jsonl"))
    assert find_record(str(path)) == path
    with raises_code("configuration", "light_the_candle.0.jsonl"):
        find_record(str(whole))
    with raises_code("configuration", path.name):
        find_record(str(path.with_name("nothing.jsonl")))
    assert read_end(path)["measures"]["gold"] > 0


# ---- replay and show


@pytest.mark.slow
def test_every_record_replays_to_its_end(whole):
    for path in whole.rglob("*.jsonl"):
        events = read_record(path)
        assert replay(events) == len(events)


@pytest.mark.parametrize("change", ["reply", "outcome", "question", "missing", "more"])
def test_a_replay_stops_at_the_first_difference(whole, change):
    events = read_record(next((whole / "episodes" / "iterative").rglob("*candle.0.jsonl")))
    at = {"reply": "exchange", "question": "exchange", "outcome": "action"}.get(change)
    index = next((i for i, e in enumerate(events) if e["event"] == at), None)
    if change == "reply":
        events[index]["reply"]["replies"][0]["text"] = '{"action": "walk(sofa_18)"}'
        index = next(i for i, e in enumerate(events) if e["event"] == "action")
    elif change == "outcome":
        events[index]["message"] = "It went quite well"
    elif change == "question":
        events[index]["request"]["messages"][-1]["content"] += " Hurry!"
    elif change == "missing":
        del events[-2]
        index = None
    else:
        events.insert(-1, {"event": "undo", "at": 9.0})
        index = len(events) - 2
    with pytest.raises(Difference) as found:
        replay(events)
    if index is not None:
        assert found.value.number == index + 1
    assert "recorded:" in str(found.value) and "now:" in str(found.value)


def test_replay_and_show_on_the_command_line(whole, capsys, tmp_path):
    path = next((whole / "episodes" / "base_llm").rglob("*.jsonl"))
    assert planweave(["replay", str(path)]) == 0 and "as recorded" in capsys.readouterr().out
    assert planweave(["replay", "--json", str(path)]) == 0 and json.loads(capsys.readouterr().out)["same"]
    text = path.read_text().replace("SUCCESS", "TIMEOUT", 1)
    (tmp_path / "changed.jsonl").write_text(text)
    if "TIMEOUT" in text:
        assert planweave(["replay", str(tmp_path / "changed.jsonl")]) == 1
        assert "differs" in capsys.readouterr().out
    assert planweave(["show", str(path)]) == 0
    drawn = capsys.readouterr().out
    assert "simulated, no language model" in drawn and "asks: plans" in drawn and "tokens read" in drawn
    assert planweave(["show", "--texts", str(path)]) == 0 and "[system] You are in control" in capsys.readouterr().out
    assert planweave(["replay", str(tmp_path / "none.jsonl")]) == 2


def test_a_tree_is_drawn_with_what_was_tried(tmp_path, capsys):
    config = Config("faults", ("throw_away_apple__fails_once",), ("tree_planner",), ("simulated:0.2",))
    run(tmp_path, config)
    assert planweave(["show", str(next(tmp_path.rglob("*.jsonl")))]) == 0
    drawn = capsys.readouterr().out
    assert "sampled plans as a tree" in drawn and "fault: fails at grab" in drawn and "×" in drawn


def test_a_stage_that_cannot_be_set_up_twice_alike_is_played_back_from_its_record(tmp_path, monkeypatch):
    from planweave.bench.suites.home import HomeStage

    monkeypatch.setattr(HomeStage, "reproducible", False)  # as the arm is
    record = EpisodeText()
    ended = play(Spec("home", "throw_away_apple", "iterative", "simulated:0", 0), record)
    write_record(tmp_path / "x.jsonl", record.text())
    events = read_record(tmp_path / "x.jsonl")
    assert sum(e["event"] == "world" for e in events) > ended.measures.actions == 4
    monkeypatch.setattr(type(SUITES["home"]), "stage", None)  # nothing but the record is there
    assert replay(events) == len(events)
    index = next(i for i, e in enumerate(events) if e["event"] == "action")
    events[index]["action"] = "walk(sofa_18)"
    with pytest.raises(Difference) as found:
        replay(events)
    assert found.value.number == index + 1


# ---- reports


@pytest.fixture(scope="module")
def reported(whole):
    """That run, with its report."""
    write_report(Results(whole, CONFIG), "planweave bench <home>", "about & more", {})
    return whole


def test_a_report_explains_its_columns_and_all_numbers_are_json(reported):
    text = (reported / "report.md").read_text()
    head = next(line for line in text.splitlines() if line.startswith("| method | episodes |"))
    for heading in head.strip("| ").split(" | ")[2:]:
        assert f"\n- {heading}: " in text, "every column is explained"
    assert "planweave bench <home>" in text and "about & more" in text and "no language model" in text
    rows = [r for r in json.loads((reported / "results.json").read_text())["rows"] if not r["group"]]
    (row,) = (r for r in rows if r["method"] == "iterative")
    cells = next(line for line in text.splitlines() if line.startswith("| iterative |")).split(" | ")
    assert (cells[1], cells[2].split()[0]) == (f"{row['episodes']}", f"{row['sr']['mean']:.2f}")
    assert row["sr"]["sd"] is not None and {r["method"] for r in rows} == set(CONFIG.methods)


def test_simulated_results_stand_in_no_table_with_others(reported):
    text = (reported / "report.md").read_text()
    simulated, alone = text.split("## Without a model")
    assert "classical" not in simulated and "classical" in alone and "iterative" not in alone
    assert "GPT-3" not in text, "the papers' numbers are of real models"


# ---- the command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hoem"], "did you mean 'home'"),
        (["home", "--method", "tree_planer"], "did you mean 'tree_planner'"),
        (["home", "--tasks", "wach_tv"], "did you mean 'watch_tv'"),
        (["home", "--model", "simulated:7"], "0 to 1"),
        (["home", "--repeat", "0"], "--repeat must be at least 1"),
        (["home", "--model", "gpt"], "unknown model 'gpt'"),
    ],
)
def test_what_cannot_be_run_is_said_with_the_nearest_name(arguments, words, capsys):
    assert planweave(["bench", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_model_that_cannot_be_set_up_is_said_before_anything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    out = str(tmp_path / "out")
    assert planweave(["bench", "home", "--model", "openai:gpt-x", "--out", out]) == 2
    assert "needs OPENAI_API_KEY" in capsys.readouterr().err
    assert planweave(["bench", "home", "--model", f"cassette:{tmp_path}/none.jsonl", "--out", out]) == 2
    assert "cannot read the cassette" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_no_run_to_resume_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert planweave(["bench", "home", "--model", "simulated:0.1", "--resume"]) == 2
    assert "no run of this configuration" in capsys.readouterr().err
