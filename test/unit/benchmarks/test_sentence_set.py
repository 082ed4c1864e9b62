"""The set of sentences that the bench measures, with words added to them, and rows of their words."""

import random
import re
import time
from functools import cache

import pytest
from doubles.named_worlds import goal_of, read, world_of

from benchmarks.sentence_set import SENTENCES, judged, sentences
from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.goals.lexicon import english, lexicon
from planweave.goals.sentence_words import is_real

pytestmark = pytest.mark.slow
WORLDS = re.findall(r"^(\w+):", SENTENCES.read_text(encoding="utf-8"), re.MULTILINE)
DOMAIN = Domain.load("tabletop")
#: Words that may be added without a change: they say nothing, or what was said already ("the nearest" of one).
SILENT = (
    {
        "for",  # "except for"
        "coloured",  # after a colour
    }
    | {
        w
        for key in (
            *("nothing_said", "at_ends", "at_first", "the", "all", "both", "things", "one", "particles", "that"),
            *("mass", "then", "wish"),
        )
        for p in english()[key]
        for w in p.split()
    }
    | set(english()["superlatives"])
    | set(english()["move"])
    | {",", ".", "a", "an", "and", "single", "any", "of", "is", "are", "put", "every", "back"}
)
UNKNOWN = [
    *("frobnicate", "heavy", "quickly", "slowly", "twice", "tomorrow", "or", "if", "when", "without", "zzz"),
    *("shiny", "%", "17th"),
]


@cache
def said():
    """All of them: read where a test needs them, since every worker collects this file."""
    found = sentences()
    assert {s.world for s in found} == set(WORLDS)
    return found


@pytest.mark.parametrize("world", WORLDS)
def test_no_sentence_is_read_wrongly(world, monkeypatch):
    monkeypatch.setattr("planweave.methods.language.interpret.nearest", lambda *_: ())  # examples change no verdict
    verdicts = [judged(s, read) for s in said() if s.world == world]
    assert not [f"{v.sentence.text!r} -> {v.said}" for v in verdicts if v.verdict == "wrong"]
    refused = [v.sentence.text for v in verdicts if v.verdict == "refused" and not v.sentence.may_refuse]
    assert not refused


def test_an_unknown_word_makes_a_sentence_unread():
    chance = random.Random(3)
    for one in chance.sample([s for s in said() if s.goals], 100):
        domain, world = world_of(one.world)
        words = one.text.split()
        if goal_of(domain, world, one.text):
            for strange in chance.sample(UNKNOWN, 3):
                at = chance.randrange(len(words) + 1)
                text = " ".join([*words[:at], strange, *words[at:]])
                assert goal_of(domain, world, text) is None, text


def test_a_known_word_that_is_added_is_used_or_makes_the_sentence_unread():
    chance, same = random.Random(5), []
    known = {w for s in said() for w in s.text.lower().split() if w.isalpha() and is_real(w)}  # no slips
    known |= {w for w in lexicon(DOMAIN).words if w.isalpha()}
    known -= SILENT | {*english()["colours"], *english()["same"]}  # a colour may be the thing's own
    known = sorted(known)
    for one in chance.sample([s for s in said() if s.goals], 80):
        domain, world = world_of(one.world)
        words, goal = one.text.split(), goal_of(domain, world, one.text)
        if not goal:
            continue
        for added in chance.sample(known, 6):
            at = chance.randrange(len(words) + 1)
            text = " ".join([*words[:at], added, *words[at:]])
            if goal_of(domain, world, text) == goal and added not in words:
                same.append(text)
    assert not same


def test_any_row_of_words_is_read_within_known_names_or_not_at_all():
    chance = random.Random(7)
    words = sorted({w for s in said() for w in s.text.lower().replace(",", " , ").split()} | set(UNKNOWN))
    worlds = [world_of(w) for w in WORLDS]
    longest = 0.0
    for _ in range(400):
        domain, world = chance.choice(worlds)
        text = " ".join(chance.choices(words, k=chance.randrange(1, 16)))
        start = time.process_time()
        try:
            got = read(domain, world, text)
        except GoalError as error:
            assert str(error)
        else:
            for literal in got.goal:
                domain.check_literal(literal, world)
            assert got.answer or got.understood
        longest = max(longest, time.process_time() - start)
    assert longest < 1.0
