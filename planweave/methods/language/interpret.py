"""Reading of a sentence as goal literals, or of a question: by the controlled English where it applies, else by
the model.

The model samples several replies at once, constrained to the domain's predicates; a reading is accepted only if
it covers every content word of the sentence and enough replies agree on it, since a wrong goal makes the robot do the
wrong thing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from planweave.core.base.errors import GoalError, ModelError, NoModelError
from planweave.core.base.paths import state_dir
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.reduced import without
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.question import AmbiguityError, Clarification
from planweave.core.workflow.reading import Reading
from planweave.goals import (
    NotCoveredError,
    SentenceVocabulary,
    answer,
    checked_choices,
    checked_goal,
    checked_reading,
    english,
    formal,
    is_question,
    nearest,
    not_english,
    read_sentence,
    understood,
    unsaid,
    which_reading,
    without_politeness,
    words_of,
)
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest
from planweave.llm.parsing import parse_comparison, parse_reading
from planweave.llm.reasoning import ask_until_read, whole
from planweave.llm.schema import comparison_schema, reading_schema
from planweave.methods.language.prompting import Messages, comparison_messages, goal_messages

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
    model_first: bool = False,
) -> Reading:
    """The reading of a sentence; source says who read it. Raises GoalError (not understood, impossible; AmbiguityError
    where an answer of a person would make it clear) or CanceledError.

    A question is answered and never executed. agreement: a reading is accepted if more than this share of the replies
    agrees on it. shown: the part of the world in the prompt, by default all of it. clarifications: a person's answers
    so far, which the grammar heeds. model_first: the model has shown that it reads such sentences, so that it is asked
    for every one: what both read must be the same, else a person is asked; without it, only what the grammar does not
    cover is given to the model, and nothing that says "not".
    """
    sentence = checked_sentence(sentence)
    if not world.objects:
        raise GoalError(
            "nothing is known about the surroundings yet, so no goal can be read; is a body running and "
            "does its camera see anything?"
        )
    words, asked = words_of(sentence)
    plain = without_politeness(words)
    a_question = is_question(plain, asked)
    if a_question:
        try:
            return Reading((), "grammar", answer=answer(domain, world, plain, clarifications))
        except GoalError:
            if not model_first:
                raise
    if asked and words[:1] == plain[:1] and not a_question:
        raise GoalError(
            "it is not clear whether that is a question or a task; leave out the question mark, or ask "
            '"is …?", "where is …?"'
        )
    foreign = not_english(plain, SentenceVocabulary(domain, world).nouns)  # before slips are looked for
    instead = cache(partial(_instead, domain, world, () if foreign else plain))  # made where it is needed
    if foreign and not model_first:
        raise GoalError(foreign + instead())
    by_grammar, problem = (
        (None, NotCoveredError(foreign)) if foreign else _by_grammar(domain, world, sentence, clarifications)
    )
    if by_grammar is not None and (not model_first or formal(sentence) is not None or clarifications):
        return by_grammar
    if a_question:
        by_grammar, problem = None, NotCoveredError("it is a question that is not answered here")
    if isinstance(problem, AmbiguityError) or (isinstance(problem, GoalError) and not model_first):
        raise problem
    reason = str(problem or "")
    if not model_first:
        _check_sayable(domain, world, words, problem, instead)
    unread = problem.words if isinstance(problem, NotCoveredError) else ()
    if clarifications:  # a model does not know what was answered
        raise GoalError(f"the sentence is not understood: {reason}{instead()}", unread)
    unclear = getattr(problem, "ambiguity", None)
    try:
        read = readings(domain, world, sentence, ask, shown, by_grammar)
    except NoModelError as error:
        why = f"{instead()}. {str(error)[:1].upper()}{str(error)[1:]}"
    except ModelError as error:
        why = f"{instead()} (the model that could help did not answer: {error})"
    else:
        if by_grammar is not None:
            return _both(domain, world, by_grammar, read, agreement)
        return _by_model(domain, world, words, read, agreement, instead, problem, a_question)
    if by_grammar is not None:
        return by_grammar
    if isinstance(problem, GoalError):
        raise problem
    message = f"the sentence is not understood: {reason}{why}"
    raise AmbiguityError(message, unclear.question, unread) if unclear else GoalError(message, unread)


def compared(domain: Domain, world: World, sentence: str, reading: Reading, ask: Ask) -> Reading:
    """The reading, where a model finds that it adds nothing to the sentence and loses nothing; else AmbiguityError asks
    a person whether it is meant, also where the model gives no answer.
    """
    request = ChatRequest(comparison_messages(world, sentence, reading.understood))
    try:
        rows, replies, problem = ask_until_read(
            lambda r: ask(r.messages, comparison_schema()), request, lambda reply: parse_comparison(whole(reply))
        )
    except ModelError as error:
        raise _doubted(
            domain, world, [reading], f"the reading could not be compared with the sentence: {error}"
        ) from error
    for _, (adds, loses) in rows[:1]:
        parts = [f"{word}: {', '.join(said)[:200]}" for word, said in (("adds", adds), ("loses", loses)) if said]
        if not parts:
            return replace(reading, usage=reading.usage + replies.usage)
        problem = f"a model finds that the reading {'; '.join(parts)}"
    raise _doubted(domain, world, [reading], problem or "the reading could not be compared with the sentence")


def _by_grammar(
    domain: Domain, world: World, sentence: str, clarifications: Sequence[Clarification]
) -> tuple[Reading | None, Exception | None]:
    """The grammar's reading, or what it finds wrong with the sentence."""
    try:
        reading = read_sentence(domain, world, sentence, clarifications)
        before = tuple(checked_goal(domain, world, step) for step in reading.before)
        goal = checked_goal(domain, world, reading.goal)
        words = reading.understood or understood(domain, world, goal)  # literals in formal notation come without words
        return replace(reading, goal=goal, before=before, understood=words), None
    except (GoalError, NotCoveredError) as error:
        return None, error


