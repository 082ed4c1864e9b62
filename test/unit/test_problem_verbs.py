"""The verbs plan and check on PDDL files, and goals of any formula in the library."""

import json
from pathlib import Path

import pytest

import planweave as pw
from planweave.api import FormulaGoalError
from planweave.cli.main import main

DOMAIN = """(define (domain Ferry) (:requirements :adl :action-costs)
 (:types car-x place) (:constants HOME - place)
 (:predicates (at-ferry ?p - place) (at ?c - car-x ?p - place) (on ?c - car-x) (empty) (busy))
 (:functions (total-cost) - number)
 (:derived (busy) (exists (?c - car-x) (on ?c)))
 (:action sail :parameters (?a ?b - place) :precondition (at-ferry ?a)
  :effect (and (at-ferry ?b) (not (at-ferry ?a)) (increase (total-cost) 5)))
 (:action board :parameters (?c - car-x ?p - place) :precondition (and (at ?c ?p) (at-ferry ?p) (not (busy)))
  :effect (and (on ?c) (not (at ?c ?p)) (increase (total-cost) 1)))
 (:action debark :parameters (?c - car-x ?p - place) :precondition (and (on ?c) (at-ferry ?p))
  :effect (and (at ?c ?p) (not (on ?c)) (increase (total-cost) 1))))"""
PROBLEM = """(define (problem two) (:domain ferry) (:objects c-1 C2 - car-x far - place)
 (:init (at c-1 far) (at C2 home) (at-ferry home) (= (total-cost) 0))
 (:goal (forall (?c - car-x) (at ?c home))) (:metric minimize (total-cost)))"""
PLAN = "; by hand\n0: (SAIL HOME FAR) [5]\n1: (BOARD C-1 FAR)\n2: (SAIL FAR HOME)\n3: (DEBARK C-1 HOME)\n"


@pytest.fixture
def files(tmp_path):
    made = {"domain": DOMAIN, "problem": PROBLEM, "plan": PLAN}
    for name, text in made.items():
        (tmp_path / name).with_suffix(".pddl").write_text(text)
    return [str((tmp_path / name).with_suffix(".pddl")) for name in made]


def changed(files, old, new):
    text = Path(files[2]).read_text()
    assert old in text
    Path(files[2]).write_text(text.replace(old, new))


def test_a_problem_is_planned_and_its_plan_checked(files, capsys):
    assert main(["plan", *files[:2]]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "(sail HOME far)",
        "(board c-1 far)",
        "(sail far HOME)",
        "(debark c-1 HOME)",
        "; 4 steps, cost 12",
    ]
    Path(files[2]).write_text(printed)
    assert main(["check", *files]) == 0
    assert capsys.readouterr().out.startswith("valid: 4 steps, cost 12")


