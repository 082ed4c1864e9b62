"""LIBERO's simulator process and its environment: a stand-in for the failing paths, the real one where there is one."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from codes import raises_code

import planweave.libero.client as client
from planweave.cli.main import main
from planweave.core.base.errors import SystemDownError
from planweave.libero import environment
from planweave.libero.client import LiberoSimulator
from planweave.libero.server import Server

DOUBLE = Path(__file__).parents[1] / "doubles" / "libero_server.py"


def simulator(manner):
    return LiberoSimulator([sys.executable, "-u", str(DOUBLE), manner])


def test_answers_and_pictures_are_read():
    with simulator("answers") as sim:
        assert sim.suites() == {"libero_goal": 10}
        shown = sim.capture("agentview", 5, 4)
        assert shown.rgb.shape == (4, 5, 3) and (shown.rgb == [0, 1, 2]).all() and (shown.depth == 1.0).all()
        done = sim.step([[0.0] * 7])
        assert done.success and done.count == 2


def test_a_process_that_dies_is_named_with_its_last_words():
    with simulator("dies") as sim, raises_code("no_system", "out of memory"):
        sim.suites()


def test_a_process_that_hangs_is_ended_at_its_deadline(monkeypatch):
    monkeypatch.setattr(client, "STEP", 0.3)
    with simulator("hangs") as sim:
        with raises_code("no_system"):
            sim.state()
        with pytest.raises(SystemDownError):
            sim.state()


@pytest.mark.parametrize(("manner", "data"), [("babbles", ()), ("closes", ())])
def test_a_process_that_answers_no_more_is_ended(manner, data, monkeypatch):
    monkeypatch.setattr(client, "_LINGER", 0.1)
    with simulator(manner) as sim:
        with raises_code("no_system", data):
            sim.suites()
        assert not sim.alive, "the next episode must have a simulator of its own"


def test_a_refusal_has_libero_s_words():
    with simulator("refuses") as sim, raises_code("scene", "ValueError: no such thing"):
        sim.load("libero_goal/3/0")


@pytest.mark.parametrize("name", ["libero_goal", "libero_goal/x", "libero_goal/1/2/3", "libero_goal/-1"])
def test_names_of_tasks_have_a_form(name):
    with simulator("answers") as sim, raises_code("scene", f"'{name}'"):
        sim.load(name)


@pytest.mark.parametrize("action", [[0.0] * 6, [2.0] + [0.0] * 6, [float("nan")] + [0.0] * 6])
def test_actions_are_checked(action):
    with simulator("answers") as sim, raises_code("scene", "-1 to 1"):
        sim.step([action])


def test_without_the_environment_the_command_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path / "none"))
    with raises_code("not_installed", "planweave setup libero"):
        LiberoSimulator()
    assert main(["setup", "libero", "--check"]) == 1
    assert "planweave setup libero" in capsys.readouterr().err


def test_half_an_installation_and_another_version_are_told_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path))
    with raises_code("not_installed", "planweave setup libero"):
        environment.python()
    (tmp_path / "planweave-libero.json").write_text('{"packages": ["libero==0"]}')
    with raises_code("not_installed", "libero==0"):
        environment.python()


def test_a_folder_with_something_else_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path))
    (tmp_path / "thesis.tex").write_text("dear reader")
    with raises_code("configuration", "PLANWEAVE_LIBERO"):
        environment.install(lambda line: None)
    assert (tmp_path / "thesis.tex").exists()


def test_too_small_a_disk_is_said_before_anything_is_done(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path / "libero"))
    monkeypatch.setattr(environment, "INSTALLED_GB", 1e9)
    with raises_code("configuration", " GB "):
        environment.install(lambda line: None)
    assert not (tmp_path / "libero").exists()


@pytest.mark.slow
def test_an_installation_that_fails_shows_the_last_lines_and_is_not_taken_for_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANWEAVE_LIBERO", str(tmp_path / "libero"))
    monkeypatch.setattr(environment, "PACKAGES", (str(tmp_path / "no-such-package"),))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with raises_code("configuration", "code 1", "no-such-package"):
        environment.install(lambda line: None)
    with raises_code("not_installed", "planweave setup libero"):
        environment.python()


def test_the_server_needs_nothing_of_planweave():
    code = f"import runpy, sys; runpy.run_path({str(client.SERVER)!r}); print([m for m in sys.modules if 'planw' in m])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_pictures_of_one_size_are_rendered_by_one_renderer(monkeypatch):
    made = []

    class Renderer:
        def __init__(self, model, height, width):
            made.append([model, width, height, "open"])
            self.close = lambda row=made[-1]: row.__setitem__(3, "closed")

    monkeypatch.setitem(sys.modules, "mujoco", SimpleNamespace(Renderer=Renderer))
    server = Server()
    first = server._renderer("scene", 64, 48)
    assert server._renderer("scene", 64, 48) is first and made == [["scene", 64, 48, "open"]]
    assert server._renderer("scene", 32, 24) is not first
    assert made == [["scene", 64, 48, "closed"], ["scene", 32, 24, "open"]]
    server.close()  # as before another task is loaded
    assert made[1][3] == "closed" and server._renderer("other", 32, 24) and made[2] == ["other", 32, 24, "open"]