def _check_sayable(
    domain: Domain, world: World, words: tuple[str, ...], problem: Exception | None, instead: Callable[[], str]
) -> None:
    """Raise GoalError for a sentence with a word that a model of unknown worth would leave out or turn round."""
    mended = SentenceVocabulary(domain, world).spelled(words)  # "exept" is a slip of a word that must not be lost
    unread: tuple[str, ...] = getattr(problem, "words", ())
    for said, why in unsaid(mended, domain):
        strange = [w for w in unread if w != said]
        first = f"{problem}; it" if strange else "it"
        raise GoalError(f"the sentence is not understood: {first} says {said!r}; {why}{instead()}", [*strange, said])
    for said in [w for w in mended if w in english()["negations"]]:
        raise GoalError(
            f"the sentence is not understood: {problem}; it says {said!r}, so no model is asked{instead()}",
            [*(w for w in unread if w != said), said],
        )


def _by_model(
    domain: Domain,
    world: World,
    words: tuple[str, ...],
    read: Readings,
    agreement: float,
    instead: Callable[[], str],
    problem: Exception | None,
    a_question: bool,
) -> Reading:
    """The reading of a model alone; a person is asked about one that the grammar refuses, or that leaves words out."""
    reason, refused = str(problem or ""), isinstance(problem, GoalError)
    found = _agreed(domain, world, read, agreement, instead, getattr(problem, "ambiguity", None), reason)
    if a_question and not found.answer:
        raise GoalError(f"that is a question, and nothing is done for it; {reason}{instead()}")
    said = SentenceVocabulary(domain, world).spelled(words)
    doubt = reason if refused else f"no part of it says {', '.join(found.not_covered)}" if found.not_covered else ""
    if doubt and not found.answer:
        doubt += "; a model read it otherwise" if refused else ""
        raise _doubted(domain, world, [found], doubt, found.not_covered)
    notes = _guessed(domain, world, said, found.goal)
    told = f"{found.understood} ({'; '.join(notes)})" if found.goal else ""
    return replace(found, usage=read.replies.usage, understood=told)


