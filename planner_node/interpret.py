"""A sentence into goal literals: by the controlled English where it covers the sentence, else by the model.

The model is asked several times at once, its replies held to literals over the known objects; a goal counts only if
enough of the replies agree on it, since a wrong goal moves a robot to do a wrong thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from planner_node.clients.base import ChatReplies
from planner_node.goal_checks import checked_goal
from planner_node.goal_grammar import read_goal
from planner_node.noun_phrases import NotCoveredError
from planner_node.offered import offered
from planner_node.parsing import parse_goal
from planner_node.prompting import Messages, goal_messages
from planner_node.schema import goal_schema
from planweave.domain import Domain
from planweave.errors import GoalError, ModelError, ParseError
from planweave.ports import Interpretation
from planweave.world import Literal, World

MAX_SENTENCE = 2000  # characters
MAX_LITERALS = 20
Ask = Callable[[Messages, dict[str, Any]], ChatReplies]  # messages, JSON schema -> several replies


def checked_sentence(sentence: str) -> str:
    """The sentence without white space around it; raises GoalError where it is empty or too long."""
    sentence = sentence.strip()
    if not sentence:
        raise GoalError('the sentence is empty: say what the robot is to do, such as "put the red cube in the tray"')
    if len(sentence) > MAX_SENTENCE:
        raise GoalError(f"the sentence has {len(sentence)} characters; at most {MAX_SENTENCE} are read: say it in a "
                        "few words, or give several tasks")
    return sentence


def interpret(domain: Domain, world: World, sentence: str, ask: Ask, agreement: float = 0.5,
              shown: World | None = None) -> Interpretation:
    """Goal of a sentence; source says who read it. Raises GoalError (not understood, impossible) or CanceledError.

    agreement: share of the model's readings that must be more than this for a goal to count. shown: the part of the
    world that goes into the prompt, by default all of it.
    """
    sentence = checked_sentence(sentence)
    if not world.objects:
        raise GoalError("nothing is known about the surroundings yet, so no goal can be read; is a body running and "
                        "does its camera see anything?")
    try:
        return Interpretation(checked_goal(domain, world, read_goal(domain, world, sentence)), "grammar")
    except NotCoveredError as error:
        reason = str(error)
    try:
        seen, sayable = shown or world, offered(domain, sentence)
        replies = ask(goal_messages(sayable, seen, sentence), goal_schema(sayable, seen, max_literals=MAX_LITERALS))
    except ModelError as error:
        raise GoalError(f"the controlled English does not cover the sentence ({reason}), and the model could not be "
                        f"asked: {error}") from error
    return Interpretation(_agreed(domain, world, replies, agreement), "model", replies.usage)


def _agreed(domain: Domain, world: World, replies: ChatReplies, agreement: float) -> tuple[Literal, ...]:
    readings: Counter[tuple[Literal, ...]] = Counter()
    problem = ""
    for reply in replies.replies:
        try:
            readings[tuple(sorted(checked_goal(domain, world, parse_goal(reply.text))))] += 1
        except ParseError as error:
            problem = problem or str(error)
        except GoalError as error:
            problem = str(error)
    asked = len(replies.replies)
    if readings:
        goal, votes = readings.most_common(1)[0]
        if votes > agreement * asked:
            return goal
        shown = "; ".join(" and ".join(map(str, g)) for g, _ in readings.most_common(3))
        raise GoalError(f"the model does not agree with itself on what the sentence asks for ({shown}); say it with "
                        f"the names of the objects seen: {', '.join(sorted(world.by_name)[:30])}")
    raise GoalError(f"the model found no goal that can hold in the sentence ({problem}); say it with the names of the "
                    f"objects seen: {', '.join(sorted(world.by_name)[:30])}")
