"""Detectors: what is measured of a frame in, named objects out. One file for each, and one row in DETECTORS.

Poses and sizes come from depth whatever the detector; a detector gives names. It is made before the first frame, and
loads its weights with the first one in which there is something to look for.
"""

from __future__ import annotations

from collections.abc import Callable

from planweave.core.errors import UnknownNameError
from planweave.perception.detection import Detection, View
from planweave.perception.detectors.attributes import detect_by_attributes
from planweave.perception.detectors.by_head import ByHead
from planweave.perception.detectors.grounding_dino import GroundingDino
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.owlv2 import Owlv2
from planweave.perception.detectors.vild import Vild

Detector = Callable[[View], list[Detection]]
"""Raises ConfigError where its weights cannot be had."""

DETECTORS: dict[str, Callable[[Options], Detector]] = {
    "attributes": lambda options: detect_by_attributes,
    "region_head": ByHead,
    "vild": Vild,
    "owlv2": Owlv2,
    "grounding_dino": GroundingDino,
}
OPEN_VOCABULARY = tuple(name for name in DETECTORS if name != "attributes")
"""Detectors that look for names that they are told."""
MODELS = {
    "vild": "openai/clip-vit-base-patch32",
    "owlv2": "google/owlv2-base-patch16-ensemble",
    "grounding_dino": "IDEA-Research/grounding-dino-tiny",
}
"""The default model of each detector that needs one."""


def make_detector(
    name: str, model: str = "", min_score: float = Options.min_score, say: Callable[[str], None] = print
) -> Detector:
    """The detector of that name. model: as in Options, with @ before a revision; empty: the one of MODELS.

    Raises UnknownNameError, or MissingExtraError where what it needs is not installed.
    """
    if name not in DETECTORS:
        raise UnknownNameError("detector", name, DETECTORS)
    model, _, revision = (model or MODELS.get(name, "")).partition("@")
    return DETECTORS[name](Options(model, revision or "main", min_score, say))
