"""Parts of installed packages: what works is found, what does not is named with its package and left out."""

import importlib
import os
import subprocess
import sys

import pytest

from planweave.cli import doctor
from planweave.core.errors import MissingExtraError, UnknownNameError
from planweave.core.plugins import PluginError, Registry
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
    "error of ours": ("from planweave.core.errors import ConfigError\nraise ConfigError('no key')", "Method", "no key"),
    "no class": ("Method = 3", "Method", "a method is a dataclass of its options with run"),
    "no dataclass": ("class Method:\n    def run(self, e): pass", "Method", "a method is a dataclass of its options"),
    "no run": (GOOD.replace("run", "walk"), "Method", "a method is a dataclass of its options with run"),
    "questions": (GOOD + "    questions = ['why']", "Method", "questions is no planweave.methods.question.Questions"),
}


@pytest.mark.parametrize(("source", "what", "said"), BROKEN.values(), ids=BROKEN)
def test_a_part_that_cannot_be_used_is_named_with_its_package_and_left_out(package, caplog, source, what, said):
    package("bad-robot", source, {"broken": what})
    package("good-robot", GOOD, {"mine": "Method"})
    found = methods()
    assert set(found.working()) == {*OURS, "mine"}
    (problem,) = found.problems()
    assert problem.startswith("the method 'broken' of the package bad-robot cannot be used (bad_robot:")
    assert said in problem and problem.endswith("; mend the package, or: pip uninstall bad-robot")
    assert [record.message for record in caplog.records] == [problem], "said once"
    assert "broken" not in found and "broken" not in list(found) and found.get("broken") is None
    with pytest.raises(PluginError, match="bad-robot"):
        found["broken"]
    assert found["mine"]().steps == 3


def test_a_part_of_ours_says_itself_what_is_missing(package, monkeypatch):
    source = "from planweave.core.errors import MissingExtraError\nraise MissingExtraError('it', 'vision')"
    package("extra-part", source, {"extra": "Method"})
    monkeypatch.setattr("planweave.core.plugins.OURS", "extra-part")
    with pytest.raises(MissingExtraError, match="vision"):
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
    with pytest.raises(UnknownNameError, match="did you mean 'my_method'"):
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
