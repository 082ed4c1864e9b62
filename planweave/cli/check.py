"""Check a plan for a PDDL problem, as VAL does: the first step that cannot be done, and why.

For each condition that does not hold it says which earlier step took it away, and what would give it back. Plan files
may have comments (;), step numbers, times, costs and capitals, as planners write them.

examples:
  planweave check domain.pddl problem.pddl problem.plan
  planweave check --json domain.pddl problem.pddl sas_plan
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from planweave.cli.plan import add_problem, count, loaded, remarks, written
from planweave.core.checks.validation import Cause, Validation, giving, validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import load_plan
from planweave.core.symbolic.transition import cost_of
from planweave.core.symbolic.world import Action

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    parser.add_argument("plan", metavar="PLAN", help="a plan file")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; 1 where the plan does not do."""
    problem = loaded(options)
    domain, world = problem.domain, problem.world
    steps, lines = load_plan(options.plan)
    plan = [domain.spelled(step, world) for step in steps]
    found = validate(domain, world, plan, problem.goal)
    row: dict[str, Any] = {
        "success": found.ok,
        "steps": len(plan),
        "cost": cost_of(domain, world, plan) if found.ok else None,
        "failed_step": None if found.failed_step is None else found.failed_step + 1,
        "line": None if found.failed_step is None else lines[found.failed_step],
        "action": None if found.failed_step is None else written(plan[found.failed_step]),
        "message": found.message,
        "causes": [_cause(domain, cause, plan) for cause in found.causes],
        "remarks": remarks(problem),
    }
    print(json.dumps(row) if options.json else _text(row, found))
    return 0 if found.ok else 1


def _cause(domain: Domain, cause: Cause, plan: Sequence[Action]) -> dict[str, Any]:
    """A condition that does not hold. deleted_by: the step that did it, counted from 1; achieved_by: what would give it
    back.
    """
    taken = cause.destroyed_by
    return {
        "needs": str(cause.literal),
        "deleted_by": None if taken is None else {"step": taken + 1, "action": written(plan[taken])},
        "achieved_by": list(giving(domain, cause.literal)),
    }


def _text(row: dict[str, Any], found: Validation) -> str:
    steps = count(row["steps"], "step")
    if found.ok:
        cost = "" if row["cost"] is None else f", cost {row['cost']:g}"
        return f"valid: {steps}{cost}; the goal holds at the end"
    if found.failed_step is None:
        head = f"invalid: the goal does not hold after {'all ' * bool(row['steps'])}{steps}"
    else:
        place = f"step {row['failed_step']} of {row['steps']} (line {row['line']})"
        head = f"invalid: {place}, {row['action']}, cannot be done"
    if not row["causes"]:
        return f"{head}\n  {row['message']}"
    return "\n".join([head, *(line for cause in row["causes"] for line in _cause_lines(cause))])


def _cause_lines(cause: dict[str, Any]) -> list[str]:
    taken, given = cause["deleted_by"], cause["achieved_by"]
    since = f"deleted by step {taken['step']}, {taken['action']}" if taken else "never held"
    ways = f"achieved by {', '.join(given)}" if given else "no action achieves it"
    return [f"  needs {cause['needs']}: {since}; {ways}"]
