"""Interpretation of a sentence as goal literals, or of a question: by the controlled English where it applies, else by
the model.

The model samples several replies at once, constrained to literals over the known objects; a goal is accepted only if
enough replies agree on it, since a wrong goal makes the robot do the wrong thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planweave.core.base.errors import GoalError, ModelError, NoModelError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.ports import Interpretation
from planweave.core.workflow.question import AmbiguityError, Clarification
from planweave.goals.alternatives import which_reading
from planweave.goals.goal_checks import checked_goal
from planweave.goals.goal_grammar import read_sentence
from planweave.goals.lexicon import english
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.paraphrase import nearest, understood
from planweave.goals.scene_questions import answer, is_question
from planweave.goals.sentence_vocabulary import Vocabulary
from planweave.goals.sentence_words import Words, longest, without_politeness, words_of
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest
from planweave.llm.parsing import parse_goal
from planweave.llm.replies import ask_until_read, whole
from planweave.llm.schema import goal_schema
from planweave.methods.action_filter import offered
from planweave.methods.prompting import Messages, goal_messages

MAX_SENTENCE = 2000  # characters
MAX_LITERALS = 20
_READINGS = 4  # of a model that a person is asked about, the most frequent first
Ask = Callable[[Messages, dict[str, Any]], ChatReplies]  # messages, JSON schema -> several replies


def checked_sentence(sentence: str) -> str:
    """The sentence without white space around it; raises GoalError where it is empty or too long."""
    sentence = sentence.strip()
    if not sentence:
        raise GoalError('the sentence is empty: say what the robot is to do, such as "put the red cube in the tray"')
    if len(sentence) > MAX_SENTENCE:
        raise GoalError(
            f"the sentence has {len(sentence)} characters; at most {MAX_SENTENCE} are read: say it in a "
            "few words, or give several tasks"
        )
    return sentence


def interpret(
    domain: Domain,
    world: World,
    sentence: str,
    ask: Ask,
    agreement: float = 0.5,
    shown: World | None = None,
    clarifications: Sequence[Clarification] = (),
) -> Interpretation:
    """Goal of a sentence; source says who interpreted it. Raises GoalError (not understood, impossible; AmbiguityError
    where an answer of a person would make it clear) or CanceledError.

    A question is answered and never executed. Sentences with "not" that the grammar cannot parse are not given to a
    model. agreement: a goal is accepted if more than this share of the replies agrees on it. shown: the part of the
    world in the prompt, by default all of it. clarifications: a person's answers so far, which the grammar heeds.
    """
    sentence = checked_sentence(sentence)
    if not world.objects:
        raise GoalError(
            "nothing is known about the surroundings yet, so no goal can be read; is a body running and "
            "does its camera see anything?"
        )
    words, asked = words_of(sentence)
    plain = without_politeness(words)
    if is_question(plain, asked):
        return Interpretation((), "grammar", answer=answer(domain, world, plain))
    if asked and words[:1] == plain[:1]:
        raise GoalError(
            "it is not clear whether that is a question or a task; leave out the question mark, or ask "
            '"is …?", "where is …?"'
        )
    en = english()
    foreign = [w for w in plain if w in en["foreign"] or not w.isascii()]
    if len(foreign) > 1 and not set(foreign) & set(Vocabulary(domain, world).nouns):  # before slips are looked for
        raise GoalError("only English is read here" + _instead(domain, world, plain))
    try:
        reading = read_sentence(domain, world, sentence, clarifications)
        goal = checked_goal(domain, world, reading.goal)
        return Interpretation(goal, "grammar", understood=understood(domain, goal, reading.notes))
    except NotCoveredError as error:
        reason, unclear = str(error), error.ambiguity
    mended, _, _ = Vocabulary(domain, world).mended(words)  # "exept" is a slip of a word that must not be lost
    for said, why in unsaid(mended):
        raise GoalError(f"the sentence is not understood: it says {said!r}; {why}" + _instead(domain, world, plain))
    negated = [w for w in mended if w in en["negations"]]
    if negated:
        raise GoalError(
            f"the sentence is not understood: {reason}; it says {negated[0]!r}, so no model is asked"
            + _instead(domain, world, plain)
        )
    if clarifications:  # a model does not know what was answered
        raise GoalError(f"the sentence is not understood: {reason}{_instead(domain, world, plain)}")
    instead = _instead(domain, world, plain)
    try:
        read = readings(domain, world, sentence, ask, shown)
    except NoModelError as error:
        why = f"{instead}. {str(error)[:1].upper()}{str(error)[1:]}"
    except ModelError as error:
        why = f"{instead} (the model that could help did not answer: {error})"
    else:
        goal = _agreed(domain, world, read, agreement, instead, unclear, reason)
        notes = _guessed(domain, world, mended, goal)
        return Interpretation(goal, "model", read.replies.usage, understood(domain, goal, notes))
    message = f"the sentence is not understood: {reason}{why}"
    raise AmbiguityError(message, unclear.question) if unclear else GoalError(message)


@dataclass(frozen=True)
class Readings:
    """A model's readings of a sentence as goals with their number, () where it says that the sentence has none.

    problem: what is wrong with the last reply that could not be read.
    """

    goals: Counter[tuple[Literal, ...]]
    replies: ChatReplies
    problem: str


def readings(domain: Domain, world: World, sentence: str, ask: Ask, shown: World | None = None) -> Readings:
    """Ask a model for the goal of a sentence, once more where no reply can be read; raises ModelError."""
    seen, sayable = shown or world, offered(domain, sentence, world.actions_off)
    schema = goal_schema(sayable, seen, max_literals=MAX_LITERALS)

    def read(reply: ChatReply) -> tuple[Literal, ...]:
        literals = parse_goal(whole(reply))  # one without its end may lack a condition
        return tuple(sorted(checked_goal(domain, world, literals))) if literals else ()

    request = ChatRequest(goal_messages(sayable, seen, sentence))
    rows, replies, problem = ask_until_read(lambda r: ask(r.messages, schema), request, read)
    return Readings(Counter(goal for _, goal in rows), replies, problem)


def _guessed(domain: Domain, world: World, words: Words, goal: tuple[Literal, ...]) -> list[str]:
    """Notes on objects in a model's goal that no word of the sentence names."""
    names = Vocabulary(domain, world).names()
    said = {names.singular(w) for w in words}
    named = {n for n in world.by_name if n in said or said & names.heads[n]}
    guessed = sorted({a for g in goal for a in g.args} - named)
    return (
        [f"a model read this; no word of the sentence names {', '.join(map(spoken, guessed))}"]
        if guessed
        else ["a model read this"]
    )


