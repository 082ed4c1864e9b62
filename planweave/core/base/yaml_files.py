"""YAML files written by people, read with bounds: malformed or hostile ones raise errors that name the line."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from planweave.core.base.errors import ConfigError

if not yaml.__with_libyaml__:
    raise ImportError(
        "this PyYAML was built without libyaml, which Planweave needs; its wheels have it: pip install -U pyyaml"
    )
MAX_BYTES = 2_000_000
MAX_DEPTH = 50
MAX_ALIASES = 10


class BoundedLoader(Composer, yaml.CSafeLoader):
    """Loader for plain values, nested at most MAX_DEPTH deep, with few aliases, which could expand a kilobyte to a
    terabyte. libyaml parses: yaml.SafeLoader takes ten times as long.

    Raises only yaml.YAMLError, whatever the text.
    """

    depth = aliases = 0

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text.encode(errors="replace"))
        Composer.__init__(self)

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.aliases += self.check_event(yaml.AliasEvent)
        wrong = (
            f"more than {MAX_ALIASES} aliases (*name)"
            if self.aliases > MAX_ALIASES
            else f"nested more than {MAX_DEPTH} deep"
            if self.depth >= MAX_DEPTH
            else ""
        )
        if wrong:
            event: Any = self.peek_event()
            raise yaml.composer.ComposerError(None, None, wrong, event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.tag == "tag:yaml.org,2002:bool":  # on, off, yes and no are names there
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, OverflowError, AttributeError, KeyError) as error:  # a date that is none, …
            raise yaml.constructor.ConstructorError(None, None, f"{error}", node.start_mark) from None


# As YAML 1.2 and ROS read it: PyYAML takes a number such as 8e-06, without a point, for a text.
BoundedLoader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), None)


def plain_value(node: Any) -> Any:
    """The value of a composed node; raises yaml.YAMLError."""
    return BoundedLoader("").construct_object(node, deep=True)


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of a file, without a byte order mark; raises ConfigError where it cannot be read, is too long, or no
    UTF-8.
    """
    try:
        size = path.stat().st_size
        if size > most:
            raise ConfigError(f"{path} has {size} bytes; at most {most} are read")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        byte = f"the byte {error.object[error.start]:#04x}"
        raise ConfigError(f"{path}:{line}:{column}: {byte} is not UTF-8; save the file as text in UTF-8") from None


def read_yaml(path: Path) -> Any:
    """The value of a file, None where it is empty. Raises ConfigError with file and line."""
    return parse_yaml(read_text(path), str(path))


@lru_cache(maxsize=64)
def _loaded(text: str) -> Any:
    """The value of a text; the same files are read again and again, as those of all systems to find one."""
    return yaml.load(text, Loader=BoundedLoader)


def parse_yaml(text: str, name: str) -> Any:
    """The value of a text, None where it is empty; name: what errors call it. Raises ConfigError with the line."""
    try:
        return deepcopy(_loaded(text))
    except yaml.YAMLError as error:
        raise _invalid(error, text, name) from None


def compose(path: Path, text: str | None = None) -> Any:
    """The node of a file, None where it is empty. text: what it holds, by default read. Raises ConfigError."""
    given = read_text(path) if text is None else text
    try:
        return yaml.compose(given, Loader=BoundedLoader)
    except yaml.YAMLError as error:
        raise _invalid(error, given, str(path)) from None


def _invalid(error: yaml.YAMLError, text: str, name: str) -> ConfigError:
    """What is wrong, and in which line: the last one where the text ends too early, not the one after it."""
    mark = getattr(error, "problem_mark", None)
    line = f":{min(mark.line, text.rstrip().count(chr(10))) + 1}" if mark else ""
    return ConfigError(f"{name}{line}: not valid YAML: {getattr(error, 'problem', None) or error}")
