"""Detectors: regions in, detections out. A detector is one file here and one row in DETECTORS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perception_node.detection import Detection
from perception_node.detectors.attributes import detect_by_attributes
from perception_node.proposals import Region

Detector = Callable[[Sequence[Region], float], list[Detection]]
"""Takes the regions of one frame and the side of a pixel on the table (metres)."""

DETECTORS: dict[str, Detector] = {
    "attributes": detect_by_attributes,
}
