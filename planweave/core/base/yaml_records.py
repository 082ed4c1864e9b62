"""Dataclasses as YAML files declare them: each field says how it is read, and an error names file, line and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any

import yaml

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.yaml_files import plain_value

Reader = Callable[[Any], Any]
"""Reads a plain value; raises ValueError that says what it must be, or UnknownNameError."""


def number(what: str = "a number", fits: Callable[[float], bool] = lambda value: True, whole: bool = False) -> Reader:
    """Reads a finite number that fits; what: how it is described."""

    def read(value: Any) -> float:
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not right or not abs(value) < math.inf or not fits(value):
            raise ValueError(what)
        return value if whole else float(value)

    return read


def between(low: float, high: float, whole: bool = False) -> Reader:
    what = f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"
    return number(what, lambda value: low <= value <= high, whole)


NUMBER = number()
POSITIVE = number("a number above 0", lambda value: value > 0)


def numbers(count: int = 0, item: Reader = NUMBER) -> Reader:
    """Reads a list of numbers; count 0: of any length."""

    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or (count and len(value) != count):
            raise ValueError(f"{count or 'a list of'} numbers")
        try:
            return tuple(item(x) for x in value)
        except ValueError as error:
            raise ValueError(f"{count or 'a list of'} numbers, each {error}") from None

    return read


def text(value: Any) -> str:
    """Reads a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def texts(low: int, high: int) -> Reader:
    """Reads a list of different names."""
    count = str(low) if low == high else f"{low} to {high}"

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not low <= len(value) <= high or not all(isinstance(x, str) for x in value):
            raise ValueError(f"a list of {count} names")
        if len(set(value)) != len(value):
            raise ValueError(f"a list of {count} different names")
        return tuple(value)

    return read


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def one_of(kind: str, known: Collection[str]) -> Reader:
    """Reads one of some names."""

    def read(value: Any) -> str:
        if str(value) not in known:
            raise UnknownNameError(kind, str(value), known)
        return str(value)

    return read


def key(read: Reader, default: Any = MISSING) -> Any:
    """A field that is read from a plain value."""
    return field(metadata={"read": read}, **({} if default is MISSING else {"default": default}))


def part(kind: type, default: Any = MISSING, *, many: type | None = None, nothing: str = "") -> Any:
    """A field that is a record of its own; many: list or dict of such; nothing: a word that stands for None."""
    metadata = {"part": kind, "many": many, "nothing": nothing}
    return field(metadata=metadata, **({} if default is MISSING else {"default": default}))


def place_of(path: Path, node: Any) -> str:
    return f"{path}:{node.start_mark.line + 1 if node is not None else 1}"


def read_record(kind: type, path: Path, node: Any, what: str, where: str = "", **known: Any) -> Any:
    """A node as a dataclass of `key` and `part` fields; its method `problem`, if any, says what is wrong between them.

    what: what the whole file describes; where: the node's key so far; known: fields that the file does not have, to
    which a field called line belongs, the node's line. Raises ConfigError.
    """
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{place_of(path, node)}: {where or f'a {what}'} must be keys and values")
    if any(each.name == "line" for each in fields(kind)):
        known["line"] = node.start_mark.line + 1
    wanted = {each.name: each for each in fields(kind) if each.name not in known}
    given: dict[str, Any] = {}
    for name, value in node.value:
        at, word = place_of(path, name), str(name.value)
        if word not in wanted:
            raise ConfigError(f"{at}: {UnknownNameError(f'key of {where}' if where else 'key', word, wanted)}")
        if word in given:
            raise ConfigError(f"{at}: {where and where + '.'}{word} is given twice")
        given[word] = _value(wanted[word], path, value, what, f"{where and where + '.'}{word}")
    for word, each in wanted.items():
        if word not in given and each.default is MISSING:
            raise ConfigError(f"{place_of(path, node)}: {where or f'the {what}'} lacks {word!r}")
    made = kind(**known, **given)
    problem = made.problem() if hasattr(made, "problem") else ""
    if problem:
        raise ConfigError(f"{place_of(path, node)}: {where and where + ': '}{problem}")
    return made


def _value(each: Any, path: Path, node: Any, what: str, where: str) -> Any:
    at = place_of(path, node)
    kind, many = each.metadata.get("part"), each.metadata.get("many")
    if many is list:
        if not isinstance(node, yaml.SequenceNode):
            raise ConfigError(f"{at}: {where} must be a list")
        return tuple(read_record(kind, path, item, what, f"{where}[{i}]") for i, item in enumerate(node.value))
    if many is dict:
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{at}: {where} must be keys and values")
        return {str(k.value): read_record(kind, path, item, what, f"{where}.{k.value}") for k, item in node.value}
    if each.metadata.get("nothing") and isinstance(node, yaml.ScalarNode):
        if node.value != each.metadata["nothing"]:
            raise ConfigError(f"{at}: {where}: {UnknownNameError('name', node.value, [each.metadata['nothing']])}")
        return None
    if kind is not None:
        return read_record(kind, path, node, what, where)
    try:
        value = plain_value(node)
        return each.metadata["read"](value)
    except (yaml.YAMLError, UnknownNameError) as error:
        raise ConfigError(f"{at}: {where}: {getattr(error, 'problem', None) or error}") from None
    except ValueError as error:
        raise ConfigError(f"{at}: {where} must be {error}, not {str(value)[:80]}") from None
