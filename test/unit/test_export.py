"""planweave export and run --tree: what of a record becomes a tree or a plan, and what is refused."""

import json

import pytest
from codes import raises_code

from planweave.cli import main as cli
from planweave.cli.export import FORMATS, exported
from planweave.core.symbolic.domain import Domain
from planweave.core.trees.behaviour_tree_xml import read_tree, write_tree
from planweave.tasks.given_tree import recorded_plan, recorded_tree

DOMAIN = Domain.load("tabletop")
GOAL = {"event": "goal", "domain": "tabletop", "goal": ["in(red_cube, left_tray)"]}
STEPS = ["grasp(red_cube)", "place_in(red_cube, left_tray)"]
SHORT = ["grab_and_putin(red_cube, left_tray)"]


def plan(actions, samples=1, valid=True):
    return {"event": "plan", "actions": actions, "samples": samples, "valid": valid}


def done(action, code="SUCCESS"):
    return {"event": "action", "action": action, "code": code}


def test_the_plan_is_what_was_carried_out_else_what_was_planned_last():
    planned = {"event": "planned", "plan": SHORT}
    assert list(map(str, recorded_plan([planned]))) == SHORT
    assert list(map(str, recorded_plan([{"event": "approval_asked", "plan": STEPS}]))) == STEPS
    assert list(map(str, recorded_plan([{"event": "classical_plan", "actions": STEPS}]))) == STEPS
    events = [planned, done("grasp(blue_cube)", "NO_GRASP"), *map(done, STEPS)]
    assert list(map(str, recorded_plan(events))) == STEPS
    with raises_code("goal"):
        recorded_plan([GOAL])


def test_the_tree_is_that_of_the_valid_samples_or_the_one_that_was_given():
    events = [GOAL, plan(STEPS, 3), plan(SHORT, 5), plan(["grasp(left_tray)"], 9, valid=False)]
    tree = recorded_tree(DOMAIN, events)
    assert "grab_and_putin" in str(tree.children[0]) and "grasp(" not in str(tree) and len(tree.children) == 2
    text = exported(events, "bt")
    assert read_tree(DOMAIN, text) == tree
    given = {"event": "submitted", "tree": text}
    assert recorded_tree(DOMAIN, [given, GOAL, *map(done, STEPS)]) == tree
    assert exported([given, GOAL, *map(done, STEPS)], "pddl").splitlines() == [
        "(grasp red_cube)",
        "(place_in red_cube left_tray)",
    ]


def test_the_pddl_of_a_domain_is_complete(capsys):
    assert cli.main(["export", "kitchen"]) == 0
    text = capsys.readouterr().out.replace("(domain kitchen)", "(domain whole)")
    whole = Domain.load(text)  # without notes, so that nothing is taken from elsewhere
    kitchen = Domain.load("kitchen")
    assert {n: (a.precondition, a.effects) for n, a in whole.actions.items()} == {
        n: (a.precondition, a.effects) for n, a in kitchen.actions.items()
    }
    assert {n: p.parameters for n, p in whole.predicates.items()} == {
        n: p.parameters for n, p in kitchen.predicates.items()
    }


def test_a_file_is_exported_in_every_form(tmp_path, capsys):
    record = {"success": False, "record": {"events": [GOAL, {"event": "planned", "plan": STEPS}]}}
    source, out = tmp_path / "dry.json", tmp_path / "out"
    source.write_text(json.dumps(record))
    lines = tmp_path / "task.jsonl"
    lines.write_text("\n".join(map(json.dumps, record["record"]["events"])))
    for form in FORMATS:
        assert cli.main(["export", str(source), "--plan", "--format", form]) == 0
        printed = capsys.readouterr().out
        assert "red_cube" in printed or "red cube" in printed
        assert cli.main(["export", str(lines), "--plan", "--format", form, "-o", str(out)]) == 0
        assert out.read_text() == printed and capsys.readouterr().out == f"written: {out}\n"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("{", (), "is not the record of a task"),
        ("[1]", (), "has no events of a task"),
        ('{"events": [1]}', (), "has no events of a task"),
        ('{"events": []}', (), "give --domain"),
        ('{"events": []}', ("--domain", "tabletop"), "neither carried out nor planned"),
        ('{"events": []}', ("--format", "pddl"), "neither carried out nor planned"),
        ('{"events": [{"event": "action"}]}', ("--format", "pddl"), "has another form"),
        ('{"events": [{"event": "action", "action": "a(", "code": "SUCCESS"}]}', ("--format", "pddl"), "cannot read"),
        ('{"events": [{"event": "goal", "domain": "attic", "goal": ["a()"]}]}', (), "unknown domain 'attic'"),
    ],
)
def test_what_is_no_record_of_a_task_is_refused_in_one_line(tmp_path, capsys, text, arguments, said):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert cli.main(["export", str(path), *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_an_absent_file_and_a_folder_that_cannot_be_written_are_named(tmp_path, capsys):
    assert cli.main(["export", str(tmp_path / "none.json")]) == 2
    assert "cannot read" in capsys.readouterr().err
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"events": [done(STEPS[0])]}))
    assert cli.main(["export", str(path), "--format", "pddl", "-o", str(tmp_path / "no" / "x")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_run_refuses_a_tree_beside_a_method_and_a_file_that_is_none(tmp_path, capsys):
    path = tmp_path / "tree.xml"
    path.write_text(write_tree(DOMAIN, recorded_tree(DOMAIN, [GOAL, *map(done, STEPS)])))
    assert cli.main(["run", "--tree", str(path), "--method", "classical", "x"]) == 2
    assert "leave --method out" in capsys.readouterr().err
    path.write_text("grasp(red_cube)")
    assert cli.main(["run", "--tree", str(path), "x"]) == 2
    assert "is no XML" in capsys.readouterr().err
