"""The console's parts that need no ROS: arguments, environment, goals, pictures, what people read."""

import contextlib
import io
import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from codes import raises_code
from doubles.environment import python_path
from rich.console import Console

from planweave.cli import demo, doctor
from planweave.cli import main as cli
from planweave.cli.demo import draw_tree, transcript
from planweave.cli.progress import MARKS, Progress, details, done_lines, summary, tree_view
from planweave.cli.results import read_goal, status_json
from planweave.cli.status import _table
from planweave.core.base.paths import config_dir
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.action_tree import Status, TreeRow, as_json, children_of, with_fallback
from planweave.core.workflow.task_status import TaskState, TaskStatus, usage_text
from planweave.launcher.environment import ros_environment

ROWS = (
    TreeRow(0, -1, "", 0, 25, Status.UNTRIED),
    TreeRow(1, 0, "grasp(red_cube)", 1, 15, Status.FAILED),
    TreeRow(2, 1, "place_in(red_cube, left_tray)", 2, 15, Status.INVALID),
    TreeRow(3, 2, "[END]", 3, 15, Status.INVALID),
    TreeRow(4, 0, "grab_and_putin(red_cube, left_tray)", 1, 8, Status.DONE),
    TreeRow(5, 4, "[END]", 2, 8, Status.DONE),
    TreeRow(6, 0, "grasp(blue_cube)", 1, 2, Status.UNTRIED),
)
STATUS = TaskStatus(
    "task-1",
    "put the red cube in the left tray",
    "tree_planner",
    TaskState.RUNNING,
    "acting",
    goal=(Literal("in", ("red_cube", "left_tray")),),
    goal_source="grammar",
    action=Action("grasp", ("red_cube",)),
    steps=2,
    executed=1,
    corrections=1,
    usage=Usage(3, 900, 600, 80, 2.5, None, "smol", "embedded"),
    elapsed=4.2,
)


def text_of(renderable, width=160):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def test_states_before_and_what_is_kept_have_lines_of_their_own():
    steps = ((Literal("holding", ("pear",)),), (Literal("on", ("pear", "plate")), Literal("hand_empty", ())))
    lines = details(replace(STATUS, before=steps, reached=1, keep=(Literal("at", ("mug", "table")),)))
    assert "before 1 of 2 states reached: holding(pear); then on(pear, plate) and hand_empty()" in lines
    assert "kept   at(mug, table)" in lines
    assert not [line for line in details(STATUS) if line.startswith(("before", "kept"))]


# Arguments


def test_help_of_every_verb_has_examples_and_needs_no_ros():
    code = (
        "import sys, contextlib, io\nfrom planweave.cli import main as cli\n"
        "for verb in cli.VERBS:\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):\n"
        "        cli.main([verb, '--help'])\n"
        "    assert 'examples:' in out.getvalue(), verb\n"
        "assert not {'rclpy', 'rich', 'numpy', 'mujoco'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "VERB"),
        (["frob"], "invalid choice: 'frob'"),
        (["run", "x", "--timeout", "soon"], "invalid float value: 'soon'"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["run"], "nothing to do", 1),
        (["run", "--goal", "in(red_cube"], "write it like", 1),
        (["run", "--goal", "in(red_cube, left_tray)", "--before", "clear("], "--before: ", 1),
        (["run", "put it there", "--keep", "clear(tray)"], "give --goal, too", 1),
        (["up", "tabeltop"], "did you mean 'tabletop'", 2),
        (["up", "tabletop", "--set", "scene"], "expected OPTION=VALUE", 2),
        (["demo", "--only", "9"], "expected 1 to 4", 2),
    ],
)
def test_mistakes_end_with_one_line(arguments, said, code, capsys, monkeypatch):
    monkeypatch.setattr(cli, "prepare_ros", lambda: None)
    monkeypatch.setattr("planweave_ros.client.Client", NobodyThere)
    assert cli.main(arguments) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "Traceback" not in printed.err


