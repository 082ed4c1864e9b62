"""The papers' tables: their data, the cells made from records, the reasons for those that are not."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from codes import raises_code
from doubles.bakeoff_engines import InlineEngine

from planweave.bench import paper_run
from planweave.bench.paper_metrics import METRICS
from planweave.bench.paper_run import Records, identity, limited, needed, tables
from planweave.bench.papers import beside_ours, cells, load_papers, paper_of, table_of
from planweave.bench.playback import replay
from planweave.bench.records import read_record
from planweave.bench.results import Results
from planweave.bench.runner import Config, Run, prepare, read_config
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table, markdown
from planweave.cli.main import main as planweave

pytestmark = pytest.mark.slow

TABLES = {
    "tree_planner": ["1", "2", "3", "4", "5", "6", "7", "8", "figure5", "figure9", "figure10"],
    "scene_aware": ["I", "II", "III", "IV", "V"],
    "brainbody": ["1", "2", "3", "4"],
    "blocking": ["1", "2", "3"],
    "progprompt": ["I", "II", "III", "IV"],
}
MINIMAL = """
mine:
  title: A (B)
  model: m
  data: d
  here: h
  tables:
    "1":
      caption: c
      method: METHOD
      tasks: [SELECTION]
      columns: [{heading: SR, metric: METRIC}]
      rows: [{label: a, paper: PAPER}]
