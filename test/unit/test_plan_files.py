"""Plan files as planners and people write them."""

import kairos
import pytest
from codes import raises_code

from planweave.core.symbolic.plan import load_plan, read_plan

TWO = [("pick-up", "a"), ("stack", "a", "b-1")]
FORMS = {
    "Fast Downward": "(pick-up a)\n(stack a b-1)\n; cost = 2 (unit cost)\n",
    "VAL": "0: (pick-up a) [1]\n1: (stack a b-1) [1]\n",
    "temporal": "0.000: (pick-up a) [1.000]\n1.001: (stack a b-1) [1.000]",
    "LPG": "; Version LPG-td-1.4\n0:   (PICK-UP A) [D:1.00; C:0.10]\n1:   (STACK A B-1) [D:1.00; C:0.10]",
    "FF": "step    0: PICK-UP A\n        1: STACK A B-1\n",
    "ENHSP": "0.0: (pick-up a)\n1.0: (stack a b-1)\n",
    "one line": "(pick-up a) (stack a b-1) ; both\n",
    "ours": "pick-up(a); stack(a, b-1)",
    "ours, numbered": "1. pick-up(a)\n2. stack(a, b-1)",
    "comments": "\ufeff; plan\r\n\r\n  ( pick-up  a ) ; first\r\n\t(stack a b-1);last\r\n;end",
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_steps(name):
    steps, lines = read_plan(FORMS[name])
    assert [tuple(w.lower() for w in (s.name, *s.args)) for s in steps] == TWO
    shown = FORMS[name].splitlines()
    assert all("pick" in shown[lines[0] - 1].lower() for _ in [0]) and "stack" in shown[lines[1] - 1].lower()


def test_what_kairos_writes_is_read():
    domain = kairos.parse_domain(
        "(define (domain d) (:requirements :strips :action-costs) (:predicates (p) (q)) (:functions (total-cost))"
        " (:action a-1 :parameters () :precondition (p) :effect (and (q) (increase (total-cost) 3))))"
    )
    problem = kairos.parse_problem(
        "(define (problem x) (:domain d) (:init (p) (= (total-cost) 0)) (:goal (q)) (:metric minimize (total-cost)))",
        domain,
    )
    written = str(kairos.Planner().solve(problem, timeout=20.0, search="ff", anytime=False).plan)
    assert [str(step) for step in read_plan(written)[0]] == ["a-1()"]


@pytest.mark.parametrize("text", ["", "; nothing to do\n", "\n\n"])
def test_an_empty_plan_is_a_plan(text):
    assert read_plan(text) == ((), ())


@pytest.mark.parametrize(
    "text, code, line",
    [
        ("(pick-up a)\n(stack a", "syntax", 2),
        ("found legal plan as follows", "syntax", 1),
        ("pick-up(a)\npick-up(a", "syntax", 2),
        ("pick-up(a); and so on", "syntax", 1),
        ("(pick-up a) and then", "syntax", 1),
        ("0: (a)\n\n0.5: -----waiting---- [1.0]", "syntax", 3),
        ("()", "syntax", 1),
        ("(a (b))", "syntax", 1),
        ("1: (a)\n0: (b)", "plan-order", 2),
        ("(a)\n" * 100_001, "too-long", 100_001),
    ],
)
def test_a_text_that_is_no_plan_is_refused_with_its_place(text, code, line):
    with raises_code(code, f"file.plan:{line}:1: ") as caught:
        read_plan(text, "file.plan")
    assert caught.value.line == line


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path):
    with raises_code("configuration", "missing.plan"):
        load_plan(tmp_path / "missing.plan")
    (tmp_path / "binary.plan").write_bytes(b"\xff\xfe\x00(")
    with raises_code("configuration", "binary.plan"):
        load_plan(tmp_path / "binary.plan")
