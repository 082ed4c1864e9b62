"""Naming by a model that takes pictures, at an OpenAI-compatible endpoint; each thing is asked for once."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.perception.detection import Detection, View
from planweave.perception.detectors.by_head import ByHead
from planweave.perception.detectors.options import Options
from planweave.perception.detectors.renaming import nameable, rename
from planweave.perception.proposals import Region
from planweave.perception.vision_names import Marked, VisionNamer, vision_client

_SURE = 0.9  # confidence in an answer


class Vlm:
    """The detector `vlm`. Without a vision model, or while it fails, the region head names instead."""

    def __init__(self, options: Options, environ: Mapping[str, str] = os.environ):
        self._namer: VisionNamer | None = None
        self._head = ByHead(options)
        try:
            self._namer = VisionNamer(vision_client(environ), (), say=options.say)
        except ConfigError as error:
            options.say(f"{error}; until then region_head gives the names")

    def __call__(self, view: View) -> list[Detection]:
        """See Detector."""
        if self._namer is None:
            return self._head(view)
        found = [thing for thing, _ in view.measured]
        indices = nameable(view)
        if not view.names or not indices:
            return found
        things = [_marked(view, found[k], region) for k in indices if (region := view.measured[k][1]) is not None]
        answers = self._namer.names_or_unknown([view.rgb], things, ", ".join(view.names))
        if self._namer.failing:
            found = self._head(view)
        for k, named in zip(indices, answers):
            if named.class_name and not named.is_nothing and not named.part_of:
                phrase = " ".join(filter(None, (named.colour, named.class_name.replace("_", " "))))
                found[k] = rename(found[k], phrase, _SURE)
        return found


def _marked(view: View, thing: Detection, region: Region) -> Marked:
    mask = np.zeros(view.rgb.shape[:2], bool)
    mask[region.rows, region.columns] = True
    return Marked([mask], thing.position, thing.size, region.colours)
