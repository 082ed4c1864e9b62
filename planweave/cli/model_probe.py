"""What the language model can do, as one JSON object; in a process of its own, which can be ended at a deadline.

Reads the parameters of planner_node on standard input (JSON), so that it asks the same model as the node would.
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