def _both(domain: Domain, world: World, by_grammar: Reading, read: Readings, agreement: float) -> Reading:
    """The reading of grammar and model where they agree; else a person is asked which is meant."""
    said, votes = read.found.most_common(1)[0] if read.found else (None, 0)
    by_grammar = replace(by_grammar, usage=read.replies.usage)
    if said is None:
        return by_grammar
    other = said.reading
    if _same(domain, other, by_grammar):
        return by_grammar
    if votes > agreement * len(read.replies.replies):
        others = [Reading(goal, "model") for goal in said.choices if {*goal} != {*by_grammar.goal}]
        if others := [other] if other.goal and said.kind == "task" else others:
            raise _doubted(domain, world, [by_grammar, *others], "grammar and model read the sentence differently")
    raise _doubted(domain, world, [by_grammar], "the model found no such task in the sentence")


def _same(domain: Domain, one: Reading, other: Reading) -> bool:
    """Whether two readings are the same task."""
    goals = _without_near(domain, one.goal), _without_near(domain, other.goal)
    steps = [[{*step} for step in reading.before] for reading in (one, other)]
    return goals[0] == goals[1] and steps[0] == steps[1] and {*one.keep} == {*other.keep}


def _without_near(domain: Domain, goal: Sequence[Literal]) -> set[Literal]:
    """A goal without what the grammar adds to "to the left of" and the like: that it is near."""
    notes = domain.extra.get("goals") or {}
    beside = {g.args for g in goal if g.predicate in notes.get("beside", ()) and g.predicate != notes.get("put_beside")}
    return {g for g in goal if not (g.positive and g.predicate == notes.get("put_beside") and g.args in beside)}


def _doubted(
    domain: Domain, world: World, read: Sequence[Reading], doubt: str, left: Sequence[str] = ()
) -> AmbiguityError:
    """The question which of some readings is meant, or whether one is. left: words that none of them covers."""
    ways = " or: ".join(r.understood[:200] or domain.phrases(r.goal) for r in read)
    return AmbiguityError(
        f"{doubt} ({ways}); say it in other words", which_reading(domain, world, read, "model", doubt), left
    )


