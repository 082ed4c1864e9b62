"""Show what a sentence is read as: goal, states before it, what is kept, an answer, or a question. Nothing moves, and
no system runs.

FILE has objects and facts, a line each, such as "red_cube, cup: item", "left_tray: container", "on(cup, plate)"; or it
is a PDDL problem.

examples:
  planweave read "put the red cube in the left tray"
  planweave read --world mine.txt --json "put the cup in the left tray"
  planweave read --domain household --world home.txt "put the salmon in the fridge"
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.base.yaml_files import read_text
from planweave.core.symbolic.domain import Domain, is_pddl_text
from planweave.core.symbolic.problem import Problem
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import AmbiguityError
from planweave.core.workflow.reading import as_texts

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sentence", metavar="SENTENCE", help="what a person says")
    parser.add_argument("--domain", default="tabletop", metavar="NAME", help="a domain (default: tabletop)")
    parser.add_argument("--world", metavar="FILE", help="objects and facts (default: two objects, two trays, a plate)")
    parser.add_argument(
        "--model", default="none", metavar="NAME", help="who reads too: auto, openai:NAME (default: none)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; 4 where the sentence is not clear."""
    from planweave.bench.models import check_model, client_of
    from planweave.cli.answer import question_json
    from planweave.cli.run import NOT_CLEAR
    from planweave.methods.language.planner import LanguagePlanner

    domain = Domain.load(options.domain)
    world, found = _world(domain, options.world), dict[str, Any]()
    try:
        read = LanguagePlanner(client_of(check_model(options.model))).interpret_goal(options.sentence, world)
    except AmbiguityError as error:
        if not options.json:
            print(f"question    {error.question.text}\nchoices     {error.question.offer}")
            return NOT_CLEAR
        found = {"success": False, "code": error.code, "question": question_json(error.question)}
    else:
        found = {**as_texts(read), "answer": read.answer, "understood": read.understood, "source": read.source}
        if not options.json:
            print("\n".join(f"{key:<12}{_shown(value)}" for key, value in found.items() if value))
        found = {"success": True, **found}
    if options.json:
        print(json.dumps(found))
    return 0 if found["success"] else NOT_CLEAR


def _world(domain: Domain, file: str | None) -> World:
    from planweave.cli.model_probe import table

    if file is None and domain.name != "tabletop":
        raise ConfigError(f"--domain {domain.name}: give its objects and facts with --world FILE")
    if file is None:
        return table()
    text = read_text(Path(file))
    if is_pddl_text(text):
        return Problem.load(domain, text).world
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return domain.world("\n".join(x for x in lines if ":" in x), [x.strip() for x in lines if ":" not in x])


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "; ".join(x if isinstance(x, str) else _shown(x) for x in value)
