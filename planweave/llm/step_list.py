"""Tolerant parsing of numbered steps in a model's reply. For any text only ParseError is raised."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.base.errors import ParseError
from planweave.llm.parsing import agreed, bounded

MAX_CHARACTERS = 100_000
MAX_STEPS = 200
MAX_STEP = 300  # characters
MAX_LINE = 2000  # characters of a line that are read
_NUMBERED = re.compile(r"(?i)\A\s{0,20}[*#]{0,3}\s?(?:step\s{0,3})?\(?(\d{1,4})\s{0,3}[.:)\]-]{1,2}[*]{0,2}\s*(.*)\Z")
_BULLET = re.compile(r"\A\s{0,20}[-*+•]\s+(.*)\Z")
_END = re.compile(r"\A\W*(?:done|end|finished|stop|task (?:is )?(?:done|complete[d]?))\W*\Z", re.IGNORECASE)
_LABEL = re.compile(
    r"(?im)^[\s*#]{0,6}(?:updated |new |revised )?"
    r"(?:plan|step-by-step (?:plans?|instructions?))\s*:?[\s*]*$"
)


def numbered_steps(text: str, start: int = 0, done: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    """Steps from number `start` on, and the text before them.

    done: the steps that stand before `start`. A list that repeats them from 0 is cut; one that counts anew from 0 or 1
    is taken as the steps from `start` on; of several lists the one that begins at `start` is taken. A step that says
    "Done" ends the list. Raises ParseError where there are no steps, or numbers fall and no list begins at start, and
    SeveralAnswersError where lists that begin there, or a list after them, differ.
    """
    bounded(text, MAX_CHARACTERS)
    # Without runs of white space, over which some patterns would take time that grows with the square of their length.
    lines = [" ".join(line[:MAX_LINE].split()) for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("```")]
    runs, first = _runs(lines, start)
    if not runs:
        raise ParseError(f'no numbered steps in the reply {text[:100]!r}; expected lines such as "{start}: …"')
    at = next((i for i, r in enumerate(runs) if r[0][0] == start), len(runs))
    run = agreed((tuple(r) for r in runs[at:]), text)
    if run is None:
        if len(runs) > 1:
            raise ParseError(
                f"the steps are numbered {runs[0][0][0]} to {runs[-1][-1][0]} with repetitions; expected "
                f"one list that begins with {start}"
            )
        run = tuple(runs[0])
        if run[0][0] == 0 and start and [_plain(s) for _, s in run[:start]] == [_plain(s) for s in done[:start]]:
            run = run[start:]
    steps = []
    for _, step in run:
        if _END.match(step):
            break
        if step:
            steps.append(step[:MAX_STEP])
    if not steps and not (run and _END.match(run[0][1])):
        raise ParseError(f"no step in the reply {text[:100]!r} says what to do")
    if len(steps) > MAX_STEPS:
        raise ParseError(f"the reply has {len(steps)} steps; at most {MAX_STEPS} are read")
    return tuple(steps), _explanation(lines[:first])


def _runs(lines: Sequence[str], start: int) -> tuple[list[list[tuple[int, str]]], int]:
    """Lists of steps, and the index of the line where the first begins: with rising numbers, else with bullets on lines
    that follow each other, counted from `start`.
    """
    runs: list[list[tuple[int, str]]] = []
    numbered = [(index, match) for index, line in enumerate(lines) if (match := _NUMBERED.match(line))]
    for _, match in numbered:
        number = int(match.group(1))
        if not runs or number <= runs[-1][-1][0]:
            runs.append([])
        runs[-1].append((number, match.group(2).strip().strip("*").strip()))
    bulleted = [(index, match) for index, line in enumerate(lines) if not runs and (match := _BULLET.match(line))]
    last = -2
    for index, match in bulleted:
        if index != last + 1:
            runs.append([])
        runs[-1].append((start + len(runs[-1]), match.group(1).strip()))
        last = index
    return runs, next((index for index, _ in numbered or bulleted), 0)


def _explanation(lines: Sequence[str]) -> str:
    text = " ".join(line.strip() for line in lines if not _LABEL.match(line))
    return re.sub(r"\A[\s*#]*explanation\s*:[\s*]*", "", text, flags=re.IGNORECASE).strip()[:2000]


def _plain(step: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", step.lower()).strip()
