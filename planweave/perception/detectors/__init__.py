"""Detectors: assign class names to measured objects. One file each, found through the entry points
``planweave.detectors``.

Poses and sizes come from depth, independent of the detector. A detector is created before the first frame and loads its
weights with the first one that contains objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from planweave.core.base.plugins import Registry
from planweave.geometry.joints import SeenFixture
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, View
from planweave.perception.detectors.options import Options

Detector = Callable[[View], list[Detection]]
"""Raises ConfigError where its weights cannot be had."""


@runtime_checkable
class LateNamer(Protocol):
    """A detector that names in its own time. waiting: names of what it was given last are still to come; answered: a
    number that grows when they came.
    """

    answered: int

    @property
    def waiting(self) -> bool: ...


@runtime_checkable
class StateReader(Protocol):
    """A detector that also tells whether a stove is on."""

    def state_of(self, fixture: SeenFixture, view: DepthView) -> str:
        """Returns "on" or "off" for furniture with a knob in a picture; "" where it cannot tell, or not yet."""


DETECTORS = Registry("planweave.detectors", "detector")
"""By name: called with Options, gives a Detector. Attributes of the entry: model, the default one of a detector that
needs one; open_vocabulary, False where it is not told which names to look for."""


def models() -> dict[str, str]:
    """The default model of each detector that needs one."""
    return {name: made.model for name, made in DETECTORS.working().items() if getattr(made, "model", "")}


def is_open_vocabulary(name: str) -> bool:
    """Whether a detector uses the requested names."""
    return bool(getattr(DETECTORS[name], "open_vocabulary", True))


def make_detector(
    name: str,
    model: str = "",
    min_score: float = Options.min_score,
    say: Callable[[str], None] = print,
    timeout: float = Options.timeout,
    classes: tuple[str, ...] = (),
) -> Detector:
    """Create a detector by name; arguments as in Options, model with @ before a revision, empty: its default.

    Raises UnknownNameError, or MissingExtraError where a dependency is not installed.
    """
    make = DETECTORS[name]
    model, _, revision = (model or getattr(make, "model", "")).partition("@")
    detector: Detector = make(Options(model, revision or "main", min_score, say, timeout, classes))
    return detector
