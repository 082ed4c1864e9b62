"""Tables drawn at random for training or judging, and what is true of the things on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.colours import COLOURS, colour_word
from planweave.perception.detection import Detection
from planweave.perception.region_features import measures, picture
from training.region_head.renders import Studio, Wanted
from training.region_head.words import FRUIT, HELD_THINGS, NOUNS, Rgb, all_shades, is_held_pair, train_shades

NATURAL: dict[str, tuple[Rgb, ...]] = {
    "banana": ((240, 205, 40), (225, 200, 70)),
    "pear": ((150, 175, 40), (200, 190, 70)),
    "apple": ((195, 20, 20), (120, 170, 45), (215, 60, 40)),
    "orange": ((245, 120, 15), (235, 140, 30)),
    "strawberry": ((205, 20, 25), (220, 45, 40)),
    "lemon": ((245, 215, 45), (250, 225, 80)),
}
SMALL, LARGE = (0.72, 0.84), (1.18, 1.34)
_SURE_SIZE = 0.88, 1.12
_SAME, _OTHER = 9.0, 24.0  # distances in CIE Lab: a shade's name is right up to the first, wrong from the second on
_OTHER_BASIC = 38.0


@dataclass(frozen=True)
class Sample:
    """One thing as perception saw it, and the truth about it. shade: "" for fruit in its natural colour."""

    picture: np.ndarray
    measures: np.ndarray
    said: Detection
    thing: str
    shade: str
    rgb: Rgb
    scale: float


@dataclass(frozen=True)
class Phrase:
    """A description; what is "" is not said. thing: what the noun stands for."""

    noun: str
    thing: str
    shade: str = ""
    size: str = ""

    @property
    def text(self) -> str:
        return " ".join(word for word in (self.size, self.shade, self.noun) if word)


def draw(rng: np.random.Generator, count: int, held_pairs: bool = False, held_shades: bool = False,
         held_things: bool = False) -> list[tuple[Wanted, str]]:  # fmt: skip
    """Things for one table with the names of their shades.

    Nothing that is held out, or for each of the three only what is held out in that way.
    """
    known = train_shades()
    shades = {n: c for n, c in all_shades().items() if n not in known and " " not in n} if held_shades else known
    names, things = list(shades), list(HELD_THINGS) if held_things else list(NOUNS)
    drawn: list[tuple[Wanted, str]] = []
    while len(drawn) < count:
        thing = str(rng.choice(things))
        scale = float(rng.uniform(*((SMALL, LARGE, (0.92, 1.08))[int(rng.integers(3))])))
        if thing in FRUIT and not held_shades and rng.random() < 0.8:
            natural = NATURAL[thing]
            drawn.append((Wanted(thing, _jitter(rng, natural[int(rng.integers(len(natural)))]), scale), ""))
            continue
        shade = str(rng.choice(names))
        if not held_shades and rng.random() < 0.3:
            shade = str(rng.choice([c for c in COLOURS if c in shades]))
        if thing in FRUIT or is_held_pair(shades[shade], thing) != held_pairs:
            if held_things or (held_shades and thing not in FRUIT):
                pass
            else:
                continue
        drawn.append((Wanted(thing, _jitter(rng, shades[shade]), scale), shade))
    return drawn


def _jitter(rng: np.random.Generator, rgb: Rgb) -> Rgb:
    red, green, blue = (int(np.clip(c + rng.normal(scale=5), 0, 255)) for c in rgb)
    return red, green, blue


def tables(studio: Studio, count: int, poses: int, things: int = 10, **held: bool) -> Iterator[list[Sample]]:
    """The samples of every shot of `count` tables."""
    for _ in range(count):
        drawn = draw(studio.rng, things, **held)
        for shot in studio.shoot([wanted for wanted, _ in drawn], poses):
            samples = []
            for seen in shot.seen:
                wanted, shade = drawn[seen.index]
                samples.append(
                    Sample(picture(seen.region), measures(seen.region, shot.pixel), seen.detection, wanted.thing, shade,
                           wanted.rgb, wanted.scale)
                )  # fmt: skip
            yield samples


def describe(rng: np.random.Generator, sample: Sample, say_size: float = 0.25, say_shade: float = 0.85) -> Phrase:
    """A true phrase in words of the training."""
    noun = str(rng.choice(NOUNS[sample.thing][0]))
    shade = sample.shade if rng.random() < say_shade else ""
    if shade and rng.random() < 0.35:
        shade = colour_word(*sample.rgb)
    size = "small" if sample.scale < _SURE_SIZE[0] else "large" if sample.scale > _SURE_SIZE[1] else ""
    return Phrase(noun, sample.thing, shade, size if rng.random() < say_size else "")


def truth(samples: Sequence[Sample], phrases: Sequence[Phrase], things: Sequence[str] | None = None) -> np.ndarray:
    """(samples, phrases): 1 where a phrase is true of a sample, 0 where it is wrong, -1 where people would argue."""
    shades = all_shades()
    result = np.ones((len(samples), len(phrases)), np.int8)
    lab = lab_of([s.rgb for s in samples])
    for name in {p.shade for p in phrases if p.shade}:
        columns = [j for j, p in enumerate(phrases) if p.shade == name]
        away = np.linalg.norm(lab - lab_of([shades.get(name, (10, 200, 210))])[0], axis=1)
        if name in COLOURS:
            same = np.array([colour_word(*s.rgb) == name for s in samples])
            right = np.where(same, 1, np.where(away > _OTHER_BASIC, 0, -1))
        else:
            right = np.where(away < _SAME, 1, np.where(away > _OTHER, 0, -1))
            right = np.where([s.shade == name for s in samples], 1, right)
        for j in columns:
            result[:, j] = _both(result[:, j], right)
    scale = np.array([s.scale for s in samples])
    for j, phrase in enumerate(phrases):
        same = np.array([s.thing == phrase.thing for s in samples])
        result[:, j] = _both(result[:, j], same.astype(np.int8))
        if phrase.size:
            fits = scale < _SURE_SIZE[0] if phrase.size == "small" else scale > _SURE_SIZE[1]
            wrong = scale > _SURE_SIZE[1] if phrase.size == "small" else scale < _SURE_SIZE[0]
            result[:, j] = _both(result[:, j], np.where(fits, 1, np.where(wrong, 0, -1)))
    return result


def _both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((a == 0) | (b == 0), 0, np.where((a == -1) | (b == -1), -1, 1)).astype(np.int8)


def lab_of(colours: Sequence[Rgb]) -> np.ndarray:
    """(n, 3) CIE Lab."""
    rgb = np.array(colours, np.float32).reshape(1, -1, 3) / 255
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB)[0]
