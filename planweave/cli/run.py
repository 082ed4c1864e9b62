"""Execute the task of a sentence, and verify the result with the camera.

Uses the running system of this machine; without one, a system is started and stopped again. Prints the interpreted goal
before anything moves. The exit code is 0 only where the goal was observed to hold at the end, a question was answered,
or --dry found a plan; "success" in --json is true for the first alone. It is 3 where the goal was not confirmed: it may
hold, but no look shows it (state "not_confirmed"), 4 where it is not clear what is meant and there is no terminal to
ask at (the question and its choices are in --json, with the code "ambiguous"), 1 where it was not reached.

examples:
  planweave run "put the red cube in the left tray"
  planweave run --scene fruit_and_bottles "put the fruit on the plate and the bottles in the box"
  planweave run --dry "put the red cube in the left tray"     # prints the plan, moves nothing
  planweave run --goal "in(red_cube, left_tray) and on(blue_cube, green_cube)" --method classical
  planweave run --before "in(red_cube, left_tray)" --goal "in(red_cube, right_tray)" --keep "clear(blue_cube)"
  planweave run --json "put the red cube in the left tray" > result.json
  planweave run --task plus_sign --method classical
  planweave run --tree tree.xml "put the red cube in the left tray"     # follows a tree of planweave export
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.cli.recording import add_record_argument, check_record, recorded
from planweave.core.base.errors import ConfigError, GoalError, NotSeenError, PlanweaveError, SystemDownError
from planweave.core.symbolic.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from planweave.core.workflow.task_status import TaskStatus
    from planweave.launcher.running_system import RunningSystem
    from planweave_ros.client import Client

JOINS = False
NOT_CONFIRMED, NOT_CLEAR = 3, 4  # the exit codes for it
DISCOVERY = 10.0  # seconds at most to look for a system that runs already: Fast DDS announces itself every 3 s
_PREVIEW = 10.0  # seconds to wait for the motions of a dry run's plan
RULES_WORLD = 1.0  # seconds to wait for the world, whose domain's rules are told
DISCOVERY_OF_OURS = 20.0  # the same where one that we started is known to run, or to be starting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sentence", nargs="?", default="", help="what to do, in plain English")
    parser.add_argument(
        "--system", help="system to start where none runs (default: that for the scene); an error if another one runs"
    )
    parser.add_argument("--scene", help="scene to load first: a name under config/scenes, or a scene file")
    parser.add_argument(
        "--task",
        help="a named task (planweave/bench/tasks/tabletop/): gives sentence, scene, places and "
        "goal where these are not given, and its own check of the end",
    )
    parser.add_argument("--dry", action="store_true", help="print the interpreted goal and the plan; move nothing")
    parser.add_argument("--method", default="", help="planning method, e.g. tree_planner or classical")
    parser.add_argument(
        "--tree",
        metavar="FILE",
        help="behaviour tree to follow in place of a method: XML of BehaviorTree.CPP 4 over the domain's actions",
    )
    parser.add_argument(
        "--goal",
        action="append",
        default=[],
        metavar="LITERALS",
        help='goal literals, e.g. "in(red_cube, left_tray)"; may be given several times',
    )
    parser.add_argument(
        "--before",
        action="append",
        default=[],
        metavar="LITERALS",
        help="with --goal: a state to be reached and verified before it; several are reached in their order",
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="LITERALS",
        help="with --goal: literals that hold now and that no action may end",
    )
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="cancel the task after this time (default: 600)"
    )
    add_record_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from planweave.cli.answer import QuestionAsker
    from planweave.cli.approve import ApprovalPrompt
    from planweave.cli.progress import Progress, done_lines, summary
    from planweave.cli.results import preview_json, preview_lines, result_json
    from planweave.core.workflow.task_status import TaskState

    check_record(options.record)
    method, task = _method(options), NamedTask(options.task) if options.task else None
    goals = _goals(options, task)
    console = _console(options.json)
    with contextlib.ExitStack() as stack:
        client, check = stack.enter_context(system_for(options.system, options.scene, console))
        stack.enter_context(recorded(options.record))
        if task:
            stack.enter_context(task.prepared(client, options.scene))
        rules = client.rules(known.domain) if (known := client.world(RULES_WORLD)) else client.rules()
        for rule in rules:
            console.print(f"rule in force: {rule}", highlight=False, markup=False)
        progress = stack.enter_context(Progress(console, options.sentence))
        questions = QuestionAsker(client, console, progress)
        askers = ApprovalPrompt(client, console, progress), questions

        def watch() -> None:
            check()
            for asker in askers:
                asker.look()

        def status(status: TaskStatus) -> None:
            progress.status(status)
            for asker in askers:
                asker.status(status)

        ended = client.run_task(
            options.sentence,
            method=method,
            **goals,
            timeout=options.timeout,
            dry_run=options.dry,
            on_status=status,
            on_tree=progress.tree,
            on_sight=progress.sight,
            watch=watch,
        )
        result = questions.told(ended)
        checked = task.checked(client) if task and not options.dry else None
        planned = result.status.state is TaskState.PLANNED
        preview = client.preview(result.status.task_id, "", _PREVIEW) if planned else None
    success = result.success and (checked is None or checked["fulfilled"])
    if options.json:
        named = {"task": options.task, "checked": checked} if checked else {}
        told = {**result_json(result), "preview": preview_json(preview), "success": success, "rules": rules, **named}
        print(json.dumps(told, indent=2))
    else:
        summary(console, result.status, "" if result.status.answer else result.message)
        for line in (*preview_lines(preview), *done_lines(result.record)):
            console.print(f"  {line}", highlight=False, markup=False)
        if checked:
            lacking = "; ".join(checked["lacking"]) or "done, by its own check"
            console.print(f"  task   {options.task}: {lacking}", highlight=False, markup=False)
    as_asked = result.status.state in (TaskState.ANSWERED, TaskState.PLANNED)
    if result.status.question is not None:
        return NOT_CLEAR
    return 0 if success or as_asked else NOT_CONFIRMED if result.status.state is TaskState.NOT_CONFIRMED else 1


def _goals(options: argparse.Namespace, task: NamedTask | None) -> dict[str, Any]:
    """Goals by --goal, --before and --keep, by name; fills in sentence and scene of a named task. Raises GoalError
    where nothing is asked for.
    """
    from planweave.cli.results import read_goal

    goal, keep = read_goal(options.goal), read_goal(options.keep, "--keep")
    before = [read_goal([state], "--before") for state in options.before]
    if task:
        options.sentence, options.scene = options.sentence or task.data.sentence, options.scene or task.data.scene
        goal = goal or task.data.goal
    if not options.sentence.strip() and not goal:
        raise GoalError(
            'nothing to do: give a sentence, e.g. planweave run "put the red cube in the left tray", or --goal'
        )
    if (before or keep) and not goal:
        raise GoalError("--before and --keep come with a goal in literals: give --goal, too")
    return {"goal": goal, "before": before, "keep": keep}


def _method(options: argparse.Namespace) -> str:
    """The name of the method, or the behaviour tree that takes its place; raises ConfigError."""
    from planweave.core.base.yaml_files import read_text
    from planweave.tasks.given_tree import is_tree

    if not options.tree:
        return str(options.method)
    if options.method:
        raise ConfigError("--tree is followed as it is; leave --method out")
    text = read_text(Path(options.tree))
    if not is_tree(text):
        raise ConfigError(f"{options.tree} is no XML; planweave export writes a tree")
    return text


@contextlib.contextmanager
def system_for(name: str | None, scene: str | None, console: Console) -> Iterator[tuple[Client, Callable[[], None]]]:
    """A client of a system that accepts tasks, and a function that raises where one of its nodes has ended.

    This is the running system, with the scene loaded, or a new one (without a name that for the scene) that is stopped
    afterwards. Raises RunningError where a name is given and another system runs, SystemDownError where it cannot be
    known whether one runs.
    """
    from planweave.launcher.domains import domain, is_empty
    from planweave.launcher.one_system import join, runs_here
    from planweave_ros.client import Client

    join(temporary=False)
    ours = runs_here()
    if ours or not is_empty(domain()):
        with Client() as client:
            found = client.search(DISCOVERY_OF_OURS if ours else DISCOVERY)
            if found:
                if name:
                    _check_system(client, name)
                if scene:
                    client.load_scene(scene)
                yield client, lambda: None
                return
        if ours:
            raise SystemDownError(f"{ours} takes no tasks; its log says why. Nothing was started")
        if found is None and not name:
            raise SystemDownError(
                f"ROS domain {domain()} has participants that were not discovered within {DISCOVERY:g} s, so it is not "
                "known whether a system runs there; nothing was started. Try again, or start a simulation: planweave "
                "run --system tabletop …"
            )
    with started(name or system_of(scene), {"scene": scene} if scene else {}, console) as (client, running):
        yield client, partial(running.check, partial(console.print, highlight=False, markup=False))


def system_of(scene: str | None) -> str:
    """The system that a scene is for, where none is named: one with furniture is the kitchen's."""
    from planweave.simulation.scene import load_scene

    if not scene:
        return "tabletop"
    with contextlib.suppress(PlanweaveError):  # the node says what is wrong with it
        return "kitchen" if load_scene(scene).fixtures else "tabletop"
    return "tabletop"


