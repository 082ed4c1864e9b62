"""Capabilities of the language model as one JSON object; a separate process, which can be terminated at a deadline.

Reads the parameters of planner_node from standard input (JSON) to address the same model.
"""

import json
import os
import sys
from dataclasses import asdict

from planweave.core.errors import PlanweaveError
from planweave.llm.clients import choose_client
from planweave.llm.clients.probe import probe


def main() -> None:
    """Probe and print."""
    settings = json.loads(sys.stdin.read() or "{}")
    try:
        client = choose_client(os.environ, settings)
        try:
            found = asdict(probe(client, float(settings.get("probe_seconds", 30.0))))
        finally:
            client.close()
    except PlanweaveError as error:
        found = {"error": str(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
