"""Replies and sentences that nobody would write, put to the real readers: none may crash, hang, or be accepted with
names that do not exist; `python -m benchmarks fuzz`."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doubles.decisions import PROGRAM, STEPS
from doubles.planner_worlds import BLOCKS
from rich.console import Console

from benchmarks import sentences
from benchmarks.figures import Row, figure
from planweave.core.base.errors import GoalError, ModelError, ParseError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.trees.program import Call, read_program
from planweave.goals import checked_goal
from planweave.llm.clients.base import ChatReply
from planweave.llm.clients.completion import read_completion
from planweave.llm.clients.faults import EndpointFault
from planweave.llm.embeddings import HashedEmbedder
from planweave.llm.names import Mender
from planweave.llm.parsing import parse_choice, parse_goal, parse_plan, parse_step
from planweave.llm.reasoning import readable
from planweave.llm.step_list import MAX_STEP, numbered_steps
from planweave.methods.blocking import parse_selection
from planweave.methods.brainbody import parse_command
from planweave.methods.language.conditions import holds_by_rule, parse_condition, parse_truth
from planweave.methods.language.sampled import step_of
from planweave.methods.language.translate import Translator
from planweave.methods.progprompt import completed, joined

LONGEST = 1.0
"""Seconds of processor time that one text may take."""
TOLD = 2000  # characters of a refusal
SLOPE = 1.1  # of log time against log length
TRANSLATED = 20  # one step in so many is also translated, which takes milliseconds
_SURE = 0.02  # s of processor time that are measured once: shorter ones vary, and the least of three counts
Reader = Callable[[str], None]
_CASSETTES = Path(__file__).resolve().parent.parent / "test" / "cassettes"
_TOKENS = (
    *"{}[]()<>\"',:\\",
    *("\n", " ", "\t", "$$", "$", "```", "```json\n", "#"),
    *("def f():\n", "    ", "assert(", "else: ", "if ", "for i in range(99): "),
    *("grasp(", "grasp('", "red_cube", "left_tray", "[grasp] <red_cube> (1)"),
    *('{"plan": [', '{"choice": "', '{"goal": ["', '{"action": "'),
    *("1. ", "0: ", "- ", "Option ", "A", "B.", "True", "false", "END", "done", "<pass>", "<think>", "</think>"),
    *("not ", "in(", "null", "NaN", "Infinity", "1e999", "9" * 50),
    *("é", "日本", "\u202e", "\u0000", "\x1b[2J", "\ud800", "\udfff", "😀", "ﬀ", "İ", "\u00a0", "\u2028"),
    *("../", "%s", "${x}", "__import__('os')", "unicorn", "put_on(unicorn, moon)", "lambda: ", "a" * 200, " " * 300),
)
_WORDS = (
    *("put", "the", "all", "a", "red", "cube", "blue", "in", "on", "left", "tray", "to", "of", "and", "then", "both"),
    *("not", "between", "next", "stack", "move", "everything", "except", "it", "unicorn", "hand", "me", "clear"),
    *("into", "two", "three", ",", ".", "?", "!", "banana", "plate", "swap", "if", "under"),
    *("\u0000", "\ud800", "é", "日本", "9" * 40, "A" * 90),
)


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    readers = reply_readers()
    console.print("time against length …")
    rows = []
    for name, slope in slopes(readers).items():
        of = f"{name}: slope of time against length, 1 kB to 1 MB"
        rows.append(figure(of, f"{slope:.2f}", f"<= {SLOPE}", slope <= SLOPE))
    console.print(f"{options.texts} replies, {len(readers)} readers …")
    rows += _found(
        "replies", put(fuzzed_replies(options.seed, options.texts), readers, as_asked, (ParseError,)), console
    )
    console.print(f"{options.texts} sentences …")
    read = {"sentences": sentence_reader()}
    return rows + _found("sentences", put(fuzzed_sentences(options.seed, options.texts), read), console)


def _found(what: str, found: Found, console: Console) -> list[Row]:
    for fault in found.faults[:20]:
        console.print(f"[red]{what}[/]: {fault}", markup=False)
    return [
        figure(f"fuzzed {what}: texts, readings accepted", f"{found.texts:,}, {found.accepted:,}"),
        figure(f"fuzzed {what}: crashes and unknown names", str(len(found.faults)), "0", not found.faults),
        figure(
            f"fuzzed {what}: longest, processor time",
            f"{found.seconds:.3f} s ({found.slowest})",
            f"<= {LONGEST:g} s",
            found.seconds <= LONGEST,
        ),
    ]


class NotThereError(AssertionError):
    """A reader accepted what does not exist."""


def real_replies() -> list[str]:
    """Texts that models wrote, from the test cassettes where these are there, and some of each form."""
    found = [
        PROGRAM,
        STEPS,
        '{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}',
        '{"choice": "B"}',
        '{"goal": ["in(red_cube, left_tray)"]}',
        "$$ grasp red_cube $$",
        "<rob0>[grasp] <red_cube>",
        "True",
        '{"action": "grasp(red_cube)"}',
        "Pick up the red cube",
        "1. grasp(red_cube)\n2. END",
    ]
    for path in sorted(_CASSETTES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("{"):
                found += [reply["text"] for reply in json.loads(line)["reply"]["replies"]]
    return sorted(set(found))


def fuzzed_replies(seed: int, count: int) -> Iterator[str]:
    """Mutations of real replies and texts of the readers' own tokens; one in 500 is huge."""
    chance, real = random.Random(seed), real_replies()
    for number in range(count):
        if number % 500 == 499:
            unit = chance.choice(_TOKENS) + chance.choice(_TOKENS)
            yield (unit * (200_000 // len(unit)))[: chance.randint(1000, 200_000)]
        elif chance.random() < 0.6:
            yield _mutated(chance, chance.choice(real), real)
        else:
            yield "".join(chance.choice(_TOKENS) for _ in range(min(400, int(chance.expovariate(0.05)) + 1)))


def _mutated(chance: random.Random, text: str, others: Sequence[str]) -> str:
    for _ in range(chance.randint(1, 5)):
        begin = chance.randrange(len(text) + 1)
        end = min(len(text), begin + int(chance.expovariate(0.05)))
        kind = chance.randrange(6)
        if kind == 0:
            text = text[:begin] + text[end:]
        elif kind == 1:
            times = min(chance.choice((1, 2, 50)), 20_000 // (end - begin + 1))
            text = text[:end] + text[begin:end] * times + text[end:]
        elif kind == 2:
            text = text[:begin] + chance.choice(_TOKENS) + text[begin:]
        elif kind == 3:
            text = text[:begin] + chr(chance.choice((chance.randrange(128), chance.randrange(0x10FFFF)))) + text[end:]
        elif kind == 4:
            text = text[:begin] + chance.choice(others)[:2000]
        else:
            depth = chance.choice((1, 30, 3000))
            text = text[:begin] + chance.choice("[{(<") * depth + text[begin:]
    return text


def fuzzed_sentences(seed: int, count: int) -> Iterator[str]:
    """Mutations of sentences, and words of the grammar in any order; one in 500 is as long as sentences may be."""
    chance = random.Random(seed)
    real = [
        "put the red cube in the left tray",
        "stack the red cube, the blue cube and the green cube",
        "move the banana to the left of the plate and then put all cubes in the right tray",
        "put everything except the banana on the plate",
        "swap the red cube and the blue cube",
        "what do you see?",
        "put the red cube in the bowl and all between it and the pear next to the plate",
        "hand me the banana",
    ]
    for number in range(count):
        if number % 500 == 499:
            yield " ".join(chance.choice(_WORDS) for _ in range(600))[:2000]
        elif chance.random() < 0.6:
            words = chance.choice(real).split()
            for _ in range(chance.randint(1, 4)):
                at = chance.randrange(len(words) + 1)
                words[at : at + chance.randint(0, 2)] = chance.choices(_WORDS, k=chance.randint(0, 2))
            yield " ".join(words)
        else:
            yield " ".join(chance.choices(_WORDS, k=chance.randint(1, 15)))


def reply_readers() -> dict[str, Reader]:
    """All that reads replies, each with a check of what it accepted; a PlanweaveError means: nothing."""
    world, domain = BLOCKS, Domain.load(BLOCKS.domain)
    translator = Translator(domain, world, HashedEmbedder())
    arity = {n: len(s.parameters) for n, s in domain.actions.items()}
    options = [Action.parse(a) for a in ("grasp(red_cube)", "grasp(banana)", "place_in(banana, plate)")]
    turn = iter(range(10**9))

    def there(actions: Sequence[Action]) -> None:
        for action in actions:
            try:
                domain.check_action(action, world)
            except PlanweaveError as error:
                raise NotThereError(str(error)) from None

    def mended(actions: Sequence[Action]) -> None:
        steps = Mender(domain, world).plan(actions)
        there([s.action for s in steps or ()])

    def goal(text: str) -> None:
        read = parse_goal(text)
        try:
            checked = checked_goal(domain, world, read)
        except GoalError as error:  # of what was read
            raise ParseError(str(error)) from None
        for literal in checked:
            domain.check_literal(literal, world)

    def choice(text: str) -> None:
        if not 0 <= parse_choice(text, 5) < 5:
            raise NotThereError("an option that there is not")

    def one(action: Action | None) -> None:
        mended([action] if action else [])

    def program(text: str) -> None:
        whole = completed(joined(text[: len(text) // 2], text[len(text) // 2 :]), "def task():", domain)
        for statement in read_program(whole, arity).body:
            if isinstance(statement, Call) and len(statement.args) != arity[statement.name]:
                raise NotThereError(str(statement))

    def steps(text: str) -> None:
        if any(len(s) > MAX_STEP for s in numbered_steps(text, 0)[0]):
            raise NotThereError("a step that is too long")

    def step(text: str) -> None:
        said = step_of(text)
        if said and next(turn) % TRANSLATED == 0:
            there(translator.nearest(said).actions)

    def condition(text: str) -> None:
        holds_by_rule(domain, world, parse_condition(text))

    return {
        "plans": lambda t: mended(parse_plan(t)),
        "goals": goal,
        "choices": choice,
        "steps": lambda t: one(parse_step(t)),
        "commands": lambda t: one(parse_command(t)),
        "programs": program,
        "numbered steps": steps,
        "free steps": step,
        "selections": lambda t: _in_range(parse_selection(t, options, domain), len(options)),
        "true or false": lambda t: _none(parse_truth(t)),
        "conditions": condition,
        "HTTP answers": _answer,
    }


def _answer(text: str) -> None:
    logprob = f'{{"content": [{{"token": "t", "logprob": {text[:20] or 0}}}]}}'
    for body in (text, f'{{"choices": [{{"message": {{"content": "x"}}, "logprobs": {logprob}}}]}}'):
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = body
        try:
            replies, _, _ = read_completion(value)
        except EndpointFault:
            continue
        if any(r.logprob is not None and not math.isfinite(r.logprob) for r in replies):
            raise NotThereError("a log-probability that is not finite")


def sentence_reader() -> Reader:
    """The reader of sentences, without a model."""
    world, domain = BLOCKS, Domain.load(BLOCKS.domain)

    def checked(text: str) -> None:
        for literal in sentences.read(domain, world, text).goal:
            try:
                domain.check_literal(literal, world)
            except PlanweaveError as error:
                raise NotThereError(str(error)) from None

    return checked


def _in_range(index: int, count: int) -> None:
    if not 0 <= index < count:
        raise NotThereError("an option that there is not")


def _none(value: bool) -> None:
    if not isinstance(value, bool):
        raise NotThereError("neither true nor false")


@dataclass
class Found:
    """Outcome of some texts. seconds: of processor time, the longest of one text in one reader."""

    texts: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest: str = ""
    faults: list[str] = field(default_factory=list)


def put(
    texts: Iterator[str],
    readers: dict[str, Reader],
    prepare: Callable[[str], str] = lambda t: t,
    refusals: tuple[type[Exception], ...] = (PlanweaveError, ModelError),
) -> Found:
    """Outcome of texts; a refusal that is none of these, or as long as a reply, is a fault."""
    found = Found()
    for text in texts:
        found.texts += 1
        plain = prepare(text)
        for name, read in readers.items():
            begin = time.thread_time()
            try:
                read(plain)
                found.accepted += 1
            except Exception as error:
                if not isinstance(error, refusals) or len(str(error)) >= TOLD:
                    found.faults.append(f"{name}: {type(error).__name__}: {error!s:.200} at {text[:200]!r}")
            seconds = time.thread_time() - begin
            if seconds > found.seconds:
                found.seconds, found.slowest = seconds, f"{name} at {len(text)} characters of {text[:60]!r}"
    return found


def as_asked(text: str) -> str:
    """A reply's text as readers get it."""
    return readable(ChatReply(text)).text


UNITS = (
    *("<think>", "a", "(", "[", "{", "$$ ", "\n", " ", "0: a\n", "assert(a ", "assert ", "option ", '{"a":'),
    *("[a]<b>(1)", "plan ", "#\n", "a(a,", "- ", '"', "def f():\n", "A ", "plan: ", "'a' in ", "<a", "\t"),
    *("else:\n", "f(a)\n", "9", "a b ", "1. ", "[a] <", "grasp(a) ", ' "', "_", "(1) <", "</think", "Step 1"),
)


def slopes(
    readers: dict[str, Reader], lengths: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)
) -> dict[str, float]:
    """Log-log slope of processor time against a reply's length, of the unit of text that is worst for each reader.

    From the shortest length that takes a millisecond on, since below it the clock and fixed costs are measured; 0 where
    there is no such length, or one only.
    """
    *shorter, longest = lengths
    worst = {}
    for name, read in readers.items():
        steepest = 0.0
        for unit in UNITS:
            measured = ((n, _seconds(read, unit, n)) for n in shorter)
            n0, s0 = next(((n, s) for n, s in measured if s >= 1e-3), (longest, 0.0))
            if n0 < longest:
                steepest = max(steepest, math.log(_seconds(read, unit, longest) / s0) / math.log(longest / n0))
        worst[name] = steepest
    return worst


def _seconds(read: Reader, unit: str, length: int) -> float:
    best, text = math.inf, (unit * (length // len(unit) + 1))[:length]
    for _ in range(3):
        begin = time.thread_time()
        with contextlib.suppress(PlanweaveError):
            read(as_asked(text))
        best = min(best, time.thread_time() - begin)
        if best > _SURE:
            break
    return best
