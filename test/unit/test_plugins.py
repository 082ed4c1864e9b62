"""Parts of installed packages: what works is found, what does not is named with its package and left out."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from codes import raises_code

import planweave as pw
from planweave import methods as methods_room
from planweave.bench.parameters import names_of, parse_method
from planweave.bodies import BODIES
from planweave.bodies import _wrong as wrong_body
from planweave.bodies.arm.skills import door
from planweave.cli import doctor
from planweave.core.base.plugins import Registry
from planweave.core.base.usage import Usage
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.methods import METHODS, _wrong

OURS = frozenset(METHODS)  # listed before any test adds a package
GOOD = """
from dataclasses import dataclass

@dataclass
class Method:
    steps: int = 3

    def run(self, episode):
        pass
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes an installed package: a module, and a dist-info folder with its entry points; nothing of pip."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def install(name, source, entries, group="planweave.methods", metadata=True):
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        if metadata:
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        rows = "\n".join(f"{part} = {module}:{what}" for part, what in entries.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{rows}\n")
        made.append(module)
        importlib.invalidate_caches()

    yield install
    for module in made:
        sys.modules.pop(module, None)


def methods():
    """The methods as a process that begins now finds them."""
    return Registry("planweave.methods", "method", _wrong)


def test_a_part_of_another_package_is_found(package):
    package("good-robot", GOOD, {"mine": "Method"})
    found = methods()
    assert set(found) == {*OURS, "mine"} and len(found) == len(OURS) + 1
    assert found["mine"]().steps == 3 and found.package_of("mine") == "good-robot"
    assert found.package_of("iterative") == "planweave" and found.problems() == []


def test_listing_the_names_loads_nothing(package):
    package("loud", "raise RuntimeError('loaded')", {"loud": "Method"})
    found = methods()
    assert "loud" in found and "loud" in list(found) and len(found) == len(OURS) + 1
    assert found.get("quiet", 7) == 7 and "loud" not in sys.modules


BROKEN = {
    "import error": ("import no_such_module_here", "Method", "ModuleNotFoundError: No module named 'no_such_module"),
    "attribute": (GOOD, "Methods", "AttributeError"),
    "syntax": ("def f(:", "Method", "SyntaxError"),
    "exit": ("import sys\nsys.exit(3)", "Method", "SystemExit: 3"),
    "error of ours": (
        "from planweave.core.base.errors import ConfigError\nraise ConfigError('no key')",
        "Method",
        "no key",
    ),
    "no class": ("Method = 3", "Method", "a method is a dataclass of its options with run"),
    "no dataclass": ("class Method:\n    def run(self, e): pass", "Method", "a method is a dataclass of its options"),
    "no run": (GOOD.replace("run", "walk"), "Method", "a method is a dataclass of its options with run"),
    "no prompts": (
        GOOD.replace("\n@", "\nfrom planweave.methods.language.question import Questions\n@")
        + "    questions = Questions(sample={'mine': '/no/such/folder'})",
        "Method",
        "there is no prompt file /no/such/folder/sample_system.txt",
    ),
    "questions": (
        GOOD + "    questions = ['why']",
        "Method",
        "questions is not a planweave.methods.language.question.Questions",
    ),
}


@pytest.mark.parametrize(("source", "what", "said"), BROKEN.values(), ids=BROKEN)
def test_a_part_that_cannot_be_used_is_named_with_its_package_and_left_out(package, caplog, source, what, said):
    package("bad-robot", source, {"broken": what})
    package("good-robot", GOOD, {"mine": "Method"})
    found = methods()
    assert set(found.working()) == {*OURS, "mine"}
    (problem,) = found.problems()
    assert problem.startswith("the method 'broken' of the package bad-robot cannot be used (bad_robot:")
    assert said in problem and problem.endswith("; fix the package, or: pip uninstall bad-robot")
    assert [record.message for record in caplog.records] == [problem], "said once"
    assert "broken" not in found and "broken" not in list(found) and found.get("broken") is None
    with raises_code("plugin", "bad-robot"):
        found["broken"]
    assert found["mine"]().steps == 3


def test_a_part_of_ours_says_itself_what_is_missing(package, monkeypatch):
    source = "from planweave.core.base.errors import MissingExtraError\nraise MissingExtraError('it', 'vision')"
    package("extra-part", source, {"extra": "Method"})
    monkeypatch.setattr("planweave.core.base.plugins.OURS", "extra-part")
    with raises_code("missing_extra", "planweave[vision]"):
        methods()["extra"]


def test_a_name_that_is_taken_stays_with_planweave_or_the_first_package(package, caplog):
    package("zebra", GOOD, {"mine": "Method", "iterative": "Method"})
    package("ant", GOOD, {"mine": "Method"})
    found = methods()
    assert found["iterative"] is METHODS["iterative"] and found.package_of("mine") == "ant"
    assert found.problems() == [
        "the method 'iterative' of the package zebra is left out: planweave has one of this name; give it another name",
        "the method 'mine' of the package zebra is left out: ant has one of this name; give it another name",
    ]
    assert [record.message for record in caplog.records] == found.problems(), "said once"


def test_a_package_without_metadata_takes_nothing_from_the_others(package):
    package("nameless", GOOD, {"mine": "Method"}, metadata=False)
    package("good-robot", GOOD, {"yours": "Method"})
    found = methods()
    assert set(found.working()) == {*OURS, "mine", "yours"}
    assert (found.package_of("mine"), found.package_of("yours")) == ("?", "good-robot")


def test_an_unknown_name_is_answered_with_the_nearest(package):
    package("good-robot", GOOD, {"my_method": "Method"})
    with raises_code("unknown_name", "'my_method'"):
        methods()["my_methods"]


def test_the_doctor_names_what_cannot_be_used(package, monkeypatch):
    package("bad-robot", "import no_such_module_here", {"broken": "Method"})
    package("bad-client", "1 / 0", {"own": "client"}, "planweave.clients")
    monkeypatch.setattr("planweave.methods.METHODS", methods())
    monkeypatch.setattr("planweave.llm.clients.CLIENTS", Registry("planweave.clients", "client"))
    one, two = doctor.check_plugins()
    assert (one.name, one.state, two.name, two.state) == ("methods", "warning", "clients", "warning")
    assert "bad-robot" in one.text and "bad-client" in two.text and "ZeroDivisionError" in two.text
    assert one.details["problems"] == [one.text]


def test_the_doctor_names_the_parts_of_other_packages(package, monkeypatch):
    (none,) = doctor.check_plugins()
    assert none.state == "ok" and "good-robot" not in none.text
    package("good-robot", GOOD, {"mine": "Method"})
    monkeypatch.setattr("planweave.methods.METHODS", methods())
    (finding,) = doctor.check_plugins()
    assert finding.state == "ok" and "method mine (good-robot)" in finding.text


def test_a_broken_method_does_not_keep_feedback_node_from_starting(package, tmp_path):
    package("bad-robot", "import no_such_module_here", {"broken": "Method"})
    code = "from feedback_node.node import PARAMETERS; print(PARAMETERS[0].choices)"
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "'iterative'" in done.stdout and "broken" not in done.stdout and "bad-robot" in done.stderr


# ---- what an installed part can do

SAMPLING = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from planweave.core.base.parameter import option
from planweave.methods.language.question import Questions


@dataclass
class Method:
    questions: ClassVar[Questions] = Questions(sample={"mine": Path(__file__).parent / "my_prompts"})
    samples: int = option(2, "plans", 1, 9)

    def run(self, episode):
        found = episode.planner.generate_plans(episode.sentence, episode.observe(), samples=self.samples, method="mine")
        episode.follow(found.plans[0].actions)
"""
FAULTY = """
import planweave as pw


def body():
    domain = pw.Domain.load("tabletop")
    made = pw.SymbolicBody(domain, domain.world("cup: item; tray: container", facts=["on(cup, table)"]))
    made.execute = lambda action, **_: 1 / 0
    return made


def broken():
    return 1 / 0


def half():
    return 3
"""


@pytest.fixture
def installed(package, tmp_path, monkeypatch):
    """Registries as a process finds them that begins after `package` has installed something."""

    def find():
        monkeypatch.setattr(METHODS, "_loaded", {})
        monkeypatch.setattr(METHODS, "_broken", {})
        for registry in (METHODS, BODIES):
            monkeypatch.setitem(registry.__dict__, "_entries", Registry(registry.group, registry.kind)._entries)
        methods_room.questions.cache_clear()

    yield find
    methods_room.questions.cache_clear()


class Model:
    """Gives one plan to every question and keeps what it was asked."""

    endpoint, model, capabilities = "scripted", "scripted", Capabilities(True, True, True)
    asked = ""

    def complete(self, request):
        self.asked = request.messages[0]["content"]
        plan = json.dumps({"plan": ["grasp(cup)", "place_in(cup, tray)"]})
        return ChatReplies((ChatReply(plan),) * request.n, Usage(1, 100, 0, 20))

    def close(self):
        """Nothing is held."""


def cup_and_tray():
    domain = pw.Domain.load("tabletop")
    return pw.SymbolicBody(domain, domain.world("cup: item; tray: container", facts=["on(cup, table)"]))


def test_a_method_samples_plans_by_the_prompts_of_its_own_package(package, installed, tmp_path):
    (tmp_path / "my_prompts").mkdir()
    (tmp_path / "my_prompts" / "sample_system.txt").write_text("My own words. $actions $objects $observation")
    (tmp_path / "my_prompts" / "sample_user.txt").write_text("Do: $task")
    package("good-robot", SAMPLING, {"mine": "Method"})
    installed()
    model = Model()
    result = pw.run("put the cup in the tray", body=cup_and_tray(), method="mine", model=model, fallback="")
    assert result.success, result.message
    assert model.asked.startswith("My own words. ") and "grasp(i: item)" in model.asked


def test_an_installed_method_is_in_the_list_of_the_doctor_and_in_the_bakeoff(package, installed, tmp_path):
    (tmp_path / "my_prompts").mkdir()
    for name in ("sample_system.txt", "sample_user.txt"):
        (tmp_path / "my_prompts" / name).write_text("$task")
    package("good-robot", SAMPLING, {"mine": "Method"})
    package("bad-robot", "1 / 0", {"broken": "Method"})
    installed()
    can = {"n": True, "json_schema": True, "logprobs": False, "only_steps": False}
    questions = [
        {"kind": "plans", "method": name, "state": "right", "text": "", "code": ""} for name in (*OURS, "mine")
    ]
    listed = doctor.methods_for({"capabilities": can, "questions": questions})
    assert listed["mine"].text == "works, without log-probabilities (ranked by number of samples alone)"
    assert listed.keys() == {*OURS, "mine"} and listed["base_llm"].state == "works"
    assert doctor.methods_for(None)["mine"].state == "not"
    assert parse_method("mine:samples=3")[:2] == ("mine", {"samples": 3})
    assert set(names_of(["all"])) == {*OURS, "mine"}, "what is broken is left out"
    with raises_code("unknown_name", "mine", "'sample'", "'samples'"):
        parse_method("mine:sample=3")
    with raises_code("plugin", "bad-robot"):
        names_of(["broken"])


def test_a_body_with_a_fault_ends_its_task_alone(package, installed):
    package("bad-body", FAULTY, {"faulty": "body", "broken": "broken", "half": "half"}, "planweave.bodies")
    installed()
    result = pw.run("put the cup in the tray", body="faulty", method="classical", model="none")
    assert result.state is pw.TaskState.FAILED and "ZeroDivisionError" in result.message
    assert pw.run("put the cup in the tray", body=cup_and_tray(), method="classical", model="none").success
    with raises_code("plugin", "'broken'", "bad-body", "ZeroDivisionError"):
        pw.run("put the cup in the tray", body="broken", model="none")
    with raises_code("plugin", "'half'", "bad-body", "body=3"):
        pw.run("put the cup in the tray", body="half", model="none")
    with raises_code("unknown_name", "'fualty'", "'faulty'"):
        pw.run("put the cup in the tray", body="fualty", model="none")


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("import sys\n\n\ndef mine(text):\n    sys.exit(3)\n", ("'mine:fast'", "bad-skill", "SystemExit: 3")),
        ("def mine(text):\n    return 1 / 0\n", ("'mine:fast'", "bad-skill", "ZeroDivisionError")),
        ("def mine(text):\n    return text\n", ("'mine:fast'", "bad-skill", "planned, can, run")),
    ],
)
def test_a_skill_of_a_package_that_cannot_be_made_is_told_with_its_package(package, monkeypatch, source, data):
    package("bad-skill", source, {"mine": "mine"}, "planweave.skills")
    monkeypatch.setattr(door, "SKILLS", Registry("planweave.skills", "skill"))
    with raises_code("plugin", data):
        door.make_lists({"push_aside": ["mine:fast"]})


def test_a_body_of_ours_by_its_name():
    assert pw.run("go to the kitchen", body="home", method="classical", model="none").success
    assert wrong_body(3) == "a body is offered by what makes it: a class or a function without arguments"


def test_a_robot_of_a_package_is_one_file_and_a_wrong_one_is_told_with_its_line(package, monkeypatch, tmp_path):
    from pathlib import Path

    from planweave import robots

    ours = (Path(robots.__file__).parent / "fr3.yaml").read_text()
    (tmp_path / "good.yaml").write_text(ours.replace("title: Franka Research 3", "title: Another"))
    (tmp_path / "bad.yaml").write_text(ours.replace("effort: 87.0", "effort: strong", 1))
    source = "import pathlib\nHERE = str(pathlib.Path(__file__).parent)\n"
    package("pw-robots", source, {"good": "HERE", "bad": "HERE", "gone": "HERE"}, group="planweave.robots")
    monkeypatch.setattr(robots, "ROBOTS", Registry("planweave.robots", "robot"))
    robots.load_robot.cache_clear()
    try:
        assert {"fr3", "good", "bad"} <= set(robots.robot_names())
        good = robots.load_robot("good")
        assert (good.name, good.title, good.count) == ("good", "Another", 7)
        with raises_code("configuration", "bad.yaml:9: joints[0].effort", "strong"):
            robots.load_robot("bad")
        with raises_code("plugin", "'gone'", "pw-robots", "gone.yaml"):
            robots.load_robot("gone")
        (finding,) = (f for f in doctor.check_plugins() if f.name == "robots")
        assert "bad.yaml:9" in finding.text and "'gone'" in finding.text and finding.state == "warning"
    finally:
        robots.load_robot.cache_clear()
