"""Questions to the language model as the methods ask them, as one JSON object; a process of its own, with a deadline.

One question of each kind that a method asks, about moving a cube on a table, each read by the method's own reader and
compared with what is right; and one about a picture where a model for those is named. Reads the parameters of
planner_node from standard input (JSON) to address the same model.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

from planweave.core.base.budget import Budget
from planweave.core.base.errors import ModelError, NoModelError, ParseError, PlanweaveError
from planweave.core.base.usage import Usage
from planweave.core.checks.validation import validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatClient
from planweave.methods import METHODS
from planweave.methods.language.interpret import Said, record_reader
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.language.settings import PlannerSettings

SECONDS = 30.0  # of one question, where planner_node's file has no timeout
TOTAL_SECONDS = 240.0  # after which no further question is asked
BUDGET = Budget(requests=40, tokens=120_000, cost=0.5)
GOAL, PICTURE, READING = "goal", "picture", "reading"
SENTENCE = "put the red cube in the left tray"
_ASKED_OF_GOAL = "I would be glad if the red cube ended up lying in the left tray"
_WANTED = Literal("in", ("red_cube", "left_tray"))
_GRASP, _OTHER = Action("grasp", ("red_cube",)), Action("grasp", ("banana",))
_FAILURES = 2  # questions in a row without an answer, after which none is asked any more
_FOR_ALL = (
    "model_key",
    "model_credit",
    "model_unknown",
    "model_unavailable",
    "model_rate_limit",
    "model_budget",
    "model_answer",
)
"""Codes of failures that any other question would meet, too."""
_TASK = "doctor"


def table() -> World:
    """A small table, as a body would report it."""
    things = (
        WorldObject("red_cube", "item", "cube", {"colour": "red"}),
        WorldObject("banana", "item", "banana", {"colour": "yellow"}),
        WorldObject("left_tray", "container", "tray", {"colour": "gray"}),
        WorldObject("right_tray", "container", "tray", {"colour": "gray"}),
        WorldObject("plate", "surface", "plate", {"colour": "white"}),
    )
    facts = [Literal("hand_empty"), Literal("at_base")]
    for thing in things:
        facts += [Literal("clear", (thing.name,)), Literal("reachable", (thing.name,))]
        if thing.type == "item":
            facts += [Literal("at", (thing.name, "table")), Literal("narrow", (thing.name,))]
    return World("tabletop", (*things, WorldObject("table", "location")), frozenset(facts))


@dataclass(frozen=True)
class ProbeAnswer:
    """Result of a question. state: "right", "wrong" (read, and not what is right), "unread", "failed" (no reply)
    or "not asked"; text: the answer, or why there is none; code: of the error.
    """

    kind: str
    method: str
    state: str
    text: str = ""
    code: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class ProbeQuestion:
    """A question of a method, "" for all of them. ask: gives whether the answer is right, and its text."""

    kind: str
    method: str
    ask: Callable[[], tuple[bool, str]]


class ProbeQuestions:
    def __init__(self, planner: LanguagePlanner) -> None:
        self._planner, self._world = planner, table()

    def __iter__(self) -> Iterator[ProbeQuestion]:
        yield ProbeQuestion(GOAL, "", self._goal)
        for name, made in METHODS.working().items():
            asked = getattr(made, "questions", None)
            for table_of, kind, ask in (
                ("sample", "plans", self._plans),
                ("write", "plan in words or as a program", self._written),
                ("ground", "command", self._command),
                ("propose", "next step", self._steps),
                ("select", "selection", self._selection),
            ):
                if name in getattr(asked, table_of, ()):
                    yield ProbeQuestion(kind, name, partial(ask, name))
            if name == "tree_planner":
                yield ProbeQuestion("choice", name, self._choice)
            elif name == "progprompt":
                yield ProbeQuestion("condition", name, self._condition)

    def _goal(self) -> tuple[bool, str]:
        read = self._planner.readings(_ASKED_OF_GOAL, self._world, _TASK)
        if not read.goals:
            raise ParseError(read.problem)
        goal = next(iter(read.goals))
        return goal == (_WANTED,), " & ".join(map(str, goal)) or "no goal"

    def _plans(self, method: str) -> tuple[bool, str]:
        found = self._planner.generate_plans(SENTENCE, self._world, samples=2, task_id=_TASK, method=method)
        checks = [validate(Domain.load("tabletop"), self._world, plan.actions, [_WANTED]) for plan in found.plans]
        return any(check.ok for check in checks), str(found.plans[0]) if found.plans else "no plan"

    def _choice(self) -> tuple[bool, str]:
        choice = self._planner.choose_action(
            SENTENCE, self._world, [], [_OTHER, _GRASP, None], samples=1, task_id=_TASK
        )
        return choice.index == 1, str((_OTHER, _GRASP, "end")[choice.index])

    def _written(self, method: str) -> tuple[bool, str]:
        lines = self._planner.write(method, SENTENCE, self._world, task_id=_TASK).lines
        said = " ".join(lines).lower().replace("_", " ")
        return "red cube" in said and "left tray" in said, "; ".join(line.strip() for line in lines)

    def _command(self, method: str) -> tuple[bool, str]:
        action = self._planner.ground_step(method, SENTENCE, "pick up the red cube", self._world, task_id=_TASK).action
        return action == _GRASP, str(action or "pass")

    def _steps(self, method: str) -> tuple[bool, str]:
        found = self._planner.propose_steps(method, SENTENCE, self._world, [], samples=2, task_id=_TASK).candidates
        return any(c.action == _GRASP for c in found), str(found[0].action or "end")

    def _selection(self, method: str) -> tuple[bool, str]:
        choice = self._planner.select_action(
            method, SENTENCE, self._world, [], [_OTHER, _GRASP], goal=[_WANTED], task_id=_TASK
        )
        return choice.index == 1, str((_OTHER, _GRASP)[choice.index])

    def _condition(self) -> tuple[bool, str]:
        found = self._planner.check_condition("assert('red_cube' in 'left_tray')", self._world, task_id=_TASK)
        return not found.holds, str(found.holds)


def reading_questions(planner: LanguagePlanner) -> Iterator[ProbeQuestion]:
    """Sentences that the grammar does not read: which of several is meant, what is not wanted, an order, what cannot be
    said. A model that reads all of them rightly reads every sentence (planner_node's parameter reader).
    """
    world = table()
    second = replace(world.by_name["red_cube"], name="red_cube_2")
    facts = {replace(f, args=(second.name,)) for f in world.facts if f.args[:1] == ("red_cube",) and len(f.args) == 1}
    two = replace(world, objects=(*world.objects, second), facts=world.facts | facts)
    plate = Literal("on", ("red_cube", "plate"))

    def ask(sentence: str, where: World, right: Callable[[Said], bool]) -> tuple[bool, str]:
        read = planner.readings(sentence, where, _TASK)
        if not read.found:
            raise ParseError(read.problem)
        said = next(iter(read.found))
        return right(said), f"{said.kind}: {said.reading.understood or said.left}"

    rows: tuple[tuple[str, World, Callable[[Said], bool]], ...] = (
        ("the cube would be better off in the left tray", two, lambda s: s.kind == "unclear" and len(s.choices) == 2),
        (
            "whatever else, the red cube may not lie in the left tray in the end, and the banana has to",
            world,
            lambda s: {*s.reading.goal} == {_WANTED.negated(), Literal("in", ("banana", "left_tray"))},
        ),
        (
            "let the red cube pay a visit to the left tray first and finish up on the plate",
            world,
            lambda s: s.reading.goal == (plate,) and s.reading.before == ((_WANTED,),),
        ),
        ("paint the red cube green", world, lambda s: s.kind == "cannot"),
    )
    for sentence, where, right in rows:
        yield ProbeQuestion(READING, "", partial(ask, sentence, where, right))


class Probe:
    """Asks the questions, and keeps what was used for them."""

    def __init__(self, client: ChatClient, settings: Mapping[str, Any]) -> None:
        kept = {f.name: settings[f.name] for f in fields(PlannerSettings) if f.name in settings}
        kept |= {"goal_votes": 1, "timeout": float(settings.get("timeout", SECONDS))}
        self._planner = LanguagePlanner(client, PlannerSettings(**kept), budget=BUDGET, on_exchange=self._exchanged)
        self._client, self._failed, self._said, self._stopped = client, 0, False, ""
        self._until = time.monotonic() + float(settings.get("probe_total_seconds", TOTAL_SECONDS))
        self.usage, self._exchanges = Usage(), 0
        self._logprobs: bool | None = None  # whether there were some where they were asked for

    @property
    def capabilities(self) -> dict[str, Any]:
        """Capabilities of the endpoint, as far as the questions have shown."""
        return {**asdict(self._client.capabilities), "logprobs": self._logprobs}

    def answers(self) -> Iterator[ProbeAnswer]:
        """Result of each question that a model was to answer."""
        for question in ProbeQuestions(self._planner):
            before = self._exchanges
            answer = self._asked(question)
            if answer.state not in ("right", "wrong") or self._exchanges > before:
                yield answer

    def reading(self) -> list[ProbeAnswer]:
        """Result of the sentences that only a capable model reads; recorded where all were asked."""
        found = [self._asked(question) for question in reading_questions(self._planner)]
        if all(answer.state in ("right", "wrong", "unread") for answer in found):
            right = all(answer.state == "right" for answer in found)
            record_reader(self._client.endpoint, self._client.model, right)
        return found

    def _asked(self, question: ProbeQuestion) -> ProbeAnswer:
        if not self._stopped and time.monotonic() > self._until:
            self._stopped = "the time for all questions was over; the model is slow"
        if self._stopped:
            return ProbeAnswer(question.kind, question.method, "not asked", self._stopped)
        self._said = False
        answer = asked(question)
        silent = answer.state == "unread" and not self._said
        self._failed = self._failed + 1 if silent or answer.state == "failed" else 0
        if answer.code in _FOR_ALL or self._failed >= _FAILURES:
            self._stopped = answer.text
        return answer

    def _exchanged(self, exchange: Mapping[str, Any]) -> None:
        self._exchanges += 1
        if "reply" in exchange:
            replies = exchange["reply"]["replies"]
            self._said |= any(reply["text"].strip() for reply in replies)
            if exchange["request"]["logprobs"]:
                self._logprobs = any(reply["logprob"] is not None for reply in replies)
            self.usage += Usage(**exchange["reply"]["usage"])


def asked(question: ProbeQuestion) -> ProbeAnswer:
    """Ask a question; every failure becomes a part of the answer."""
    begun, state, code = time.monotonic(), "failed", ""
    try:
        right, text = question.ask()
        state = "right" if right else "wrong"
    except NoModelError as error:
        state, text, code = "not asked", str(error), error.code
    except PlanweaveError as error:
        state = "failed" if isinstance(error, ModelError) else "unread"
        text, code = str(error), getattr(error, "code", "")
    except Exception as error:
        text = f"a fault in reading the reply ({type(error).__name__}: {error}); please report it"
    return ProbeAnswer(question.kind, question.method, state, text[:500], code, round(time.monotonic() - begun, 2))


def picture() -> ProbeAnswer:
    """Ask the model for pictures for the name and colour of one drawn thing."""
    import numpy as np

    from planweave.perception.vision_names import Marked, VisionNamer, vision_client

    def ask() -> tuple[bool, str]:
        image, mask = np.full((240, 320, 3), 200, np.uint8), np.zeros((240, 320), bool)
        mask[90:150, 130:190] = True
        image[mask] = (200, 25, 25)
        thing = Marked((mask,), (0.4, 0.0, 0.03), (0.06, 0.06, 0.06), image[mask])
        said: list[str] = []
        client = vision_client()
        try:
            (named,) = VisionNamer(client, ("cube", "bowl"), timeout=SECONDS, say=said.append).names([image], [thing])
        finally:
            client.close()
        if not named.class_name:
            raise ParseError(said[-1] if said else "the reply names nothing")
        return named.colour == "red", f"{named.colour} {named.class_name}".strip()

    return asked(ProbeQuestion(PICTURE, "", ask))


def main() -> None:
    settings = json.loads(sys.stdin.read() or "{}")
    begun = time.monotonic()
    found: dict[str, Any] = {}
    try:
        client = choose_client(os.environ, settings)
        try:
            probe = Probe(client, settings)
            answers = list(probe.answers())
            if os.environ.get("PLANWEAVE_VISION_MODEL"):
                answers.append(picture())
            found = {
                "endpoint": client.endpoint,
                "model": client.model,
                "notes": list(getattr(client, "notes", ())),
                "capabilities": probe.capabilities,
                "questions": [asdict(answer) for answer in answers],
                "reading": [] if client.endpoint == "embedded" else [asdict(answer) for answer in probe.reading()],
                "usage": asdict(probe.usage),
            }
        finally:
            client.close()
    except PlanweaveError as error:
        found["error"] = str(error)
    print(json.dumps({**found, "seconds": round(time.monotonic() - begun, 2)}))


if __name__ == "__main__":
    main()
