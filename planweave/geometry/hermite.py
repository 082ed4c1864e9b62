"""Hermite interpolation: polynomials through values and derivatives at the two ends of an interval."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.geometry.arrays import Array


def cubic(p0: Array, p1: Array, v0: Array, v1: Array) -> tuple[Array, ...]:
    """Coefficients, of power 0 first, of the cubic from p0 at u = 0 to p1 at u = 1 with slopes v0 and v1 by u."""
    d = p1 - p0
    return p0, v0, 3 * d - 2 * v0 - v1, v0 + v1 - 2 * d


def quintic(p0: Array, p1: Array, v0: Array, v1: Array, a0: Array, a1: Array) -> tuple[Array, ...]:
    """Quintic interpolation: `cubic` with second derivatives a0 and a1."""
    d = p1 - p0
    return (
        p0,
        v0,
        a0 / 2,
        10 * d - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1,
        -15 * d + 8 * v0 + 7 * v1 + 1.5 * a0 - a1,
        6 * d - 3 * (v0 + v1) + 0.5 * (a1 - a0),
    )


def value(coefficients: Sequence[Array], u: Array) -> Array:
    """A polynomial's values at u."""
    found: Array = coefficients[0].copy()
    for power, coefficient in enumerate(coefficients[1:], start=1):
        found += coefficient * u**power
    return found


def slope(coefficients: Sequence[Array], u: Array) -> Array:
    """A polynomial's derivatives by u."""
    return value([power * coefficient for power, coefficient in enumerate(coefficients)][1:], u)
