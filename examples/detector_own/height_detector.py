"""A detector that names objects by their measured height; nothing but numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planweave.perception.detection import Detection, View
from planweave.perception.detectors.options import Options

TALL = 0.10  # m, from which on an object is called tall
LOW = 0.03  # m, up to which it is called low
_TOP = 98  # percentile of its points' heights: depth has outliers


class ByHeight:
    """The detector `by_height`: tall, block or low; receptacles and what is inferred keep their names."""

    open_vocabulary = False  # it looks for no names that it is told

    def __init__(self, options: Options) -> None:
        """options: model, least score and log; none of them matters here."""

    def __call__(self, view: View) -> list[Detection]:
        """Every measured object, renamed where its pixels are seen."""
        return [
            thing
            if region is None or thing.receptacle
            else replace(thing, class_name=name_of(float(np.percentile(region.points[:, 2], _TOP)) - thing.bottom))
            for thing, region in view.measured
        ]


def name_of(height: float) -> str:
    """The class of an object of a height, metres."""
    return "tall" if height >= TALL else "low" if height <= LOW else "block"
