"""Codes of errors: one a class, all of them in the documents, and in what commands and tools say."""

import ast
import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from doubles.syntax import nodes

from planweave.bodies.arm.failures import SkillFailureError
from planweave.cli.main import main
from planweave.core.base.errors import PlanweaveError, SceneError, UnknownNameError
from planweave.core.base.failure import Code

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codes", "messages"])
def test_the_tables_in_the_documents_are_made_of_the_code(name):
    tool = runpy.run_path(str(ROOT / "tools" / f"{name}.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), f"run: python tools/{name}.py"


def classes(root):
    return [root, *(below for child in root.__subclasses__() for below in classes(child))]


def test_every_error_has_a_code_of_its_own_or_says_how_an_action_failed():
    ours = [
        c for c in classes(PlanweaveError) if c.__module__.startswith("planweave") and not c.__name__.startswith("_")
    ]
    own = [c.__dict__["code"] for c in ours if "code" in c.__dict__]
    others = {c.__name__ for c in ours if "code" not in c.__dict__}
    assert len(own) == len(set(own)) > 30
    kinds = {"PddlError", "PolicyError"}  # of mistakes
    assert others <= {*kinds, "ActionFailureError", "UnityError", "SkillFailureError", "NoResultError"}


def test_no_error_is_of_the_root_alone():
    """Its code would say no more than that something failed."""
    raised = [
        f"{path}:{node.lineno}"
        for folder in ("planweave", "planweave_ros", *(each.name for each in ROOT.glob("*_node")))
        for path in (ROOT / folder).rglob("*.py")
        for node in nodes(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and ast.unparse(node).startswith("raise PlanweaveError(")
    ]
    assert not raised, "\n".join(raised)


def test_the_name_of_a_code():
    assert UnknownNameError("mug", "mgu", ["mug"]).code == "unknown_name"
    assert SkillFailureError(Code.NO_GRASP, "no grasp").code == "no_grasp"
    assert SceneError("a").code == "scene"


def test_a_command_says_its_code_with_json(capsys):
    assert main(["plan", "no_such_domain.pddl", "no_such_problem.pddl", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["success"], said["code"]) == (False, "domain") and said["message"]


#: How often tests still compare what an error or an outcome says, by folder. These bounds only sink (raises_code).
MATCHED: dict[str, int] = {}
PHRASES = {"unit": 9}  # where a text is what the code under test makes, or a rule that a person gave
PHRASE = re.compile(r"(?<![\w'\"/-])[a-z]+ [a-z]+ [a-z]+(?![\w/(=.-])")


def compared(node):
    """The text that an expression looks for in a message, '' if it does not."""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))):
        return ""
    said = ast.unparse(node.comparators[0])
    texts = (n.value for n in ast.walk(node.left) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return " … ".join(texts) if re.search(r"(\bmessage|\breason|\.error)$|^str\(|^said$", said) else ""


def test_tests_assert_on_codes_and_not_on_what_errors_say():
    matched, phrases = Counter(), Counter()
    for path in (ROOT / "test").rglob("*.py"):
        folder = path.relative_to(ROOT / "test").parts[0]
        for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
            phrases[folder] += bool(PHRASE.search(compared(node)))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "raises":
                matched[folder] += any(keyword.arg == "match" for keyword in node.keywords)
    assert matched <= Counter(MATCHED), "take raises_code: with raises_code(code, *data)"
    assert phrases <= Counter(PHRASES), "assert on a code or a field, or on the names and numbers of the message"
