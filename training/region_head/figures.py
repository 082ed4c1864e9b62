"""Accuracy of the region head on what it was not trained on, against `attributes`.

python -m training.region_head.figures [--tables 150]

Every case is a table of eight things and eight phrases, one true of each; every thing seen gets one of the phrases.
Counted is the share of things that get theirs, or one that is as true of them. Chance is one in eight. Shown with a
95 % confidence interval (bootstrap over tables).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.colours import colour_word
from planweave.perception.region_head import RegionHead, fitting, load_region_head, softmax
from training.region_head.renders import Studio
from training.region_head.samples import Phrase, Sample, lab_of, tables, truth
from training.region_head.words import HELD_THINGS, NOUNS

THINGS = 8
SEED = 20_000  # far from the training's
Namer = Callable[[Sequence[Sample], Sequence[Phrase]], np.ndarray]
"""(samples, phrases) -> scores."""


@dataclass(frozen=True)
class Split:
    """Held-out part: keywords of samples.draw, and which words the phrases take."""

    title: str
    draw: dict[str, bool]
    held_nouns: bool = False
    shade: str = "own"  # own: the shade's name; basic: its colour word


SPLITS = {
    "seen": Split("new tables of trained things, shades and words", {}),
    "pairs": Split("colour and thing never seen together", {"held_pairs": True}, shade="basic"),
    "shades": Split("names of shades never heard (crimson block)", {"held_shades": True}),
    "synonyms": Split("nouns never heard (tin, dice, goblet)", {}, held_nouns=True),
    "things": Split("things never seen, nouns never heard (mug, jar, pyramid)", {"held_things": True}, shade="basic"),
    "everything": Split("things, nouns and shades all new", {"held_things": True, "held_shades": True}),
}


def cases(split: Split, count: int, seed: int = SEED) -> list[tuple[list[Sample], list[Phrase]]]:
    """Tables with their phrases; no phrase is said twice."""
    studio = Studio(seed)
    result = []
    for samples in tables(studio, count, 1, THINGS, **split.draw):
        phrases = [_phrase(studio.rng, s, split) for s in samples]
        kept = [k for k, p in enumerate(phrases) if p is not None and p.text not in {q.text for q in phrases[:k] if q}]
        chosen = [phrase for k in kept if (phrase := phrases[k]) is not None]
        if len(chosen) > 2:
            result.append(([samples[k] for k in kept], chosen))
    return result


def _phrase(rng: np.random.Generator, sample: Sample, split: Split) -> Phrase | None:
    said, held = NOUNS.get(sample.thing, ((), HELD_THINGS.get(sample.thing, ())))
    nouns = held if split.held_nouns or sample.thing in HELD_THINGS else said
    if not nouns:
        return None
    shade = sample.shade
    if shade and split.shade == "basic":
        shade = colour_word(*sample.rgb)
    return Phrase(str(rng.choice(nouns)), sample.thing, shade)


def by_head(head: RegionHead) -> Namer:
    """The region head."""

    def score(samples: Sequence[Sample], phrases: Sequence[Phrase]) -> np.ndarray:
        parts = [head.read(p.text) for p in phrases]
        return head.logits(np.stack([s.picture for s in samples]), np.stack([s.measures for s in samples]), parts)

    return score


def by_attributes(samples: Sequence[Sample], phrases: Sequence[Phrase]) -> np.ndarray:
    """`attributes` as it is: the phrase that shares most words with what it says; the noun counts more."""
    return np.array([
        [2.0 * (s.said.class_name == p.noun) + 1.0 * (s.said.colour == p.shade) for p in phrases] for s in samples
    ])  # fmt: skip


def by_attributes_and_words(head: RegionHead) -> Namer:
    """`attributes` with the head's knowledge of words: its class is near a noun, its colour near a shade."""

    def score(samples: Sequence[Sample], phrases: Sequence[Phrase]) -> np.ndarray:
        parts = [head.read(p.text) for p in phrases]
        nouns = np.stack([p.noun for p in parts])
        own = np.stack([head.read(s.said.class_name).noun for s in samples])
        shades = np.stack([p.shade for p in parts])
        seen = lab_of([tuple(int(c) for c in s.said.rgb) for s in samples]) / 100  # type: ignore[misc]
        away = np.linalg.norm(seen[:, None] - shades[None], axis=2)
        said = np.array([p.has_shade for p in parts])
        return own @ nouns.T + np.where(said[None] > 0, 0.6 - 1.5 * away, 0.0)

    return score


def shares(namer: Namer, given: Sequence[tuple[list[Sample], list[Phrase]]]) -> np.ndarray:
    """(tables, 2): things named rightly, and things. Where several phrases score alike each counts its share."""
    rows = []
    for samples, phrases in given:
        scores, right = namer(samples, phrases), truth(samples, phrases) == 1
        best = np.isclose(scores, scores.max(axis=1, keepdims=True))
        np.fill_diagonal(right, True)
        rows.append(((best * right).sum(axis=1) / best.sum(axis=1)).sum())
    return np.column_stack((rows, [len(samples) for samples, _ in given]))


def refusals(head: RegionHead, given: Sequence[tuple[list[Sample], list[Phrase]]]) -> tuple[float, float]:
    """Shares of things left without a name among the phrases of their own table, and of things given one of the next
    table's phrases that is not true of them, with the detector's rule of what fits."""
    unnamed = wrong = total = 0
    for (samples, own), (_, others) in zip(given, (*given[1:], given[0])):
        for phrases, right in ((own, False), (others, True)):
            parts = [head.read(p.text) for p in phrases]
            pictures, numbers = (np.stack([getattr(s, what) for s in samples]) for what in ("picture", "measures"))
            logits, fits = head.judge(pictures, numbers, parts)
            kept = fitting(softmax(logits) * fits)
            named = kept.max(axis=1) > 0
            if right:
                true = truth(samples, phrases)[np.arange(len(samples)), kept.argmax(axis=1)] == 1
                wrong += int((named & ~true).sum())
            else:
                unnamed += int((~named).sum())
        total += len(samples)
    return unnamed / total, wrong / total


def interval(counts: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Share with its 95 % interval, per cent."""
    rng = np.random.default_rng(seed)
    draws = counts[rng.integers(len(counts), size=(2000, len(counts)))].sum(axis=1)
    low, high = np.percentile(100 * draws[:, 0] / draws[:, 1], (2.5, 97.5))
    return 100 * counts[:, 0].sum() / counts[:, 1].sum(), float(low), float(high)


def main() -> None:
    """Print the table of docs/perception.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=150)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    head = load_region_head()
    namers = {"attributes": by_attributes, "attributes + words": by_attributes_and_words(head), "head": by_head(head)}
    print("| split | things | " + " | ".join(namers) + " | no name | name of another |")
    for name, split in SPLITS.items():
        given = cases(split, arguments.tables, arguments.seed)
        cells = ["{:.1f} ({:.1f} to {:.1f})".format(*interval(shares(namer, given))) for namer in namers.values()]
        cells += [f"{100 * share:.1f}" for share in refusals(head, given)]
        print(f"| {name}: {split.title} | {sum(len(s) for s, _ in given)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
