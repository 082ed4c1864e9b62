"""Endpoints with the quirks that people report × every kind of question: answered, refused clearly, wrong, key shown.

Real questions and the product's own readers, against servers on loopback (test/doubles/endpoints.py); no network.
"""

from __future__ import annotations

import argparse
import base64
import json
import logging
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from doubles.endpoints import KEY, QUIRKS, Quirk, QuirkServer
from doubles.planner_worlds import BLOCKS

import planweave.llm.clients as clients
from benchmarks.figures import Row, figure
from planweave.core.base.errors import ParseError, PlanweaveError
from planweave.core.symbolic.world import Action, Literal
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.openai_client import OpenAIClient
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings
from planweave.perception.vision_names import Marked, VisionNamer

MOST_REQUESTS = 6  # until an endpoint that cannot be used is said to be so
_SENTENCE = "put the red cube in the left tray"
_STEPS = ("grasp(red_cube)", "place_in(red_cube, left_tray)")
_MARK = {"mark": 1, "name": "mug", "colour": "red", "part_of": 0, "drawers": 0, "state": ""}
_PIXELS = np.ones((24, 32), bool)
_THING = Marked([_PIXELS], (0.0, 0.0, 0.0), (0.05, 0.05, 0.05), np.full((50, 3), 90, np.uint8))


class _AtOnce(random.Random):
    """Without a pause between two tries."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


def _named(client: ChatClient, seconds: float) -> str:
    said: list[str] = []
    namer = VisionNamer(client, ("mug", "plate"), timeout=seconds, say=said.append)
    named = namer.names([np.full((24, 32, 3), 90, np.uint8)], [_THING])[0].class_name
    if not named:
        raise ParseError(said[-1] if said else "no name")
    return named


_Ask = Callable[[LanguagePlanner], Any]
#: kind of question: what the model says, the question, and what is to be read from it
QUESTIONS: dict[str, tuple[str, _Ask, Any]] = {
    "goal": (
        '{"goal": ["in(red_cube, left_tray)"], '
        '"words": ["crimson = red_cube", "belongs into = in", "leftmost of them = left_tray"]}',
        lambda planner: planner.interpret_goal("the crimson one belongs into the leftmost of them", BLOCKS).goal,
        (Literal("in", ("red_cube", "left_tray")),),
    ),
    "plans": (
        json.dumps({"plan": _STEPS}),
        lambda planner: str(planner.generate_plans(_SENTENCE, BLOCKS, samples=3).plans[0]),
        "; ".join(_STEPS),
    ),
    "choice": (
        '{"choice": "B"}',
        lambda planner: planner.choose_action(_SENTENCE, BLOCKS, [], [None, Action.parse(_STEPS[0])], samples=3).index,
        1,
    ),
    "step": (
        json.dumps({"plan": _STEPS[:1]}),
        lambda planner: str(planner.propose_steps("iterative", _SENTENCE, BLOCKS, []).candidates[0].action),
        _STEPS[0],
    ),
    "program": (
        "grasp('red_cube')\nplace_in('red_cube', 'left_tray')",
        lambda planner: "".join(line.strip() for line in planner.write("progprompt", _SENTENCE, BLOCKS).lines[-2:]),
        "grasp('red_cube')place_in('red_cube', 'left_tray')",
    ),
    "condition": (
        "True",
        lambda planner: planner.check_condition("the red cube is the prettiest of all", BLOCKS).holds,
        True,
    ),
    "picture": (
        json.dumps({"marks": [_MARK]}),
        lambda planner: _named(planner.client, planner.settings.timeout),
        "mug",
    ),
}


class _Case:
    """One question to one endpoint: outcome "right", "refused" or "wrong"; told: all that left the client."""

    def __init__(self, quirk: Quirk, kind: str, told: Callable[[], str]) -> None:
        text, ask, expected = QUESTIONS[kind]
        shown: list[str] = []
        exchanges: list[dict[str, Any]] = []
        settings = PlannerSettings(timeout=quirk.seconds, goal_votes=3)
        with QuirkServer(quirk, text) as server:
            client = OpenAIClient(server.url, KEY, "fake", rng=_AtOnce())
            self.code, self.outcome = "", "right"
            try:
                got = ask(LanguagePlanner(client, settings, on_exchange=exchanges.append))
                self.outcome = "right" if got == expected else "wrong"
                shown.append(repr(got))
            except PlanweaveError as error:
                last = exchanges[-1].get("code", "") if exchanges else ""  # a sentence that is not understood has none
                self.code, self.outcome = getattr(error, "code", "") or last, "refused"
                shown.append("".join(traceback.format_exception(error)) + repr(vars(error)))
            except Exception as error:
                self.code, self.outcome = f"traceback: {error!r}", "wrong"
            client.close()
            self.requests = len(server.requests)
        everything = "".join(shown) + json.dumps(exchanges) + told()
        self.leaks = any(form in everything for form in (KEY, KEY[8:20], KEY[-10:], _coded(KEY)))


def _coded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()[4:36]


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """The rows; what is not as it should be is printed."""
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(handler.format(record))  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    counts: Counter[str] = Counter()
    most, begun = 0, time.monotonic()
    try:
        for name, quirk in QUIRKS.items():
            for kind in QUESTIONS:
                logged.clear()
                case = _Case(quirk, kind, lambda: "".join(logged))
                code = quirk.code if not quirk.only or kind in quirk.only else ""
                meant = "refused" if code else "right"
                counts.update([f"{meant}: all", case.outcome, "key"] if case.leaks else [f"{meant}: all", case.outcome])
                if case.outcome == meant and case.code == code:
                    counts[meant + ": as it should be"] += 1
                else:
                    console.print(f"{name}, {kind}: {case.outcome} {case.code}, not {code or 'right'}", markup=False)
                if case.outcome == "refused":
                    most = max(most, case.requests)
    finally:
        logging.getLogger().removeHandler(handler)
    sources = [path.read_text(encoding="utf-8") for path in Path(clients.__file__).parent.glob("*.py")]
    return [
        figure("questions to endpoints", f"{len(QUIRKS)} × {len(QUESTIONS)}, {time.monotonic() - begun:.0f} s"),
        *(
            figure(
                f"{what}, of those that can be",
                f"{counts[k + ': as it should be']} of {counts[k + ': all']}",
                "all",
                counts[k + ": as it should be"] == counts[k + ": all"],
            )
            for what, k in (("answered rightly", "right"), ("refused with the code of its cause", "refused"))
        ),
        figure("wrong, or a traceback", str(counts["wrong"]), "0", not counts["wrong"]),
        figure("key shown", str(counts["key"]), "0", not counts["key"]),
        figure(
            "requests until it is said to be unusable, at most", str(most), f"<= {MOST_REQUESTS}", most <= MOST_REQUESTS
        ),
        figure("lines of planweave/llm/clients", str(sum(text.count("\n") for text in sources))),
    ]