@dataclass(frozen=True)
class Said:
    """One reply, checked. kind: one of READING_KINDS; choices: goals that may be meant; left: words it cannot say."""

    kind: str
    reading: Reading = field(default_factory=lambda: Reading((), "model"))
    choices: tuple[tuple[Literal, ...], ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Readings:
    """A model's readings of a sentence with their number. problem: what is wrong with the last reply that could not be
    read, or that does not cover the sentence.
    """

    found: Counter[Said]
    replies: ChatReplies
    problem: str

    @property
    def goals(self) -> Counter[tuple[Literal, ...]]:
        """The goals with their number, () where a reply says that the sentence has none."""
        return Counter({said.reading.goal: number for said, number in self.found.items()})


def readings(
    domain: Domain,
    world: World,
    sentence: str,
    ask: Ask,
    shown: World | None = None,
    by_grammar: Reading | None = None,
) -> Readings:
    """Ask a model what a sentence means, once more where no reply can be read; raises ModelError.

    by_grammar: where a reply is the same, it need not tell how it came about.
    """
    seen, sayable = shown or world, without(domain, world.actions_off)
    schema = reading_schema(sayable, max_literals=MAX_LITERALS)

    def read(reply: ChatReply) -> Said:
        written = parse_reading(whole(reply))  # one without its end may lack a condition
        if written.kind == "unclear":
            return Said("unclear", choices=checked_choices(domain, world, sentence, written))
        if written.kind == "cannot" or not (written.goal or written.any_of):
            return Said("cannot", left=written.not_covered)
        if by_grammar is not None and written.kind == "task" and not written.any_of:
            states = [checked_goal(domain, world, of) for of in ((*written.goal, *written.keep), *written.before)]
            if _same(
                domain, replace(by_grammar, goal=states[0], before=tuple(states[1:]), keep=written.keep), by_grammar
            ):
                return Said("task", by_grammar)
        return Said(written.kind, checked_reading(domain, world, sentence, written))

    request = ChatRequest(goal_messages(sayable, seen, sentence))
    rows, replies, problem = ask_until_read(lambda r: ask(r.messages, schema), request, read)
    return Readings(Counter(said for _, said in rows), replies, problem)


def _guessed(domain: Domain, world: World, words: tuple[str, ...], goal: tuple[Literal, ...]) -> list[str]:
    """Notes on objects in a model's goal that no word of the sentence names."""
    names = SentenceVocabulary(domain, world).names()
    said = {names.singular(w) for w in words}
    named = {n for n in world.by_name if n in said or said & names.heads[n]}
    guessed = sorted({a for g in goal for a in g.args} - named)
    return (
        [f"a model read this; no word of the sentence names {', '.join(map(spoken, guessed))}"]
        if guessed
        else ["a model read this"]
    )


def _instead(domain: Domain, world: World, words: tuple[str, ...]) -> str:
    """Suggested sentences, as the end of a message."""
    if {*words} & {*english()["negations"]}:  # an order among the examples might be what was forbidden
        return "; what must never be done is a rule (planweave rules)"
    examples = nearest(domain, world, words)
    if not examples:
        here = SentenceVocabulary(domain, world).names().seen()
        return f". What can be read is how something is to be in the end, of what is seen: {here}"
    return ". What can be read, for example: " + ", ".join(f'"{e}"' for e in examples)


def _agreed(
    domain: Domain,
    world: World,
    read: Readings,
    agreement: float,
    instead: Callable[[], str],
    unclear: AmbiguityError | None,
    reason: str,
) -> Reading:
    """The task or answer that enough replies agree on. unclear: what the grammar would ask, asked where there is none;
    reason: why the grammar read no goal.
    """
    tasks = [said.reading for said, _ in read.found.most_common() if said.kind == "task"]
    said, votes = read.found.most_common(1)[0] if read.found else (Said("cannot"), 0)
    agreed = votes > agreement * len(read.replies.replies)
    if agreed and said.kind in ("task", "question"):
        return said.reading
    unread = f"the sentence is not understood: {reason}; a model can only guess"
    if agreed and said.kind == "unclear" and said.choices:
        ways = " or: ".join(domain.phrases(goal) for goal in said.choices)
        message = f"the sentence can be meant in several ways ({ways[:400]}); say which{instead()}"
        meant = [Reading(goal, "model") for goal in said.choices]
        raise AmbiguityError(message, which_reading(domain, world, meant, "model"))
    if tasks and not agreed:
        shown = "; or ".join(task.understood[:150] for task in tasks[:2])
        message = f"the model's replies disagree on the goal of the sentence ({shown}){instead()}"
        raise AmbiguityError(message, which_reading(domain, world, tasks[:_READINGS], "model", unread))
    problem = "it says that none of the conditions and objects known here is asked for" if read.found else read.problem
    if said.left:
        problem = f"nothing known here says {', '.join(map(repr, said.left))}"
    message = f"the model found no goal that can hold in the sentence ({problem[:300]}){instead()}"
    raise AmbiguityError(message, unclear.question, said.left) if unclear else GoalError(message, said.left)


PROMPT = Path(__file__).resolve().parents[1] / "prompts" / "goal" / "system.txt"


def known_readers() -> Path:
    """The file, $XDG_STATE_HOME/planweave/readers.json."""
    return state_dir() / "readers.json"


def reads_rightly(endpoint: str, model: str) -> bool | None:
    """Whether a model answered all reading questions, with the prompt of this version, rightly; None where it was not
    asked them.
    """
    return _content().get(_key(endpoint, model))


def record_reader(endpoint: str, model: str, right: bool) -> None:
    """Keep what was found of a model; where the file cannot be written, nothing is kept."""
    path = known_readers()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({**_content(), _key(endpoint, model): right}, indent=1), encoding="utf-8")
        written.replace(path)


def _content() -> dict[str, bool]:
    try:
        content = json.loads(known_readers().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@lru_cache(maxsize=16)
def _key(endpoint: str, model: str) -> str:
    return f"{endpoint} {model} {hashlib.sha256(PROMPT.read_bytes()).hexdigest()[:12]}"
