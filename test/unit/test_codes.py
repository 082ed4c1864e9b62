"""Codes of errors: one a class, all of them in the documents, and in what commands and tools say."""

import json
import runpy
from pathlib import Path

import pytest

from planweave.bodies.arm.failures import SkillFailureError
from planweave.cli.main import main
from planweave.core.base.errors import PlanweaveError, SceneError, UnknownNameError
from planweave.core.base.failure import Code

ROOT = Path(__file__).resolve().parents[2]


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
    assert others <= {*kinds, "ActionFailureError", "UnityError", "SkillFailureError"}


def test_the_name_of_a_code():
    assert UnknownNameError("mug", "mgu", ["mug"]).code == "unknown_name"
    assert SkillFailureError(Code.NO_GRASP, "no grasp").code == "no_grasp"
    assert SceneError("a").code == "scene"


def test_a_command_says_its_code_with_json(capsys):
    assert main(["plan", "no_such_domain.pddl", "no_such_problem.pddl", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["success"], said["code"]) == (False, "domain") and said["message"]
