"""Sets of sentences read by a model: what counts as right, lines as they come, and going on after an interruption."""

import json

import pytest
from doubles.scripted_client import ScriptedClient

from benchmarks import __main__ as benchmarks
from benchmarks import sentence_reader
from planweave.core.base.errors import ModelUnavailableError

CANNOT = '{"kind": "cannot", "goal": [], "words": [], "not_covered": ["everything"]}'


@pytest.fixture
def client(monkeypatch):
    made = ScriptedClient(CANNOT)
    monkeypatch.setattr(sentence_reader, "client_of", lambda name: made)
    return made


def read(path, sample, *more):
    shown = ["sentences", "--model", "openai:m", "--sample", str(sample), "--out", str(path), "--json", *more]
    return benchmarks.main(shown)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_sentence_is_a_line_and_is_read_once(client, tmp_path, capsys):
    path = tmp_path / "read.jsonl"
    read(path, 3)
    assert [line["verdict"] for line in lines(path)].count("refused") + len(client.questions) >= 3
    assert all(line["prompt_tokens"] == 100 * line["requests"] for line in lines(path))
    asked = len(client.questions)
    read(path, 3)
    assert (len(lines(path)), len(client.questions)) == (3, asked), "all of it was read before"
    path.write_text(path.read_text(encoding="utf-8") + '{"set": "lib', encoding="utf-8")
    capsys.readouterr()
    read(path, 3)
    assert len(json.loads(capsys.readouterr().out)["figures"]) == 5


def test_what_an_endpoint_did_not_answer_is_read_again(client, tmp_path, monkeypatch):
    def none(request):
        raise ModelUnavailableError("away")

    path = tmp_path / "read.jsonl"
    with monkeypatch.context() as patched:
        patched.setattr(client, "complete", none)
        read(path, 2)
    assert {line["verdict"] for line in lines(path)} == {"unanswered"}
    read(path, 2)
    assert len(lines(path)) == 4 and "unanswered" not in {line["verdict"] for line in lines(path)[2:]}


@pytest.mark.parametrize("more", [["--task", "nosuch"], ["--task", "libero_90"], ["--model", "simulated:0.1"]])
def test_what_cannot_be_read_is_told(client, tmp_path, capsys, more):
    assert read(tmp_path / "read.jsonl", 1, *more) == 2
    assert "error: " in capsys.readouterr().err


def test_grammar_alone_reads_libero_as_its_goals():
    from doubles.named_worlds import read as by_grammar

    from benchmarks.libero_sentences import libero

    verdicts = [one.read_by(by_grammar)["verdict"] for one in list(libero())[:40]]
    assert verdicts.count("right") == 40