def unsaid(words: Words) -> list[tuple[str, str]]:
    """Words of a sentence that no goal can express, with the reason; a model would ignore them."""
    told = {tuple(p.split()): why for key, why in english()["unsaid"].items() for p in key.split(", ")}
    return [
        (" ".join(said), told[said])
        for at in range(len(words))
        if (n := longest(words, at, told))
        for said in (words[at : at + n],)
    ]


def _instead(domain: Domain, world: World, words: Words) -> str:
    """Suggested sentences, as the end of a message."""
    examples = nearest(domain, world, words)
    return ". What can be read, for example: " + ", ".join(f'"{e}"' for e in examples) if examples else ""


def _agreed(
    domain: Domain,
    world: World,
    read: Readings,
    agreement: float,
    instead: str,
    unclear: AmbiguityError | None,
    reason: str,
) -> tuple[Literal, ...]:
    """The goal that enough replies agree on. unclear: what the grammar would ask, asked where there is no goal;
    reason: why the grammar read no goal.
    """
    found = [goal for goal, _ in read.goals.most_common() if goal]
    goal, votes = read.goals.most_common(1)[0] if read.goals else ((), 0)
    agreed = votes > agreement * len(read.replies.replies)
    if goal and agreed:
        return goal
    if found and not agreed:
        shown = "; or ".join(understood(domain, g)[:150] for g in found[:2])
        message = f"the model's replies disagree on the goal of the sentence ({shown}){instead}"
        unread = f"the sentence is not understood: {reason}; a model can only guess"
        raise AmbiguityError(message, which_reading(domain, found[:_READINGS], "model", unread))
    problem = "it says that none of the conditions and objects known here is asked for" if read.goals else read.problem
    message = f"the model found no goal that can hold in the sentence ({problem[:200]}){instead}"
    raise AmbiguityError(message, unclear.question) if unclear else GoalError(message)