def _check_system(client: Client, name: str, patience: float = 5.0) -> None:
    """Raise RunningError unless the running nodes are the system's; discovery may take ``patience`` seconds."""
    from planweave.launcher.one_system import RunningError
    from planweave.launcher.systems import load_system, systems_of

    wanted = {node.name for node in load_system(name).nodes}
    deadline = time.monotonic() + patience
    while name not in systems_of(running := client.nodes(0.2)):
        if time.monotonic() > deadline:
            others = " or ".join(systems_of(running)) or "another"
            lacking = ", ".join(sorted(wanted - set(running)))
            raise RunningError(
                f"--system {name} was asked for, but the system that runs here is {others} ({', '.join(running)}"
                f"{f'; without {lacking}' if lacking else ''}). Leave --system away to use it, end it first, or choose "
                "another domain: ROS_DOMAIN_ID=7 planweave run …"
            )


@contextlib.contextmanager
def started(
    name: str,
    values: dict[str, str],
    console: Console,
    timeout: float = 60.0,
    params: str | None = None,
    page: bool = False,
    lasting: bool = False,
) -> Iterator[tuple[Client, RunningSystem]]:
    """Start a system, wait until it is ready, and stop it on exit; gives a client of it, too.

    params: path of one more parameter file; page: whether it has one; lasting: whether it serves other commands, in the
    domain that the user has named, if any. Raises RunningError where it would not be the only one in its domain.
    """
    from planweave.launcher.domains import domain
    from planweave.launcher.one_system import CHOOSE_ANOTHER, RunningError, held_domain
    from planweave.launcher.running_system import RunningSystem, log_folder
    from planweave.launcher.systems import load_system, with_page
    from planweave_ros.client import Client

    system = with_page(load_system(name)) if page else load_system(name)
    if params:
        system = system.with_file(params)
    overrides = system.overrides(values)
    with held_domain(name, system.alone, lasting) as empty, Client() as client:
        if not empty:
            serves, there = client.search(DISCOVERY), client.present(system.nodes)
            if serves or there:
                raise RunningError(
                    f"already in ROS domain {domain()}: {', '.join(there) or 'a task server'} "
                    f"(nodes: {', '.join(client.nodes())}); end what has these, or {CHOOSE_ANOTHER}"
                )
        logs = log_folder(name)
        if any(node.name == "feedback_node" for node in system.nodes):  # one that is started again knows its tasks
            overrides.setdefault("feedback_node", {}).setdefault("tasks_file", str(logs / "tasks.sqlite"))
        say = partial(console.print, highlight=False, markup=False)
        with RunningSystem(system, logs, overrides) as running:
            say(f"starting {name} ({system.description}) in ROS domain {domain()}; logs: {logs}")
            with console.status("waiting for the nodes") as waiting:
                ready: list[str] = []

                def one_more(node: str) -> None:
                    ready.append(node)
                    waiting.update(f"ready: {', '.join(ready)}")

                running.wait_ready(client, timeout, one_more, say)
            yield client, running