def test_with_json_a_mistake_is_one_json_object(capsys, monkeypatch):
    monkeypatch.setattr(cli, "prepare_ros", lambda: None)
    assert cli.main(["run", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["success"] is False
    assert found["error"] == "GoalError"


def test_without_ros_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("planweave.launcher.environment.ensure", lambda: None)
    monkeypatch.setitem(sys.modules, "planweave_ros.client", None)
    with raises_code("configuration", "make setup"):
        cli.prepare_ros()


class NobodyThere:
    """A client in a world without any node."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def is_up(self, patience=0.0):
        return False


# Environment


def test_the_environment_of_an_environment_with_ros_wheels(tmp_path):
    libs = tmp_path / "lib" / "python3.11" / "site-packages" / "ros_rcl.libs"
    libs.mkdir(parents=True)
    (tmp_path / "lib" / "libplanweave_interfaces__rosidl_generator_c.so").touch()
    found = ros_environment({"LD_LIBRARY_PATH": "/mine", "AMENT_PREFIX_PATH": "/ws"}, tmp_path)
    assert found["LD_LIBRARY_PATH"].split(":") == [str(tmp_path / "lib"), str(libs), "/mine"]
    assert found["AMENT_PREFIX_PATH"] == f"{tmp_path}:/ws"
    assert found["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] == "1"
    assert ros_environment(found, tmp_path) == found
    sourced = {**found, "LD_LIBRARY_PATH": f"{found['LD_LIBRARY_PATH']}:"}
    assert ros_environment(sourced, tmp_path) == sourced, "an empty part, as setup files leave it, is no change"


@pytest.fixture
def wheels(tmp_path):
    """An environment with ROS 2 from PyPI."""
    (tmp_path / "lib" / "python3.11" / "site-packages" / "ros_rcl.libs").mkdir(parents=True)
    (tmp_path / "lib" / "libplanweave_interfaces__rosidl_generator_c.so").touch()
    return tmp_path


PROFILES = str(config_dir() / "fastdds.xml")


def reach(environment):
    return environment["ROS_AUTOMATIC_DISCOVERY_RANGE"], environment.get("FASTDDS_DEFAULT_PROFILES_FILE")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": ""},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
        {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "FASTDDS_DEFAULT_PROFILES_FILE": PROFILES},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", "FASTDDS_DEFAULT_PROFILES_FILE": PROFILES},
    ],
)
def test_sockets_are_on_127_0_0_1_unless_the_person_wants_a_network(wheels, given):
    # with LOCALHOST rmw_fastrtps would add a transport that listens on all addresses
    assert reach(ros_environment(given, wheels)) == ("SYSTEM_DEFAULT", PROFILES)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, ("SUBNET", None)),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_DEFAULT_PROFILES_FILE": PROFILES}, ("SUBNET", None)),
        ({"ROS_STATIC_PEERS": "192.0.2.7"}, ("LOCALHOST", None)),
        ({"FASTDDS_DEFAULT_PROFILES_FILE": "/mine.xml"}, ("LOCALHOST", "/mine.xml")),
        ({"FASTRTPS_DEFAULT_PROFILES_FILE": "/mine.xml"}, ("LOCALHOST", None)),
        ({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, ("LOCALHOST", None)),
    ],
)
def test_what_the_person_chose_for_a_network_stays(wheels, given, found):
    assert reach(ros_environment(given, wheels)) == found


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
        {"ROS_STATIC_PEERS": "192.0.2.7"},
        {"FASTDDS_DEFAULT_PROFILES_FILE": "/mine.xml"},
        {"FASTRTPS_DEFAULT_PROFILES_FILE": "/mine.xml"},
        {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"},
    ],
)
def test_the_script_for_a_shell_chooses_the_same(wheels, given):
    write_script = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "prepare.py"))["write_script"]
    write_script(wheels, sourced=False)
    names = ["ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTDDS_DEFAULT_PROFILES_FILE"]
    shown = subprocess.run(
        ["sh", "-c", f". {wheels}/planweave.sh; /usr/bin/env"], env=given, text=True, capture_output=True, check=True
    ).stdout
    set_to = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    expected = ros_environment(given, wheels)
    assert [set_to.get(name) for name in names] == [expected.get(name) for name in names]


def test_a_sourced_workspace_without_a_choice_looks_on_this_machine(tmp_path):
    assert reach(ros_environment({}, tmp_path)) == ("LOCALHOST", None)


def test_a_sourced_workspace_is_left_alone_and_a_wider_discovery_is_the_persons_choice(tmp_path):
    given = {"AMENT_PREFIX_PATH": "/ws", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert ros_environment(given, tmp_path) == given


# Goals and JSON


@pytest.mark.parametrize(
    ("texts", "goal"),
    [
        (["in(red_cube, left_tray)"], ("in(red_cube, left_tray)",)),
        (["in(a, b) and not holding(c); on(d, e)", "clear(f)"], ("in(a, b)", "not holding(c)", "on(d, e)", "clear(f)")),
        ([], ()),
    ],
)
def test_goals_are_read(texts, goal):
    assert tuple(map(str, read_goal(texts))) == goal


@pytest.mark.parametrize("text", ["", "in(a", "in(a,,b)", "put it there", "in(a, b) and"])
def test_goals_that_cannot_be_read_say_how_to_write_them(text):
    with raises_code("goal", "--goal"):
        read_goal([text])


def test_a_status_becomes_plain_json():
    found = json.loads(json.dumps(status_json(STATUS)))
    assert found["goal"] == ["in(red_cube, left_tray)"]
    assert found["state"] == "running"
    assert found["action"] == "grasp(red_cube)"
    assert found["usage"]["prompt_tokens"] == 900


def test_rows_become_plain_json():
    assert json.loads(json.dumps(as_json(ROWS)))[1] == {
        "id": 1,
        "parent": 0,
        "action": "grasp(red_cube)",
        "time_step": 1,
        "samples": 15,
        "status": "failed",
    }
    assert [row.id for row in children_of(ROWS)[0]] == [1, 4, 6]


# What people read


def test_the_tree_shows_what_was_tried_before_what_is_most_sampled():
    text = text_of(tree_view(ROWS))
    assert "✗ grasp(red_cube)  ×15" in text
    assert "✓ grab_and_putin(red_cube, left_tray)  ×8" in text
    wide = [
        TreeRow(0, -1, "", 0, 99, Status.UNTRIED),
        *(TreeRow(i, 0, f"a{i}", 1, 1, Status.UNTRIED) for i in range(1, 60)),
        TreeRow(60, 0, "tried", 1, 1, Status.DONE),
    ]
    text = text_of(tree_view(wide, limit=5))
    assert "tried" in text
    assert "… 55 more" in text
    assert tree_view(ROWS[:1]) is None


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_phase_goal_step_and_tree(terminal):
    console = Console(file=io.StringIO(), width=160, force_terminal=terminal)
    with Progress(console, STATUS.sentence) as progress:
        progress.status(STATUS)
        progress.tree("task-1", ROWS)
        progress.tree("another", ())
        progress.status(STATUS)
    text = console.file.getvalue()
    assert "acting" in text
    assert "in(red_cube, left_tray)" in text
    assert "grasp(red_cube)" in text
    if not terminal:
        assert text.count("acting") == 1, "the same again is not said again"


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), "no model asked"),
        (STATUS.usage, "3 requests to smol (embedded): 900 tokens read (600 cached), 80 written, 2.5 s, price unknown"),
        (Usage(1, 10, 0, 5, 1.0, 0.00123, "gpt", "https://api"), "$0.0012"),
    ],
)
def test_usage_in_a_line(usage, text):
    assert text in usage_text(usage)


def test_a_failure_names_the_unmet_goal():
    console = Console(file=io.StringIO(), width=200)
    summary(console, replace(STATUS, unmet=STATUS.goal, state=TaskState.FAILED), "slipped")
    assert "failed  slipped" in console.file.getvalue()
    assert "does not hold, as last seen: in(red_cube, left_tray)" in console.file.getvalue()


# Pictures


def picture_of(rows, folder):
    """The text of the picture of a tree, with plain spaces; "" where none is written."""
    path = folder / "tree.svg"
    path.unlink(missing_ok=True)
    assert draw_tree(rows, path, "put the red cube in the left tray") == path.exists()
    return path.read_text().replace("&#160;", " ") if path.exists() else ""


def test_a_picture_of_a_tree_shows_failures_and_successes(tmp_path):
    shown = picture_of(ROWS, tmp_path)
    assert "put the red cube in the left tray" in shown
    for row in ROWS[1:]:
        assert f"{MARKS[row.status][0]} {row.action}" in shown


def test_a_huge_or_empty_tree_still_makes_a_sensible_picture(tmp_path):
    root = TreeRow(0, -1, "", 0, 500, Status.UNTRIED)
    many = [root, *(TreeRow(i, 0, f"grasp(thing_{i})", 1, 1, Status.UNTRIED) for i in range(1, 500))]
    shown = picture_of(many, tmp_path)
    assert 0 < shown.count("grasp(thing_") < 100 and "more" in shown
    assert picture_of(many[:1], tmp_path) == picture_of((), tmp_path) == ""
    deep = [
        TreeRow(0, -1, "", 0, 1, Status.DONE),
        *(TreeRow(i, i - 1, f"a{i}", i, 1, Status.DONE) for i in range(1, 60)),
    ]
    assert "a59" in picture_of(deep, tmp_path)


# The demo


@pytest.mark.parametrize(
    ("success", "executed", "requests", "fallback", "own"),
    [
        (True, 2, 2, False, True),
        (True, 2, 2, True, False),
        (True, 2, 0, False, False),
        (True, 0, 2, False, False),
        (False, 2, 2, False, False),
    ],
)
def test_only_what_the_model_planned_alone_is_put_down_to_it(success, executed, requests, fallback, own):
    status = replace(STATUS, executed=executed, usage=Usage(requests), fallback=fallback)
    assert demo.planned_by_model(SimpleNamespace(success=success, status=status)) is own


def test_the_demos_scenes_and_sentences_are_there():
    tasks = demo.load_demo()
    scenes = Path(__file__).resolve().parents[2] / "config" / "scenes"
    assert [task.system for task in tasks] == ["tabletop", "tabletop", "tabletop", "kitchen"]
    assert [task.name for task in tasks if task.must_recover] == ["3-slips-and-recovers"]
    assert all((scenes / f"{task.scene}.yaml").is_file() for task in tasks)


def test_the_transcript_has_question_and_answer():
    entry = {
        **status_json(STATUS),
        "name": "1",
        "record": {
            "events": [
                {
                    "event": "exchange",
                    "seconds": 1.5,
                    "kind": "plans",
                    "request": {
                        "messages": [{"role": "user", "content": "What now?\n```plan```"}],
                        "n": 3,
                        "json_schema": {},
                    },
                    "reply": {"replies": [{"text": "grasp"}, {"text": "place"}, {"text": "grasp"}]},
                },
                {"event": "exchange", "request": "odd", "reply": None},
                {"event": "ended"},
            ]
        },
    }
    text = transcript([entry, {**entry, "record": {}}])
    assert "### Exchange 1 (plans), at 1.5 s" in text
    assert "**user**\n\n````\nWhat now?\n```plan```\n````" in text
    assert "**reply** ×2\n\n```\ngrasp\n```" in text
    assert "n 3" in text
    assert "odd" in text
    assert "3 requests to smol (embedded): 900 tokens read (600 cached), 80 written" in text
    assert text.count("No exchange is in the record.") == 1 and "No model was asked" not in text


# The doctor


def test_a_probe_that_hangs_or_dies_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    (tmp_path / "hanging.py").write_text("import time; time.sleep(60)")
    (tmp_path / "dying.py").write_text("import os; os.abort()")
    assert doctor.run_probe("hanging", 0.5)[::2] == (124, "no answer in 0.5 s")
    code, _, err = doctor.run_probe("dying", 10.0)
    assert code == -6
    assert "ended by signal 6" in err or "Aborted" in err


def test_broken_rendering_names_the_packages(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(doctor, "run_probe", lambda *_: (1, "", "Traceback\nImportError: no EGL"))
    finding = doctor.check_rendering()
    assert finding.state == "failed"
    assert "egl: ImportError: no EGL; osmesa: ImportError: no EGL" in finding.text
    assert "apt-get install libegl1" in finding.advice


@pytest.mark.parametrize(
    ("kernel", "priority", "driver", "state", "said"),
    [
        ("1\n", 99, True, "ok", "PREEMPT_RT, real-time priority allowed"),
        (None, 99, True, "warning", "no PREEMPT_RT"),
        ("0\n", 99, True, "warning", "no PREEMPT_RT"),
        ("1\n", 0, True, "warning", "real-time priority up to 0"),
        (None, 0, False, "ok", "matters for a real arm only"),
    ],
)
def test_the_kernel_matters_where_an_arms_driver_is(tmp_path, monkeypatch, kernel, priority, driver, state, said):
    if kernel is not None:
        (tmp_path / "realtime").write_text(kernel)
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _: (priority, priority))
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: object() if driver else None)
    finding = doctor.check_real_time(tmp_path / "realtime")
    assert finding.state == state and said in finding.text
    assert bool(finding.advice) == (state == "warning")


@pytest.mark.parametrize(
    ("reply", "said", "advice"),
    [
        ((1, "", "boom"), "boom", "OPENAI_BASE_URL"),
        ((0, '{"error": "wrong key"}', ""), "wrong key", "OPENAI_BASE_URL"),
        ((124, "", "no answer in 330 s"), "no answer in 330 s", "busy"),
    ],
)
def test_a_model_that_cannot_be_asked(monkeypatch, reply, said, advice):
    monkeypatch.setattr(doctor, "run_probe", lambda *args, **kwargs: reply)
    monkeypatch.setattr(doctor, "_planner_settings", lambda: ({}, ""))
    (finding,) = doctor.check_model()
    assert (finding.state, finding.text) == ("warning", said) and advice in finding.advice
    states = {name: verdict["state"] for name, verdict in finding.details["methods"].items()}
    assert states.pop("classical") == "works without" and set(states.values()) == {"not"} and len(states) == 9


def test_the_tree_of_a_task_shows_what_the_fallback_did(tmp_path):
    record = {
        "events": [
            {"event": "action", "action": "grasp(red_cube)", "code": "NO_GRASP", "why": "plan"},
            {"event": "action", "action": "grab_and_putin(a, tray)", "code": "GRASP_LOST", "why": "fallback"},
            {"event": "action", "action": "grasp(a)", "code": "SUCCESS", "why": "fallback"},
            {"event": "action", "action": "place_in(a, tray)", "code": "SUCCESS", "why": "fallback"},
        ]
    }
    rows = with_fallback(ROWS[:4], record)
    assert rows[:4] == ROWS[:4]
    assert [(r.parent, r.time_step, r.status.name) for r in rows[4:]] == [
        (0, 1, "FAILED"),
        (0, 1, "DONE"),
        (5, 2, "DONE"),
    ]
    assert "(classical planner)" in picture_of(rows, tmp_path)
    assert with_fallback(ROWS, {}) == ROWS and with_fallback((), {}) == ()
    assert [r.id for r in with_fallback((), record)] == [0, 1, 2, 3]


def test_what_a_task_did_is_marked():
    record = {
        "events": [
            {"event": "goal"},
            {"event": "action", "action": "grasp(a)", "code": "SUCCESS", "pushed": ["b"]},
            {"event": "action", "action": "place_in(a, tray)", "code": "GRASP_LOST", "message": "it slipped"},
            {"event": "action", "action": "grab_and_putin(a, tray)", "code": "SUCCESS", "why": "fallback"},
        ]
    }
    assert done_lines(record) == [
        "✓ grasp(a); pushed aside: b",
        "✗ place_in(a, tray): it slipped",
        "✓ grab_and_putin(a, tray)  (classical planner)",
    ]


def test_a_message_within_the_next_one_is_not_said_twice():
    console = Console(file=io.StringIO(), width=200)
    with Progress(console, "put it there") as progress:
        for before in ("", "no branch is left after: "):
            progress.status(replace(STATUS, message=f"{before}no path to the left tray was found"))
    said = console.file.getvalue()
    assert said.count("no path to the left tray was found") == 1 and "no branch is left after: as above" in said


def test_a_model_that_was_asked_and_did_not_answer_is_no_model_not_asked():
    assert usage_text(Usage(0, model="smol", endpoint="embedded", model_seconds=60.2)) == (
        "smol (embedded) did not answer within 60 s"
    )
    usage = {
        "requests": 0,
        "prompt_tokens": 0,
        "cached_tokens": 0,
        "completion_tokens": 0,
        "model_seconds": 60.0,
        "cost": None,
        "model": "smol",
        "endpoint": "embedded",
    }
    exchange = {"event": "exchange", "kind": "plans", "request": {"messages": []}, "error": "ModelTimeoutError: late"}
    text = transcript(
        [
            {
                "name": "1",
                "sentence": "s",
                "goal": [],
                "before": [],
                "reached": 0,
                "keep": [],
                "goal_source": "",
                "usage": usage,
                "record": {"events": [exchange]},
            }
        ]
    )
    assert "0 requests" not in text and "did not answer within 60 s" in text and "ModelTimeoutError: late" in text


def test_ids_are_whole_in_a_table_of_80_columns_and_in_a_pipe():
    long = replace(STATUS, task_id="task-1234-567890", sentence="put the red cube in the left tray and " * 4)
    for width in (80, 2500):
        text = text_of(_table([long, replace(long, state=TaskState.FAILED, sentence="[red]x")]), width)
        assert text.count("task-1234-567890") == 2 and "[red]x" in text
        assert max(map(len, text.splitlines())) <= width
    assert "…" not in text_of(_table([long]), 80)


def test_an_interrupt_leaves_the_panel_on_the_screen():
    for error, left in ((None, False), (KeyboardInterrupt, True)):
        console = Console(file=io.StringIO(), width=100, force_terminal=True)
        with contextlib.suppress(KeyboardInterrupt), Progress(console, "put it there") as progress:
            progress.status(STATUS)
            if error:
                raise error
        end = console.file.getvalue().rpartition("phase")[2]
        assert ("\x1b[1A\x1b[2K" in end) is not left  # the lines of the panel are erased, or not


def test_python_m_planweave_is_the_command():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "planweave", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("planweave ")
