"""Let a paused task go on from the world as a fresh look shows it; without one it stays paused, and says why.

Says what has changed since the pause. An action that was interrupted is tried again where it still can be; where the
rest of the plan is no longer right it is planned anew, and approved anew.

examples:
  planweave resume
  planweave resume task-3
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", default="", help="task to resume (default: the one that is paused)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from planweave_ros.client import Client

    with Client() as client:
        message = client.resume(options.id)
    print(json.dumps({"success": True, "message": message}) if options.json else message)
    return 0
