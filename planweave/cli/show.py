"""Show a recorded episode: goal, tree of sampled plans, requests with their cost, steps, errors, result. Of a recording
(--record), its topics and how each task ended.

examples:
  planweave show out/bench/home-20261122-101500/episodes/tree_planner/simulated_0.2/watch_tv.0.jsonl
  planweave show --texts EPISODE     with all prompts and replies
  planweave show run.mcap
"""

from __future__ import annotations

import argparse
from pathlib import Path

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "episode", metavar="EPISODE", help="a .jsonl file below the folder of a run, or a recording (.mcap)"
    )
    parser.add_argument("--texts", action="store_true", help="also print prompts and replies in full")


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave.cli.recording import SUFFIX, recording_lines

    if options.episode.endswith(SUFFIX):
        print("\n".join(recording_lines(Path(options.episode))))
        return 0
    from planweave.bench.drawing import drawing
    from planweave.bench.records import find_record, read_record

    console = Console(highlight=False)
    for part in drawing(read_record(find_record(options.episode)), options.texts):
        console.print(part)
    return 0
