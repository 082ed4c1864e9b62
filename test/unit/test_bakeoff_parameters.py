"""Parameters of a run (`--set`, the nodes' files) and tasks from files: what holds, and what is refused."""

import json
import shutil

import pytest
from codes import raises_code
from doubles.bakeoff_engines import InlineEngine

from planweave.bench.episodes import Spec, play
from planweave.bench.parameters import AS_IN_PAPERS, all_values, settings_of
from planweave.bench.playback import replay
from planweave.bench.records import EpisodeText, read_record, write_record
from planweave.bench.report import write_report
from planweave.bench.results import Results
from planweave.bench.runner import Config, Run, prepare, read_config
from planweave.bench.task_files import chosen_tasks
from planweave.cli.main import main as planweave
from planweave.core.base.parameter import option_parameters
from planweave.core.base.paths import config_dir
from planweave.methods import METHODS
from planweave.methods.language.settings import PlannerSettings

OWN = """
play_music:
  sentence: switch on the radio
  scene: home_flat
  goal: switched_on(radio_71)
two_lights:
  sentence: make it dark
  scene: home_flat
  goal: switched_off(light_switch_17); switched_off(light_switch_23)
  gold: [walk(light_switch_17), switchoff(light_switch_17), walk(light_switch_23), switchoff(light_switch_23)]
"""


# ---- parameters


def test_the_defaults_are_those_of_the_nodes():
    assert settings_of([]) == {}, "the shipped files change nothing"
    values = all_values({}, "planner")
    assert {row.name: row.default for row in option_parameters(PlannerSettings)}.items() <= values.items()
    assert all_values({}, "tree_planner")["check_plans"] is AS_IN_PAPERS["tree_planner"]["check_plans"]


def test_the_nodes_files_hold_and_set_overrules_them(tmp_path):
    for name in ("planner.yaml", "feedback.yaml"):
        shutil.copy(config_dir() / name, tmp_path)
    (tmp_path / "planner.yaml").write_text("/**/planner_node:\n  ros__parameters: {samples: 7, temperature: 0.1}\n")
    (tmp_path / "feedback.yaml").write_text(
        "feedback_node:\n  ros__parameters:\n    method: iterative\n    iterative: {max_steps: 9}\n"
        "    tree_planner.votes: 3\n"
    )
    found = settings_of(["planner.temperature=0.5", "planner.samples=25"], tmp_path)
    assert found == {"iterative.max_steps": 9, "planner.temperature": 0.5, "tree_planner.votes": 3}
    (tmp_path / "planner.yaml").write_text("planner_node: {ros__parameters: {samples: many}}\n")
    with raises_code("configuration", "samples='many'", "int"):
        settings_of([], tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("planer.temperature=0", "unknown part in --set 'planer'; did you mean 'planner'"),
        ("planner.temprature=0", "unknown parameter of planner 'temprature'; did you mean 'temperature'"),
        ("tree_planner.sample=3", "unknown option of tree_planner 'sample'; did you mean 'samples'"),
        ("planner.temperature=hot", "temperature=hot of planner must be of type float"),
        ("planner.temperature=9", "must be from 0 to 2"),
        ("planner.temperature", "write planner.temperature=VALUE"),
        ("planner", "write planner.NAME=VALUE, with one of samples"),
        ("planner.model=gpt", "is chosen by --model"),
        ("planner.seed=3", "is chosen by --model and --seed"),
        ("planner.embedding=word2vec", "expected one of hashed, minilm"),
        ("blocking.max_actions=5", "blocking is not among the methods of this run: iterative"),
    ],
)
def test_a_parameter_that_cannot_be_set_is_refused_with_the_nearest(text, words, capsys):
    assert planweave(["bench", "home", "--method", "iterative", "--model", "simulated:0", "--set", text]) == 2
    assert words in capsys.readouterr().err


def test_set_parameters_reach_planner_and_method_and_stand_in_the_record(tmp_path):
    settings = settings_of(
        ["planner.proposal_temperature=0.2", "planner.exclude_actions=cut eat", "tree_planner.samples=4"]
    )
    record = EpisodeText()
    play(Spec("home", "watch_tv", "zero_shot", "simulated:0", 0, settings=settings), record)
    write_record(tmp_path / "x.jsonl", record.text())
    events = read_record(tmp_path / "x.jsonl")
    held = events[0]["settings"]
    assert held["planner.proposal_temperature"] == 0.2 and held["planner.top_p"] == 0.95
    assert held["planner.timeout"] == 600
    assert held["planner.exclude_actions"] == ["cut", "eat"] and "tree_planner.samples" not in held
    assert {e["request"]["temperature"] for e in events if e["event"] == "exchange"} == {0.2}
    assert replay(events) == len(events)

    record = EpisodeText()
    play(Spec("home", "watch_tv", "tree_planner:planner.top_p=0.5", "simulated:0", 0, settings=settings), record)
    rows = [json.loads(line) for line in record.text().splitlines()]
    asked = next(row["request"] for row in rows if row["event"] == "exchange")
    assert (asked["n"], asked["top_p"]) == (4, 0.5) and rows[0]["settings"]["tree_planner.samples"] == 4


def test_a_record_holds_what_the_switch_paper_sets(tmp_path):
    record = EpisodeText()
    play(Spec("home", "watch_tv", "tree_planner:paper=true,votes=3", "simulated:0.3", 0), record)
    write_record(tmp_path / "x.jsonl", record.text())
    events = read_record(tmp_path / "x.jsonl")
    held = {key.removeprefix("tree_planner."): value for key, value in events[0]["settings"].items()}
    assert held["paper"] is True and held["votes"] == 3
    assert {key: held[key] for key in METHODS["tree_planner"].PAPER} == METHODS["tree_planner"].PAPER
    assert replay(events) == len(events)


