"""Run a recorded episode again, offline, and stop at the first difference.

The model's replies come from the record. A home is simulated anew; a stage that cannot be reproduced exactly (the arm)
is replayed from the record, too. All requests, decisions and actions of the loop are compared with the record, except
for times. The exit code is 0 where everything agrees, 1 at a difference.

examples:
  planweave replay out/bench/home-20261122-101500/episodes/tree_planner/simulated_0.2/watch_tv.0.jsonl
"""

from __future__ import annotations

import argparse
import json

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("episode", metavar="EPISODE", help="a record: a .jsonl file below the folder of a run")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Replay; 1 at a difference."""
    from planweave.bench.playback import Difference, replay
    from planweave.bench.records import find_record, read_record

    path = find_record(options.episode)
    events = read_record(path)
    try:
        count = replay(events)
    except Difference as difference:
        print(json.dumps({"same": False, "difference": str(difference)}) if options.json else f"{path}: {difference}")
        return 1
    print(
        json.dumps({"same": True, "events": count})
        if options.json
        else f"{path.name}: all {count} events are as recorded"
    )
    return 0