def _console(json_only: bool) -> Console:
    """Console of the display: standard output; with --json standard error, and only where it is a terminal."""
    from rich.console import Console

    if json_only:
        return Console(stderr=True, quiet=not sys.stderr.isatty())
    return Console(soft_wrap=not sys.stdout.isatty())  # lines in a file are not broken


SEEN = 15.0  # seconds for the camera to see what stands in the scene
NODE, PARAMETER = "executor_node", "workspace"


class NamedTask:
    """One task; raises UnknownNameError with the nearest names where there is none of this name."""

    def __init__(self, name: str):
        self._tasks: Any = importlib.import_module("planweave.bench.tabletop_tasks")
        self.data = self._tasks.load_task(name)
        self._start: World | None = None

    @contextlib.contextmanager
    def prepared(self, client: Client, scene: str) -> Iterator[None]:
        """Set the task's places in the executor, restored on exit, and wait until every object of the scene is
        detected.

        Raises NotSeenError that names the missing objects.
        """
        before = client.parameter(NODE, PARAMETER)
        if before != self.data.workspace:
            client.set_parameter(NODE, PARAMETER, self.data.workspace)
        try:
            self._start = self._seen(client, scene)
            yield
        finally:
            if before != self.data.workspace:
                client.set_parameter(NODE, PARAMETER, before)

    def _seen(self, client: Client, scene: str) -> World:
        wanted = self._tasks.scene_names(self._tasks.load_scene(scene))
        needed = {argument for literal in self.data.goal for argument in literal.args}
        deadline = time.monotonic() + SEEN
        while True:
            world = client.world()
            known = world.by_name if world else {}
            missing = [name for name in (*wanted, *sorted(needed)) if name not in known]
            if world is not None and not missing:
                return world
            if time.monotonic() > deadline:
                raise NotSeenError(
                    f"task {self.data.id}: {', '.join(dict.fromkeys(missing))} not seen within {SEEN:g} s; seen: "
                    f"{', '.join(sorted(known)) or 'nothing'}"
                )
            time.sleep(0.1)

    def checked(self, client: Client) -> dict[str, Any]:
        """Result of the task's check on the world as observed now."""
        world = client.world()
        lacking = ["no world is published"] if world is None else self._tasks.check_world(self.data, world, self._start)
        return {"by": "the world as observed", "fulfilled": not lacking, "lacking": lacking}
