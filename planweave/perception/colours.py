"""Colour words of pixels and patches, robust to shading: hue first, brightness only for achromatic colours."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np

from planweave.perception.geometry import percentile

COLOURS = ("red", "orange", "yellow", "green", "aqua", "blue", "purple", "pink", "brown", "white", "gray", "black")

# Families keep one object in one piece: a shaded orange is brown to the eye, yet the same surface.
_FAMILIES = {
    "red": 1,
    "orange": 2,
    "brown": 2,
    "yellow": 3,
    "green": 4,
    "aqua": 5,
    "blue": 6,
    "purple": 7,
    "pink": 8,
    "white": 9,
    "gray": 10,
    "black": 11,
}
# Measured on rendered tables: the chromaticity of a colour spreads by 0.03 over places, lights and kinds of things, the
# nearest two colours (yellow and orange) are 0.13 apart; its brightness differs by 1.8 times.
TOO_DARK = 52
"""Brightness, 0 to 255, below which no chromaticity is told."""
_OTHER = 0.10  # difference of chromaticity from which on colours are of two surfaces
_DARKEST = 3.0  # no shadow makes a surface darker by more than that
_SHADE, _GREY = 1.4, 0.16  # without any hue, brightness has to tell; saturation below which there is no hue
BLACK = _FAMILIES["black"]

_HUES = (
    (15.0, "red"),
    (42.0, "orange"),
    (68.0, "yellow"),
    (158.0, "green"),
    (200.0, "aqua"),
    (256.0, "blue"),
    (300.0, "purple"),
    (342.0, "pink"),
    (360.1, "red"),
)


def colour_word(red: float, green: float, blue: float) -> str:
    """The nearest of COLOURS for one colour, components 0 to 255."""
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    hue *= 360
    if value < 0.13 or (value < 0.22 and saturation < 0.45):
        return "black"
    if saturation < 0.16:
        return "white" if value > 0.74 else "gray" if value > 0.22 else "black"
    word = next(name for limit, name in _HUES if hue < limit)
    pale = (saturation < 0.62 and value > 0.65) or (hue > 325 and saturation < 0.68 and value > 0.6)
    if word == "red" and pale:
        return "pink"
    if word in ("orange", "red") and 10.0 < hue < 45.0 and (value < 0.60 or (value < 0.7 and saturation < 0.6)):
        return "brown"
    return word


@lru_cache(maxsize=1)
def _family_table() -> np.ndarray:
    """Colour family for every colour with 5 bits per component, (32768,) uint8."""
    levels = (np.arange(32) * 8 + 4).tolist()
    return np.array([_FAMILIES[colour_word(r, g, b)] for r in levels for g in levels for b in levels], dtype=np.uint8)


def family_image(rgb: np.ndarray) -> np.ndarray:
    """Colour family (from 1 on) of every pixel, (...,) uint8; rgb: (..., 3) uint8."""
    red, green, blue = (rgb[..., k].astype(np.uint16) for k in range(3))
    return _family_table()[((red & 0xF8) << 7) | ((green & 0xF8) << 2) | (blue >> 3)]


def patch_colour(colours: np.ndarray) -> tuple[float, float, float]:
    """A patch's colour (red, green, blue) from its pixels (N, 3): the median of the lighter half, which excludes shaded
    sides.
    """
    channels = np.ascontiguousarray(colours.T)
    brightness = channels.max(axis=0)
    red, green, blue = (percentile(lit, 50) for lit in channels[:, brightness >= percentile(brightness, 50)])
    return red, green, blue


def same_surface(a: np.ndarray, b: np.ndarray, tolerance: float = 0.07) -> bool:
    """Whether two colours (3,) can be one surface under different illumination: equal chromaticity, or one too dark to
    tell.
    """
    if min(a.max(), b.max()) < TOO_DARK:
        return True
    ca, cb = a / (a.sum() + 12), b / (b.sum() + 12)
    return bool(np.abs(ca - cb).max() < tolerance)


def other_surface(a: Sequence[float], b: Sequence[float], lit_alike: bool = True) -> bool:
    """Whether two colours (red, green, blue; 0 to 255) belong to different surfaces under any illumination.

    lit_alike: False for a top and a side, of which brightness does not tell whether they are of one grey.
    """
    one, two = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    dark, bright = sorted((float(one.max()), float(two.max())))
    if bright > _DARKEST * max(dark, 1.0):
        return True
    if dark < TOO_DARK:
        return False
    if not same_surface(one, two, _OTHER):
        return True
    grey = all(np.ptp(c) < _GREY * c.max() for c in (one, two))
    return lit_alike and grey and bright > _SHADE * dark


def smooth(rgb: np.ndarray) -> np.ndarray:
    """The image with isolated pixels removed."""
    return cv2.medianBlur(np.ascontiguousarray(rgb), 3)
