"""One search of kairos in a process of its own: a JSON object on standard input, one on standard output.

Run by path, with the folder of the kairos package as its argument; it imports nothing else, so that it starts fast.
"""

import json
import sys
import time
from typing import Any


def found(domain: str, problem: str, end: float, options: dict[str, Any]) -> dict[str, Any]:
    """The result of a search as JSON values, with the fields of `kairos_search.SearchResult`. end: monotonic clock."""
    import kairos

    try:
        parsed = kairos.parse_problem(problem, kairos.parse_domain(domain))
    except kairos.PddlError as error:
        return {"status": "INVALID_INPUT", "messages": [str(error)]}
    planner: Any = kairos.Planner
    return as_dict(planner().solve(parsed, timeout=max(end - time.monotonic(), 1e-4), **options))


def as_dict(result: Any) -> dict[str, Any]:
    return {
        "status": str(result.status).rpartition(".")[2],
        "steps": [[step.name, list(step.args)] for step in result.plan.steps] if result.plan else [],
        "messages": [str(d.message) for d in result.diagnostics],
        "states": result.stats.states,
    }


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    json.dump(found(**json.load(sys.stdin)), sys.stdout)
