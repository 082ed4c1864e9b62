"""Cancel a task: the running one, or the one whose id is given. The arm stops.

examples:
  planweave cancel
  planweave cancel task-3
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", default="", help="task to cancel (default: the running one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from planweave_ros.client import Client

    with Client() as client:
        message = client.cancel(options.id)
    print(json.dumps({"success": True, "message": message}) if options.json else message)
    return 0