def test_json_has_plan_cost_and_verdict(files, capsys):
    assert main(["plan", "--json", *files[:2]]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["success"] and found["steps"] == 4 and found["cost"] == 12.0 and found["plan"][0] == "(sail HOME far)"
    assert main(["check", "--json", *files]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["success"] and found["cost"] == 12.0 and found["failed_step"] is None and found["causes"] == []


def test_a_failing_step_has_its_place_the_step_that_broke_it_and_what_would_mend_it(files, capsys):
    changed(files, "1: (BOARD C-1 FAR)\n", "1: (SAIL FAR HOME)\n1: (BOARD C-1 FAR)\n")
    assert main(["check", "--json", *files]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["failed_step"], found["line"], found["action"]) == (3, 4, "(board c-1 far)")
    assert found["causes"] == [
        {
            "needs": "at-ferry(far)",
            "deleted_by": {"step": 2, "action": "(sail far HOME)"},
            "achieved_by": ["sail(?a, far)"],
        }
    ]
    assert main(["check", *files]) == 1
    assert "deleted by step 2, (sail far HOME); achieved by sail(?a, far)" in capsys.readouterr().out


def test_a_derived_condition_is_explained_by_what_it_follows_from(files, capsys):
    changed(files, "0: (SAIL HOME FAR) [5]\n", "0: (BOARD C2 HOME)\n0: (SAIL HOME FAR) [5]\n")
    assert main(["check", "--json", *files]) == 1
    found = json.loads(capsys.readouterr().out)
    (cause,) = found["causes"]
    assert cause["needs"] == "not on(C2)" and cause["deleted_by"]["step"] == 1
    assert cause["achieved_by"] == ["debark(C2, ?p)"]


def test_a_goal_that_is_not_reached_is_named(files, capsys):
    changed(files, "3: (DEBARK C-1 HOME)\n", "")
    assert main(["check", "--json", *files]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["failed_step"] is None and [c["needs"] for c in found["causes"]] == ["at(c-1, HOME)"]
    changed(files, PLAN.replace("3: (DEBARK C-1 HOME)\n", ""), "")
    assert main(["check", *files]) == 1


def test_what_cannot_be_reached_is_no_plan_with_a_proof(files, capsys, tmp_path):
    (tmp_path / "problem.pddl").write_text(
        PROBLEM.replace("(forall", "(and (empty) (forall").replace("))) (:m", ")))) (:m")
    )
    assert main(["plan", "--json", *files[:2]]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (
        not found["success"]
        and (found["error"], found["code"]) == ("NoPlanError", "no_plan")
        and found["proved"] is True
    )
    assert main(["plan", *files[:2]]) == 1
    assert "empty()" in capsys.readouterr().err


@pytest.mark.parametrize(
    "which, text, said",
    [
        (2, "(sail home", "plan.pddl:1:1: "),
        (1, PROBLEM.replace(":domain ferry", ":domain other"), "problem.pddl:1:"),
        (0, DOMAIN.replace(":action sail", ":durative-action sail"), "domain.pddl:6:"),
        (0, "", "domain.pddl:1:1: "),
    ],
)
def test_a_file_with_an_error_is_named_with_its_place(files, capsys, which, text, said):
    Path(files[which]).write_text(text)
    assert main(["check", *files]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out
    assert main(["check", "--json", *files]) == 2
    found = json.loads(capsys.readouterr().out)
    place = f"{Path(files[which]).name}:{found['line']}:{found['column']}: "
    assert not found["success"] and found["code"] and said in found["message"] and found["message"].startswith(place)


@pytest.mark.parametrize("which", range(3))
def test_a_file_that_is_no_utf_8_is_named_with_the_place(files, capsys, which):
    path = Path(files[which])
    path.write_bytes(path.read_bytes().replace(b"\n", b" ; caf\xe9\n", 1))
    assert main(["check", *files]) == 2
    at = path.read_bytes().index(b"\xe9") + 1
    assert f"{path.name}:1:{at}: " in capsys.readouterr().err


def test_a_byte_order_mark_line_ends_of_windows_and_other_endings_of_names(files, tmp_path, capsys):
    for path in map(Path, files):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        path.rename(tmp_path / path.stem)
    assert main(["check", *(str(tmp_path / Path(name).stem) for name in files)]) == 0
    assert capsys.readouterr().out.startswith("valid: 4 steps, cost 12")


def test_files_that_are_not_there_and_times_that_are_none(files, capsys):
    assert main(["plan", files[0], "missing.pddl"]) == 2
    assert main(["check", *files[:2], "missing.plan"]) == 2
    assert main(["plan", "--timeout", "0", *files[:2]]) == 2
    assert "missing.pddl" in capsys.readouterr().err


@pytest.fixture
def problem():
    return pw.Problem.load(pw.Domain.load(DOMAIN, replace=True), PROBLEM)


@pytest.mark.parametrize(
    "goal",
    [
        "(or (at c-1 home) (on C2))",
        "(exists (?c - car-x) (on ?c))",
        "(imply (at-ferry home) (busy))",
        "(and (busy) (not (= c-1 c2)) (at-ferry far))",
        "busy()",
    ],
)
def test_any_formula_is_planned_checked_and_run(problem, goal):
    domain, world = problem.domain, problem.world
    plan = pw.plan(domain, world, goal)
    assert len(plan) and pw.check(domain, world, plan, goal).ok and not pw.check(domain, world, [], goal).ok
    body = pw.SymbolicBody(domain, world)
    done = pw.run(body=body, method="classical", model="none", goal=goal, timeout=60.0)
    assert done.success and pw.check(domain, world, body.done, goal).ok


def test_a_formula_goal_that_comes_true_by_itself_needs_no_plan(problem):
    assert len(pw.plan(problem.domain, problem.world, "(and)")) == 0
    assert pw.check(problem.domain, problem.world, [], "(and)").ok
    impossible = pw.check(problem.domain, problem.world, [], "(or)")
    assert not impossible.ok and impossible.causes
    with pytest.raises(pw.NoPlanError) as caught:
        pw.plan(problem.domain, problem.world, "(or)")
    assert caught.value.proved


def test_without_a_method_a_formula_is_for_classical(problem):
    body = pw.SymbolicBody(problem.domain, problem.world)
    assert pw.run(body=body, model="none", goal=problem.goal, timeout=60.0).success


@pytest.mark.parametrize(
    "options",
    [{"method": "zero_shot"}, {"method": "classical", "fallback": "tree_planner"}, {"options": {"samples": 2}}],
)
def test_a_method_with_prompts_refuses_a_formula_by_its_code(problem, options):
    body = pw.SymbolicBody(problem.domain, problem.world)
    with pytest.raises(FormulaGoalError) as caught:
        pw.run(body=body, model="none", goal=problem.goal, **options)
    assert caught.value.code == "formula_goal" and isinstance(caught.value, pw.GoalError)
    assert caught.value.method in options.get("fallback", options.get("method", "tree_planner"))


def test_an_approver_reads_what_a_plan_does_without_notes(problem):
    shown = []
    body = pw.SymbolicBody(problem.domain, problem.world)
    done = pw.run(
        body=body,
        method="classical",
        model="none",
        goal="at(c-1, home)",
        approve=lambda status: bool(shown.append(status.plan_words)) or True,
        timeout=60.0,
    )
    assert done.success and "sail(HOME, far)" in shown[0]


@pytest.mark.parametrize(
    ("sentence", "code", "told"),
    [
        ("put the cup in the left tray", 0, {"goal": ["in(cup, left_tray)"], "source": "grammar", "success": True}),
        ("put the red cube in the left tray, then put the cup in it", 0, {"before": [["in(red_cube, left_tray)"]]}),
        ("where is the cup?", 0, {"goal": [], "answer": "The cup is on the red cube"}),
        ("put the cup in the tray", 4, {"code": "ambiguous", "success": False}),
        ("grombel the frotz", 1, {"code": "goal", "success": False}),
    ],
)
def test_a_sentence_is_read_in_the_world_of_a_file(tmp_path, capsys, sentence, code, told):
    world = tmp_path / "world.txt"
    world.write_text("# mine\nred_cube, cup: item\nleft_tray, right_tray: container\non(cup, red_cube)\n")
    assert main(["read", "--world", str(world), "--json", sentence]) == code
    said = json.loads(capsys.readouterr().out)
    assert {key: said[key] for key in told} == told, said
    assert code == 1 or main(["read", "--world", str(world), sentence]) == code


def test_a_world_of_a_problem_and_one_that_is_missing(tmp_path, capsys):
    problem = "(define (problem p) (:domain tabletop) (:objects mug - item plate - surface) (:goal (on mug plate)))"
    (tmp_path / "p.pddl").write_text(problem)
    assert main(["read", "--world", str(tmp_path / "p.pddl"), "put the mug on the plate"]) == 0
    assert "on(mug, plate)" in capsys.readouterr().out
    assert main(["read", "--domain", "household", "put the mug on the table"]) == 2