def test_the_seed_is_sent_with_every_request_and_recorded(tmp_path):
    def seeds(seed, repetition):
        record = EpisodeText()
        play(Spec("home", "watch_tv", "tree_planner", "simulated:0.3", repetition, seed), record)
        rows = [json.loads(line) for line in record.text().splitlines()]
        sent = {row["request"]["seed"] for row in rows if row["event"] == "exchange"}
        assert sent == {rows[0]["settings"]["planner.seed"]} and rows[0]["seed"] == seed
        return sent.pop()

    found = [seeds(seed, repetition) for seed in (0, 1) for repetition in (0, 1)]
    assert found[0] == 0 and len(set(found)) == 4
    assert min(abs(a - b) for a in found for b in found if a != b) >= 1000, "room for the samples of one request"


def test_a_run_keeps_its_parameters_and_shows_them(tmp_path):
    config = Config("home", ("watch_tv",), ("iterative",), ("simulated:0",), settings={"iterative.max_steps": 2})
    prepare(tmp_path, config, resume=False)
    assert read_config(tmp_path) == config
    Run(tmp_path, config, InlineEngine()).play()
    results = Results(tmp_path, config)
    assert [e.measures.actions for e in results.played] == [2]
    write_report(results, "how", "about", {})
    assert "iterative.max_steps=2" in (tmp_path / "report.md").read_text()
    with raises_code("configuration", "{'iterative.max_steps': 2}"):
        prepare(tmp_path, Config("home", ("watch_tv",), ("iterative",), ("simulated:0",)), resume=True)


# ---- tasks from files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.txt", "watch_tv  # the first\n\nturn_off_light, light_the_candle\n"),
        ("t.yaml", "- light_the_candle\n- watch_tv\n- turn_off_light\n"),
        ("t.json", '["watch_tv", "turn_off_light", "light_the_candle"]'),
    ],
)
def test_ids_are_read_from_a_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert chosen_tasks([str(tmp_path / name)], "home") == (("watch_tv", "turn_off_light", "light_the_candle"), {})
    assert chosen_tasks([str(tmp_path / name), "make_toast"], "home", 3)[0][2] == "make_toast"


@pytest.mark.slow
def test_tasks_of_ones_own_are_played_recorded_and_replayed(tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    cases, rows = chosen_tasks([str(tmp_path / "own.yaml"), "watch_tv"], "home")
    assert cases == ("watch_tv", "play_music", "two_lights")
    assert rows["play_music"]["gold"] == ["walk(radio_71)", "switchon(radio_71)"], "the classical planner's"
    config = Config("home", cases, ("iterative", "classical"), ("simulated:0",), rows=rows)
    out = tmp_path / "run"
    prepare(out, config, resume=False)
    assert read_config(out) == config
    outcome = Run(out, config, InlineEngine()).play()
    assert outcome.done == 6 and not outcome.missing
    results = Results(out, read_config(out))
    assert {e.spec.case: e.measures.sr for e in results.played} == dict.fromkeys(cases, 1.0)
    write_report(results, "how", "about", {})
    (tmp_path / "own.yaml").unlink()
    for path in out.rglob("*.jsonl"):
        events = read_record(path)
        assert replay(events) == len(events)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("- watch_tv\n- wach_tv\n", ("home", "'wach_tv'", "'watch_tv'")),
        ("", ()),
        ("- [1, 2]\n", ()),
        ("a: [\n", "YAML"),
        ("watch_tv: {sentence: x, scene: home_flat, goal: sitting()}", "watch_tv"),
        ("a: {sentence: x, goal: sitting()}", "a: scene"),
        ("a: {sentence: x, scene: home_flat, goal: [1]}", "a: goal"),
        ("a: {sentence: x, scene: home_flat, gaol: y}", "'gaol'"),
        ("a: {sentence: x, scene: home_flta, goal: sitting()}", ("'home_flta'", "'home_flat'")),
        ("a: {sentence: x, scene: home_flat, goal: 'on(aple_50, sofa_18)'}", "'aple_50'"),
        ("a: {sentence: x, scene: home_flat, goal: 'on apple'}", "a: "),
        ("a: {sentence: x, scene: home_flat, goal: switched_off(tv_65)}", "a: "),
        ("a: {sentence: x, scene: home_flat, goal: sitting(), gold: [sit(sofa_18)]}", "sit(sofa_18)"),
        ("a: {sentence: x, scene: home_flat, goal: sitting(), gold: [walk(sofa_18)]}", "sitting()"),
        ("a: {sentence: x, scene: nowhere.json, goal: sitting()}", "nowhere.json"),
    ],
)
def test_a_file_of_tasks_that_cannot_be_used_is_refused_by_name(tmp_path, text, data):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with raises_code("configuration", data, path):
        chosen_tasks([str(path)], "home")


def test_a_missing_file_and_a_suite_without_tasks_of_ones_own_are_named(tmp_path, capsys):
    assert planweave(["bench", "home", "--tasks", f"{tmp_path}/none.yaml"]) == 2
    assert "none.yaml: No such file" in capsys.readouterr().err
    (tmp_path / "own.yaml").write_text(OWN)
    with raises_code("configuration", "faults"):
        chosen_tasks([f"{tmp_path}/own.yaml"], "faults")
    with raises_code("unknown_name", "'wach_tv'"):
        chosen_tasks(["wach_tv"], "home")
