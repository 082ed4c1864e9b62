"""Results as data: what runs of a benchmark leave, and the page that is made of it."""

import json

import pytest
from codes import raises_code

from benchmarks import results
from benchmarks.__main__ import FIGURES
from benchmarks.figures import figure


def rows(value, met):
    return [figure("time of a frame", value, "≤ 50 ms", met)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


def test_the_page_in_the_documents_is_made_of_the_files():
    assert results.PAGE.read_text(encoding="utf-8") == results.page()


def test_a_value_is_a_figure_and_no_story():
    """What there is to say about it stands in `notes`."""
    files = [results.ResultFile.read(path) for path in results.FOLDER.glob("*.json")]
    values = [value for file in files for figure in file.figures for value in figure.values]
    assert len(values) > 100 and not [value for value in values if len(value) > 120]
    assert not [note for file in files for note in file.notes if len(note) > 400 or len(file.notes) > 8]


def test_runs_become_a_median_and_its_spread_and_a_miss_stands_first(folder):
    results.keep("eyes", [rows("38 ms, 9.5 m", True), rows("1,061 ms, 9.5 m", False), rows("40 ms, 9.5 m", True)])
    page = results.page(folder)
    row = next(line for line in page.splitlines() if line.startswith('| <a id="eyes">'))  # of its only figure
    assert "time of a frame | 40 [38, 1,061] ms, 9.5 m; " in row
    assert row.endswith("| ≤ 50 ms: **reached in 2 of 3** |")
    misses, chapter = page.split("## Others")
    assert "[eyes](#eyes)" in misses and '<a id="eyes">' in chapter and "3 runs" in chapter


def test_a_file_says_where_it_was_measured_and_keeps_what_people_wrote(folder):
    path = folder / "eyes.json"
    named = {"figure": "named", "goal": "", "values": ["9 of 9"], "met": [None], "needs": "a language model"}
    old = {"figure": "time of a frame", "values": ["99 ms"], "met": [False]}
    path.write_text(json.dumps({"title": "Eyes", "chapter": "Camera", "notes": ["by hand"], "figures": [old, named]}))
    results.keep("eyes", [rows("38 ms", True)])
    kept = json.loads(path.read_text())
    assert (kept["title"], kept["notes"]) == ("Eyes", ["by hand"])
    assert kept["figures"] == [
        {"figure": "time of a frame", "goal": "≤ 50 ms", "values": ["38 ms"], "met": [True]},
        named,
    ]
    assert "named (needs a language model)" in results.page(folder)
    assert {"machine", "commit", "versions", "date", "command"} <= kept.keys()


def test_values_in_other_words_are_listed(folder):
    results.keep("eyes", [rows("none", None), rows("2 of 3", None)])
    assert "| none; 2 of 3; " in results.page(folder)


@pytest.mark.parametrize("text", ["", "[]", '{"figures": []}', '{"title": "x", "figures": 3}'])
def test_a_file_that_is_none_is_named(folder, text):
    (folder / "broken.json").write_text(text)
    with raises_code("configuration", "broken.json"):
        results.page(folder)


def test_a_benchmark_that_is_run_again_overwrites_no_others_figures():
    """A file that a benchmark writes has its name, and was written by that one."""
    for path in results.FOLDER.glob("*.json"):
        file = results.ResultFile.read(path)
        if path.stem in FIGURES:
            others = {*FIGURES} - {path.stem}
            words = set(file.command.replace(";", " ").split())
            assert file.command.startswith(f"python -m benchmarks {path.stem}") and not others & words, path
