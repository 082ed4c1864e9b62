"""Plan a PDDL problem, and print the plan as planners write it: one action in brackets a line.

Every plan is checked before it is printed. Costs are reported where the domain has them; the plan is one with few
actions, not the cheapest one.

examples:
  planweave plan domain.pddl problem.pddl
  planweave plan domain.pddl problem.pddl > problem.plan && planweave check domain.pddl problem.pddl problem.plan
  planweave plan --timeout 60 --json domain.pddl problem.pddl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.problem import Problem
from planweave.core.symbolic.transition import cost_of
from planweave.core.symbolic.world import Action

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds of planning (default: 30)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def add_problem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("domain", metavar="DOMAIN", help="a PDDL file, or the name of a domain, e.g. tabletop")
    parser.add_argument("problem", metavar="PROBLEM", help="a PDDL file")


def main(options: argparse.Namespace) -> int:
    """Run the verb; 1 where there is no plan."""
    if not 0 < options.timeout <= 86_400:
        raise ConfigError(f"--timeout {options.timeout:g}: give seconds, above 0 and at most 86400")
    problem = loaded(options)
    before = time.monotonic()
    found: dict[str, Any] = {"success": False}
    try:
        plan = solve(problem.domain, problem.world, problem.goal, options.timeout)
    except NoPlanError as error:
        if not options.json:
            raise
        found |= {"error": "NoPlanError", "code": error.code, "message": str(error), "proved": error.proved}
    else:
        cost = cost_of(problem.domain, problem.world, plan)
        found |= {"success": True, "plan": list(map(written, plan)), "steps": len(plan), "cost": cost}
        if not options.json:
            end = f"{count(len(plan), 'step')}{'' if cost is None else f', cost {cost:g}'}"
            print("\n".join((*found["plan"], f"; {end}")))
    if options.json:
        print(json.dumps({**found, "seconds": round(time.monotonic() - before, 3), "remarks": remarks(problem)}))
    return 0 if found["success"] else 1


def loaded(options: argparse.Namespace) -> Problem:
    """The problem; what its files have in another form than the standard asks for is printed on standard error."""
    problem = Problem.load(options.domain, options.problem)
    if not options.json:
        for remark in remarks(problem):
            print(f"note: {remark}", file=sys.stderr)
    return problem


def remarks(problem: Problem) -> list[str]:
    return [*problem.domain.remarks, *problem.remarks]


def written(action: Action) -> str:
    return f"({' '.join((action.name, *action.args))})"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
