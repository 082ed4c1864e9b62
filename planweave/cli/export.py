"""Export the tree or the plan of a task, of the running system or recorded in a file, for other programs.

The tree is the one that was given with the task, or that of its sampled plans; else its plan as a sequence. The plan is
what was carried out, else what was planned. The formats: bt, XML of BehaviorTree.CPP 4, which Groot2 opens and
`planweave run --tree` follows; py_trees, a Python module; pddl, the plan; dot, for Graphviz. Of a domain, its whole
PDDL, with what it takes from a domain that it extends.

examples:
  planweave export                                    # the newest task's tree, as XML
  planweave export task-3 --format py_trees -o tree.py
  planweave run --dry --json "put the red cube in the left tray" > dry.json
  planweave export dry.json --plan --format dot
  planweave export kitchen > kitchen.pddl
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, GoalError, SystemDownError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.domain_files import domain_names

NEEDS_ROS = False  # but for a task of the running system
MAX_BYTES = 50_000_000
FORMATS = ("bt", "py_trees", "pddl", "dot")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        default="",
        help="a task's id, or a file: output of planweave run --json or status --json, or a record (.jsonl); or a "
        "domain: its name, or its .pddl file; default: the newest task",
    )
    parser.add_argument("--format", choices=FORMATS, default="bt", help="default: bt, XML of BehaviorTree.CPP 4")
    parser.add_argument("--plan", action="store_true", help="the plan alone, as a sequence, in place of the tree")
    parser.add_argument("--domain", default="", help="domain of a record that does not name it")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")
    parser.add_argument("--namespace", metavar="NAME", help="ROS namespace of the system, e.g. arm1")


def main(options: argparse.Namespace) -> int:
    if options.source.endswith(".pddl") or options.source in domain_names():
        text = Domain.load(options.source).pddl
    else:
        events = _recorded(Path(options.source)) if _is_file(options.source) else _of_task(options)
        text = exported(events, options.format, options.plan, options.domain)
    if not options.output:
        print(text, end="")
        return 0
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {options.output}: {error.strerror}") from None
    print(f"written: {options.output}")
    return 0


def exported(events: Sequence[Mapping[str, Any]], form: str, plan_only: bool = False, domain_name: str = "") -> str:
    """A task's tree or plan in one of FORMATS; raises PlanweaveError where the record has neither."""
    from planweave.core.trees.behaviour_tree import sequence_of
    from planweave.core.trees.behaviour_tree_xml import write_tree
    from planweave.core.trees.exports import dot_graph, pddl_plan, py_trees_module
    from planweave.tasks.given_tree import recorded_domain, recorded_goal, recorded_plan, recorded_tree

    try:
        if form == "pddl":
            return pddl_plan(recorded_plan(events))
        name = domain_name or recorded_domain(events)
        if not name:
            raise GoalError("the record does not name its domain: no goal was read; give --domain, e.g. tabletop")
        domain = Domain.load(name)
        tree = sequence_of(recorded_plan(events), recorded_goal(events)) if plan_only else recorded_tree(domain, events)
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"an event of the record has another form ({type(error).__name__}: {error})") from None
    return {"bt": write_tree, "py_trees": py_trees_module, "dot": dot_graph}[form](domain, tree)


def _is_file(source: str) -> bool:
    return source.endswith((".json", ".jsonl")) or os.sep in source


def _of_task(options: argparse.Namespace) -> Sequence[Mapping[str, Any]]:
    from planweave.cli.main import prepare_ros
    from planweave.launcher.namespace import use
    from planweave.launcher.one_system import join

    use(options.namespace)
    join()
    prepare_ros()
    from planweave_ros.client import Client

    try:
        with Client() as client:
            return _events(client.task(options.source)[1], options.source or "the newest task")
    except SystemDownError as error:
        if not options.source:
            raise
        domains = ", ".join(domain_names())
        raise SystemDownError(f"{error}; no file, and no domain ({domains}), is called {options.source!r}") from None


def _recorded(path: Path) -> Sequence[Mapping[str, Any]]:
    """The events of a file; raises ConfigError where it is no record."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} has more than {MAX_BYTES} bytes; a record of one task is expected")
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".jsonl":
            return _events({"events": [json.loads(line) for line in text.splitlines() if line.strip()]}, str(path))
        found = json.loads(text)
        return _events(found.get("record", found) if isinstance(found, dict) else found, str(path))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not the record of a task: {error}") from None


def _events(record: Any, source: str) -> Sequence[Mapping[str, Any]]:
    events = record.get("events") if isinstance(record, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ConfigError(f"{source} has no events of a task; save one with planweave run --json")
    return events
