"""Naming by a model that takes pictures, at an OpenAI-compatible endpoint; each thing is asked for once.

The model is asked in a thread, for the newest image: a reply takes seconds, and images wait for nothing. What has no
name yet is an unknown thing, and what has one keeps it while it is asked for with other words. The same of whether a
stove is on, which is asked for again once its knob was turned.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from planweave.core.base.errors import ConfigError, ModelAnswerError, ModelError
from planweave.geometry.joints import SeenFixture
from planweave.perception.burners import knob_of, top_of, turned
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, View
from planweave.perception.detectors.attributes import detect_by_attributes, parts_of
from planweave.perception.detectors.by_head import ByHead
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import nameable, rename
from planweave.perception.object_classes import UNKNOWN, UNSURE
from planweave.perception.regions import PixelRegion
from planweave.perception.vision_names import Marked, Named, VisionNamer, looks_the_same, owners, vision_client

_SURE = 0.9  # confidence in an answer
_ABOVE = 0.001  # m above the table from which on a thing does not stand on it
_ON_OFF, _REMEMBERED = ("on", "off"), 20  # states of stoves, and as many answers
_SHOWN = 400  # pixels of a stove's top that show whether it is on, at least
_PAUSE = 20.0  # s after a failure in which the model is not asked again


class Vlm:
    """The detector `vlm`. Without a vision model, or while it fails, the region head names instead.

    answered: number of replies so far; names may differ after each.
    """

    def __init__(self, options: Options, environ: Mapping[str, str] = os.environ):
        self._say, self._namer = options.say, None
        self._head = ByHead(options)
        self._jobs: dict[str, Callable[[], None]] = {}  # what waits, by what is asked for
        self._states: list[tuple[Marked, float, str]] = []  # of stoves: looks, how the knob was turned, and the answers
        self._asked, self._asking = threading.Condition(), False
        self._not_before = 0.0
        self.answered = 0
        try:
            self._namer = VisionNamer(vision_client(environ), options.classes, timeout=options.timeout, say=options.say)
        except ConfigError as error:
            options.say(f"{error}; until then region_head gives the names")

    @property
    def waiting(self) -> bool:
        """Whether the model is asked for a name of what was seen last."""
        with self._asked:
            return self._asking or bool(self._jobs)

    def __call__(self, view: View) -> list[Detection]:
        """See Detector."""
        if self._namer is None or time.monotonic() < self._not_before:
            return self._head(view)
        regions = nameable(view)
        if not regions:
            return detect_by_attributes(view)
        things = [_marked(view, view.measured[k][0], region) for k, region in regions.items()]
        words = ", ".join(view.names)
        answers = self._namer.known(things)
        if not self._namer.asked(things, words):
            self._ask("names", partial(self._ask_names, view.rgb, things, words))
        return _named(view, regions, answers)

    def state_of(self, fixture: SeenFixture, view: DepthView) -> str:
        """See StateReader. It is asked anew where the knob is turned otherwise, or the top has other colours."""
        knob, top = knob_of(fixture), _marked_top(fixture, view)
        if self._namer is None or knob is None or top is None or time.monotonic() < self._not_before:
            return ""
        if (state := self._known_state(top, knob.value)) is not None:
            return state
        self._ask(fixture.name, partial(self._ask_state, view.rgb, top, knob.value))
        return ""

    def _ask(self, what: str, job: Callable[[], None]) -> None:
        """Have the thread ask, in place of what waits of the same."""
        with self._asked:
            self._jobs[what] = job
            if not self._asking:
                self._asking = True
                threading.Thread(target=self._work, name="vision-names", daemon=True).start()

    def _ask_names(self, rgb: np.ndarray, things: Sequence[Marked], words: str) -> None:
        """Ask for what is not known."""
        assert self._namer is not None
        if not self._namer.asked(things, words):
            self._namer.names([rgb], things, words)
        if not self._namer.asked(things, words):
            raise ModelAnswerError("no reply names anything")

    def _ask_state(self, rgb: np.ndarray, top: Marked, value: float) -> None:
        assert self._namer is not None
        if self._known_state(top, value) is not None:
            return  # it was asked for again while the answer came
        (state,) = self._namer.states([rgb], [top])
        self._states = [(top, value, state if state in _ON_OFF else ""), *self._states][:_REMEMBERED]

    def _known_state(self, top: Marked, value: float) -> str | None:
        """What was answered of a top that looks so, with the knob at a value (rad); None where nothing was."""
        same = (s for look, v, s in self._states if looks_the_same(look, top) and not turned(value, v))
        return next(same, None)

    def _work(self) -> None:
        """Ask until nothing new waits."""
        while True:
            with self._asked:
                if not self._jobs:
                    self._asking = False
                    return
                job = self._jobs.pop(next(iter(self._jobs)))
            try:
                job()
            except ModelError as error:
                self._say(f"region_head names things for {_PAUSE:g} s: {error} (parameter naming_timeout is the limit)")
                self._not_before = time.monotonic() + _PAUSE
                with self._asked:
                    self._jobs = {}
            except Exception as error:  # a fault of ours must not leave everything unnamed without a word
                self._say(f"naming failed, please report this: {type(error).__name__}: {error}")
                self._not_before = time.monotonic() + _PAUSE
            self.answered += 1


def _named(view: View, regions: Mapping[int, PixelRegion], answers: Sequence[Named | None]) -> list[Detection]:
    """The objects by the answers for these regions: what the model calls a part is merged into the whole, and what it
    calls nothing is an unknown thing, since depth shows that something is there. What it has no name for keeps its own.
    """
    marks = list(regions)
    wholes = dict(zip(marks, owners([answer or Named() for answer in answers])))
    given = dict(zip(marks, answers))
    found: list[Detection] = []
    kept = True
    for k, (thing, _) in enumerate(view.measured):
        if not thing.inferred:  # else it belongs below the one before it
            whole = wholes.get(k, 0)
            kept = k not in wholes or whole is None or marks[whole] == k
        if not kept:
            continue
        answer = given.get(k, Named())
        if answer is None or answer.is_nothing:
            thing = replace(thing, class_name=UNKNOWN, confidence=UNSURE, unnamed=answer is None)
        elif answer.class_name:
            phrase = " ".join(filter(None, (answer.colour, answer.class_name.replace("_", " "))))
            thing = rename(thing, phrase, _SURE)
        parts = [regions[m] for m, whole in wholes.items() if whole is not None and marks[whole] == k and m != k]
        found.append(_with_parts(thing, [regions[k], *parts]) if parts else thing)
    return found


def _with_parts(thing: Detection, regions: Sequence[PixelRegion]) -> Detection:
    """The thing with the shape of all its regions; its outline, by which it is taken, is that of the whole's own."""
    x, y, _ = thing.position
    top = max(thing.top, *(region.top for region in regions))
    size = (*thing.size[:2], top - thing.bottom)
    points = np.concatenate([region.points for region in regions])
    floor = top if thing.floor >= thing.top else thing.floor  # of a solid thing, and of a hollow one
    raised = replace(thing, position=(x, y, (top + thing.bottom) / 2), size=size, floor=floor, parts=(), hollow=False)
    return raised if thing.bottom > _ABOVE else replace(raised, parts=parts_of(points, raised), hollow=True)


def _marked_top(fixture: SeenFixture, view: DepthView) -> Marked | None:
    """The top of a stove, to be asked for; None where the picture hardly shows it."""
    mask, body = top_of(fixture, view), fixture.bodies[0]
    if mask.sum() < _SHOWN:
        return None
    (x, y, z), (a, b, c) = body.centre.tolist(), (2 * body.half).tolist()
    return Marked([mask], (x, y, z), (a, b, c), view.rgb[mask])


def _marked(view: View, thing: Detection, region: PixelRegion) -> Marked:
    mask = np.zeros(view.rgb.shape[:2], bool)
    mask[region.rows, region.columns] = True
    return Marked([mask], thing.position, thing.size, region.colours)