"""


def played(out, config):
    prepare(out, config, resume=False)
    return Run(out, config, InlineEngine()).play()


@pytest.fixture
def inline(monkeypatch):
    """Episodes are run in this process."""
    monkeypatch.setattr(paper_run, "engine_of", lambda options: InlineEngine())


# ---- the data


def test_every_paper_has_its_tables_and_each_cell_is_made_or_has_a_reason():
    papers = load_papers()
    assert {name: list(paper.tables) for name, paper in papers.items()} == TABLES
    for paper in papers.values():
        for table in paper.tables.values():
            for _, row in cells(paper, table):
                assert all(bool(c.why) != bool(c.method and c.metric in METRICS and c.tasks) for c in row)


def test_numbers_are_those_of_the_papers():
    local = next(row for row in paper_of("tree_planner").tables["1"].rows if row.label == "Local replan")
    assert local.paper == ("79.66 ± 2.33", "37.46 ± 1.71", "51.9 ± 0.15", "12.88 ± 0.17", "3.29 ± 0.46")
    assert paper_of("blocking").tables["1"].rows[0].paper == ("50/50", "39/50", "39/50", "49/50")
    assert paper_of("progprompt").tables["III"].rows[-1].paper == ("0.48 ± 0.13", "0.85 ± 0.02", "0.73 ± 0.10")
    beside = {row["label"]: row for row in beside_ours()}
    assert (
        beside["Tree-Planner, N=50"]["sr"] == "0.416 ± 0.032" and beside["Tree-Planner, N=50"]["cost"] == "$4.54 in all"
    )


def test_cells_select_the_tasks_that_the_paper_means():
    paper = paper_of("tree_planner")
    cases = SUITES["home"].cases()
    short, middle, long, _ = [row[0].tasks for _, row in cells(paper, paper.tables["4"])]
    assert {len(cases[t].gold) <= 5 for t in short} == {True} and not set(short) & set(middle)
    assert len(short) + len(middle) + len(long) == len(cases)
    flat = next(row[0].tasks for _, row in cells(paper, paper.tables["6"]))
    assert {cases[t].scene for t in flat} == {"home_flat"}
    paper = paper_of("blocking")
    assert [c.tasks for c in next(row for _, row in cells(paper, paper.tables["1"]))] == [
        ("bcr_make_coffee",),
        ("bcr_apple_in_fridge",),
        ("bcr_mug_in_sink",),
        ("bcr_make_toast",),
    ]
    paper = paper_of("progprompt")
    assert len(next(row[0].tasks for row_, row in cells(paper, paper.tables["III"]) if row_.label == "Average")) > 30


def filled(**words):
    text = MINIMAL
    for key, value in {"METHOD": "iterative", "METRIC": "sr", "SELECTION": "{}", "PAPER": '["1"]', **words}.items():
        text = text.replace(key, value)
    return text


@pytest.mark.parametrize(
    ("words", "data"),
    [
        ({"METHOD": "iteratve"}, ("'iteratve'", "'iterative'")),
        ({"METHOD": "iterative:max_step=2"}, ("iterative", "'max_step'")),
        ({"METRIC": "srr"}, "'srr'"),
        ({"SELECTION": "{group: progpromt}"}, "home"),
        ({"SELECTION": "{scen: home_flat}"}, "`scen`"),
        ({"PAPER": '["1", "2"]'}, "2 numbers for 1 columns"),
        ({"PAPER": "[0.1]"}, "`str`"),
        ({"PAPER": "["}, "papers.yaml: "),
        ({"PAPER": '["1"], average_of: [b]'}, ("'a'", "'b'")),
    ],
)
def test_data_that_cannot_be_right_are_refused_with_the_place(tmp_path, words, data):
    path = tmp_path / "papers.yaml"
    path.write_text(filled())
    assert list(load_papers(path)) == ["mine"]
    path = tmp_path / "wrong" / "papers.yaml"
    path.parent.mkdir()
    path.write_text(filled(**words))
    with raises_code("configuration", data, path):
        load_papers(path)


def test_a_table_is_named_as_people_write_it():
    paper = paper_of("progprompt")
    assert table_of(paper, "ii") == table_of(paper, "Table II") == "II"
    assert table_of(paper_of("tree_planner"), "Figure 5") == "figure5"
    with raises_code("unknown_name", "'9'"):
        table_of(paper, "9")


# ---- from records


def test_a_table_is_made_of_the_records_of_ordinary_runs(tmp_path, capsys):
    tasks = ("bcr_make_coffee", "bcr_make_toast")
    played(
        tmp_path / "a",
        Config("home", tasks, ("blocking:paper=true", "classical:paper=true"), ("simulated:0",), repeat=2),
    )
    played(tmp_path / "b", Config("home", tasks[:1], ("blocking:paper=true",), ("simulated:0.9",)))
    out = ["bench", "paper", "blocking", "--records", str(tmp_path), "--table", "1"]
    assert planweave(out) == 2
    assert "name one by --model: simulated:0, simulated:0.9" in capsys.readouterr().err
    assert planweave([*out, "--model", "simulated:0"]) == 0
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[2:6] == [
        "| BCR | paper | 50/50 | 39/50 | 39/50 | 49/50 |",
        "|  | ours (n = 2) | 2/2 | [a] | [a] | 2/2 |",
        "| ProgPrompt | paper | 19/50 | 40/50 | 18/50 | 0/50 |",
        "|  | ours | [b] | [b] | [b] | [b] |",
    ]
    assert "GPT-3.5" in text and "simulated:0;" in text and "SIMULATED, no language model" in text
    assert (
        "[a] no records of blocking:paper=true with simulated:0" in text and "planweave bench home --method bl" in text
    )
    assert lines[7].startswith("|  | ours (n = 2) | 2/2"), "a method without a model"


def test_records_count_only_for_a_cell_with_the_same_parameters(tmp_path):
    method = "tree_planner:samples=50,paper=true"
    config = Config("home", ("watch_tv",), (method,), ("simulated:0",), settings={"planner.top_p": 0.5})
    played(tmp_path, config)
    records = Records(tmp_path)
    cell = next(row for _, row in cells(paper_of("tree_planner"), paper_of("tree_planner").tables["4"]))[0]
    assert not records.episodes(cell, "simulated:0", {})
    assert len(records.episodes(cell, "simulated:0", {"planner.top_p": 0.5})) == 1
    same = identity("tree_planner:planner.samples=3")
    assert same == identity("tree_planner", {"planner.samples": 3}) != identity("tree_planner")
    assert identity("tree_planner:planner.timeout=3") == identity("tree_planner")
    with raises_code("configuration", "config.json"):
        Records(tmp_path / "nothing")


def test_figures_come_from_the_sampled_plans_of_the_records(tmp_path):
    method = "tree_planner:samples=10,max_corrections=0,paper=true"
    played(tmp_path, Config("home", ("watch_tv", "make_toast"), (method,), ("simulated:0.3,correlation=0",)))
    paper = paper_of("tree_planner")
    model = "simulated:0.3,correlation=0"
    five, nine, ten = tables(paper, ["figure5", "figure9", "figure10"], Records(tmp_path), model)
    best, mean = (float(text.split(" ")[0]) for text in five.rows[1][2:])
    assert 100 >= best > mean > 0
    different = float(nine.rows[3][2].split(" ")[0])
    assert 3 < different <= 10
    best, mean = (float(text.split(" ")[0]) for text in ten.rows[1][2:])
    assert best > mean > 0
    assert any("records of 2 of 60 tasks" in remark for remark in five.remarks)


@pytest.mark.parametrize("method", ["iterative:replan=none", "progprompt", "tree_planner:samples=5"])
def test_exec_of_tree_planner_counts_plans_that_were_carried_out_to_their_end(tmp_path, method):
    """Without correction: no action failed. With it: the last one was done, and every failure was answered."""
    played(
        tmp_path,
        Config(
            "home",
            tuple(SUITES["home"].cases())[:12],
            (f"{method},paper=true".replace(",", ":", ":" not in method),),
            ("simulated:0.5",),
        ),
    )
    found: dict[str, float] = {}
    for e in Results(tmp_path, read_config(tmp_path)).played:
        tried = [a for a in read_record(e.path) if a["event"] == "action" and a["why"] != "undo"]
        ended = bool(tried) and tried[-1]["code"] == "SUCCESS"
        whole = e.measures.exec_first == 1.0
        found[e.spec.case] = METRICS["exec_plan"].read(e) or 0.0
        corrects = method.startswith("tree_planner")
        assert found[e.spec.case] == (ended if corrects else whole), e.spec.case
    assert 0 < sum(found.values()) < len(found)


def test_candidates_are_those_of_selections_and_cost_is_that_of_all_tasks(tmp_path):
    played(tmp_path, Config("home", ("bcr_make_toast",), ("blocking:paper=true",), ("simulated:0.3",)))
    (e,) = Results(tmp_path, read_config(tmp_path)).played
    numbers = [len(event["options"]) for event in read_record(e.path) if event["event"] == "selection"]
    assert METRICS["candidates"].read(e) == pytest.approx(sum(numbers) / len(numbers)) and min(numbers) > 1
    episodes: list[Any] = [
        SimpleNamespace(spec=SimpleNamespace(case=case, repetition=r), measures=SimpleNamespace(cost=cost))
        for case, costs in {"a": (0.5, 0.7), "b": (1.5, 1.7)}.items()
        for r, cost in enumerate(costs)
    ]
    assert METRICS["cost_total"].text(episodes, percent=False) == "2.20 ± 0.28", "of one run over all tasks"


def test_an_average_row_is_the_mean_of_its_rows_whatever_their_number_of_tasks(tmp_path):
    cases = SUITES["home"].cases()
    scenes = {scene: [c for c, case in cases.items() if case.scene == scene] for scene in ("home_studio", "home_house")}
    ten = [c for c, case in cases.items() if "progprompt" in case.groups]
    tasks = (*ten[:4], scenes["home_studio"][0], *scenes["home_house"][:2])
    config = Config("home", tasks, ("progprompt:paper=true",), ("simulated:0.6",), repeat=2)
    played(tmp_path, config)
    paper = paper_of("progprompt")
    (table,) = tables(paper, ["III"], Records(tmp_path), "simulated:0.6")
    ours = [row for row in table.rows if row[1].startswith("ours")]
    assert [row[1] for row in ours] == ["ours (n = 8)", "ours (n = 2)", "ours (n = 4)", "ours (n = 14)"]
    *rows, average = [[float(text.split(" ")[0]) for text in row[2:]] for row in ours]
    assert average == pytest.approx([sum(column) / 3 for column in zip(*rows)], abs=0.011)
    assert all("±" in text for text in ours[-1][2:])
    asked = {task for _, some in needed(paper, ["III"], 2) for task in some}
    assert len(asked) == 6, "no tasks of its own are run for it"
    (table,) = tables(paper, ["III"], Records(tmp_path), "simulated:0")
    assert "[b] a row of which this is the mean has none." in table.remarks


def test_a_table_of_other_data_than_the_papers_names_them(tmp_path):
    played(tmp_path, Config("home", ("watch_tv",), ("iterative",), ("simulated:0",)))
    for name, number, theirs, ours in (
        ("brainbody", "4", "seven tasks of a Franka arm", "simulated arm"),
        ("progprompt", "IV", "four tasks of a Panda arm", "simulated arm"),
        ("progprompt", "III", "in each of three VirtualHome scenes", "two other homes"),
    ):
        (table,) = tables(paper_of(name), [number], Records(tmp_path), "simulated:0")
        before, after = table.notes[0].split(" Ours: ")
        assert theirs in before and ours in after, table.notes[0]


def test_types_of_errors_are_shares_of_the_failed_episodes(tmp_path):
    method = "tree_planner:samples=25,max_corrections=0,paper=true"
    tasks = tuple(SUITES["home"].cases())[:8]
    played(tmp_path, Config("home", tasks, (method,), ("simulated:0.3",)))
    (table,) = tables(paper_of("tree_planner"), ["3"], Records(tmp_path), "simulated:0.3")
    shares = {row[0] or before[0]: row for before, row in zip(table.rows, table.rows[1:]) if row[1].startswith("ours")}
    missing, *kinds, unread, deciding, incorrect, failed = [row[2].split(" ")[0] for row in shares.values()]
    assert unread == "[b]" and float(missing) == pytest.approx(sum(map(float, kinds)), abs=0.02) and float(missing) > 0
    assert float(deciding) == pytest.approx(float(incorrect) + float(failed), abs=0.02)
    assert float(missing) + float(deciding) == pytest.approx(100)


def test_the_gain_by_a_gold_plan_among_the_sampled_ones(tmp_path):
    plain = "tree_planner:samples=25,max_corrections=0"
    methods = tuple(f"{text},paper=true" for text in (plain, f"{plain},planner.gold_plan=true"))
    played(tmp_path, Config("home", tuple(SUITES["home"].cases())[:6], methods, ("simulated:0.6",)))
    (table,) = tables(paper_of("tree_planner"), ["2"], Records(tmp_path), "simulated:0.6")
    without, gain = table.rows[2], table.rows[4]
    assert table.rows[3][:3] == ("† with oracle, gain", "paper", "7.16") and gain[1] == "ours (n = 6)"
    assert float(gain[3].split(" ")[0]) >= 0 and gain[3].startswith(("+", "-")), "SR"
    sampled = []
    for path in tmp_path.rglob("*.jsonl"):
        events = read_record(path)
        replies = next(e["reply"]["replies"] for e in events if e["event"] == "exchange")
        sampled.append((len(replies), events[0]["gold"] in [e.get("actions") for e in events]))
        assert replay(events) == len(events)
    assert sorted({n for n, _ in sampled}) == [25, 26] and all(gold for n, gold in sampled if n == 26)
    assert float(without[3].split(" ")[0]) < 100


def test_at_most_so_many_tasks_are_run_evenly_and_every_cell_has_its_own():
    assert limited("abcdefghij", 3) == ("a", "d", "g") and limited("ab", 3) == limited("ab", 0) == ("a", "b")
    paper = paper_of("tree_planner")
    runs = needed(paper, ["1", "4"], 2)
    methods = [m for some in runs.values() for m in some]
    assert len(methods) == len(set(methods)), "no episode is run twice"
    by_method = {m: tasks for (_, tasks), some in runs.items() for m in some}
    assert len(by_method["zero_shot:paper=true"]) == 2 < len(by_method["tree_planner:samples=50,paper=true"]) <= 8
    assert not needed(paper_of("brainbody"), ["4"]), "the tabletop needs ROS"


# ---- the command


def test_tables_are_made_at_once_with_few_tasks(tmp_path, capsys, inline):
    out = tmp_path / "out"
    command = ["bench", "paper", "progprompt", "--table", "I", "IV", "--limit", "1", "--out", str(out)]
    assert planweave([*command, "--repeat", "2", "--set", "planner.program_temperature=0.5"]) == 0
    text = capsys.readouterr().out
    assert (out / "progprompt.md").read_text() == text
    row = next(line for line in text.splitlines() if "ours (n = 2)" in line)
    assert row.count("±") == 3, "as the paper prints it"
    assert "[a] needs Codex." in text and "no records of progprompt:assertions=false" in text
    plain = json.loads((out / "progprompt.json").read_text())
    assert plain["tables"][0]["rows"][0][:4] == ["1 ProgPrompt, yes, yes, CODEX", "paper", "0.40 ± 0.11", "0.90 ± 0.05"]
    config = read_config(next((out / "records").rglob("config.json")).parent)
    assert config.settings == {"planner.program_temperature": 0.5}
    again = ["bench", "paper", "progprompt", "--table", "I", "--records", str(out / "records")]
    assert planweave(again) == 0 and "no records of progprompt:paper=true with" in capsys.readouterr().out
    assert planweave([*again, "--set", "planner.program_temperature=0.5", "--json"]) == 0
    assert "records of 1 of 10 tasks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paper"], "name a paper: planweave bench paper tree_planner | scene_aware"),
        (["paper", "tree_planer"], "unknown paper 'tree_planer'; did you mean 'tree_planner'"),
        (["paper", "tree_planner", "--table", "11"], "unknown table '11'"),
        (["paper", "tree_planner", "--model", "simulated:0", "simulated:1"], "one --model at a time"),
        (["paper", "tree_planner", "--records", "/nowhere"], "there are no records of `planweave bench` in /nowhere"),
        (["paper", "tree_planner", "--method", "iterative"], "--method is for ordinary runs"),
        (["paper", "brainbody", "--table", "4"], "nothing in these tables can be run at once"),
        (["home", "tree_planner"], "belong to: planweave bench paper PAPER"),
        (["home", "--records", "x"], "belong to: planweave bench paper PAPER"),
    ],
)
def test_what_cannot_be_made_is_said(arguments, words, capsys, inline, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert planweave(["bench", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_episodes_that_are_missing_give_exit_code_1(tmp_path, capsys, inline, monkeypatch):
    from planweave.core.base.errors import ModelError

    def refuse(*_):
        raise ModelError("no model today")

    monkeypatch.setattr("planweave.bench.simulated_model.SimulatedModel.complete", refuse)
    assert planweave(["bench", "paper", "blocking", "--table", "1", "--out", str(tmp_path / "o")]) == 1
    shown = capsys.readouterr()
    assert "no model today" in " ".join(shown.err.split()) and "no records of blocking:paper=true" in shown.out


# ---- form


def test_a_table_as_markdown():
    rows = (("part",), ("ü_1", "1 ± 2", "<b>"), ("", "3", "[a]"))
    text = markdown([Table("A & B", ("x", "50 %", "a|b"), rows, ("note",), ("[a] why.",))])
    assert "| x | 50 % | a\\|b |\n|---|---|---|\n| **part** |  |  |\n| ü_1 | 1 ± 2 | <b> |" in text
    assert text.startswith("## A & B\n\nnote\n") and text.endswith("[a] why.\n")
