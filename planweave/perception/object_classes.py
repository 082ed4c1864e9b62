"""Object classes of a domain, from its YAML file: by measured shape and colour (``shapes``), and how they are named
(``names``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from planweave.core.base.errors import DomainError, UnknownNameError
from planweave.core.symbolic.domain import Domain

SHAPES = (
    "low_walls",
    "high_walls",
    "round_walls",
    "deep_walls",
    "knobbed",
    "round_flat",
    "small_walls",
    "square_top",
    "round_top",
    "other_top",
    "neck",
    "long",
    "small_dome",
    "long_dome",
    "dome",
)
"""Shapes that planweave.perception.detectors.attributes tells apart; config/domains/tabletop.yaml explains them."""
UNKNOWN = "unknown_thing"
"""Class of what is not recognised, or the domain has no word for."""
UNSURE = 0.1
"""Confidence that says so."""
_ANY = "other"  # any colour that has no class of its own


@dataclass(frozen=True)
class ObjectClasses:
    """Classes by shape and colour. by_colour: named by colour and class even where alone; by_class: by the class even
    where there are several. furnished: whether furniture is looked for, and hollow things are told by their parts.
    """

    shapes: Mapping[str, Mapping[str, str]]
    by_colour: frozenset[str]
    by_class: frozenset[str]
    furnished: bool = False

    @classmethod
    def of(cls, domain: Domain) -> ObjectClasses:
        """The classes of a domain, which may have none; raises DomainError for an invalid section."""
        shapes, names = (_section(domain, key) for key in ("shapes", "names"))
        for key, known in ((shapes, SHAPES), (names, ("colour", "class"))):
            for name in key:
                if name not in known:
                    raise DomainError(f"{domain.name}.yaml: {UnknownNameError('shape or rule', name, known)}")
        by_colour, by_class = (_names(domain, rule, names.get(rule, [])) for rule in ("colour", "class"))
        named = MappingProxyType({shape: _classes(domain, shape, value) for shape, value in shapes.items()})
        return cls(named, by_colour, by_class, "fixture" in domain.types)

    def find(self, shape: str, colour: str = "") -> str:
        """The class of a shape in a colour; empty where the domain has none."""
        known = self.shapes.get(shape, {})
        return known.get(colour) or known.get(_ANY, "")

    def has_own(self, shape: str, colour: str) -> bool:
        """Whether the domain has a class for just this colour of a shape."""
        return colour in self.shapes.get(shape, {})

    def name(self, shape: str, colour: str = "") -> str:
        """As `find`, but UNKNOWN where the domain has none."""
        return self.find(shape, colour) or UNKNOWN


def _section(domain: Domain, key: str) -> Mapping[str, Any]:
    value = domain.extra.get(key) or {}
    if not isinstance(value, Mapping):
        raise DomainError(f"{domain.name}.yaml: {key!r} must be a mapping, not {value!r:.100}")
    return value


def _classes(domain: Domain, shape: str, value: Any) -> Mapping[str, str]:
    given = value if isinstance(value, Mapping) else {_ANY: value}
    if not all(isinstance(part, str) and part for pair in given.items() for part in pair):
        raise DomainError(
            f"{domain.name}.yaml: shapes: {shape}: expected a class, or a mapping of colours (or {_ANY!r}) to classes, "
            f"not {value!r:.100}"
        )
    return MappingProxyType(dict(given))


def _names(domain: Domain, rule: str, value: Any) -> frozenset[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise DomainError(f"{domain.name}.yaml: names: {rule}: expected a list of classes, not {value!r:.100}")
    return frozenset(value)
