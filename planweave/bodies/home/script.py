"""Lines of VirtualHome's scripts: ``[WALK] <fridge> (289)``, ``<char0> [putback] <salmon> (327) <fridge> (305)``."""

from __future__ import annotations

import re

from planweave.bodies.home.graph import Graph, Node
from planweave.bodies.home.vocabulary import HomeVocabulary
from planweave.core.base.errors import InvalidActionError, ParseError, UnknownNameError
from planweave.core.symbolic.world import Action

_LINE = re.compile(r"\s*(?:<char\d+>\s*)?\[\s*([\w -]{1,40}?)\s*\]\s*(.*?)\s*(?:\[\d+\])?\s*\Z", re.DOTALL)
_OBJECT = re.compile(r"\s*<\s*([^<>\n]{1,80}?)\s*>\s*\(\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*\)\s*")


def read_line(line: str, graph: Graph, vocabulary: HomeVocabulary) -> Action:
    """The action of a line. Ids may be written ``(1.289)``, as in the scripts of ActivityPrograms.

    Raises ParseError for a malformed line, UnknownNameError for an unknown action or object, InvalidActionError where
    class and id do not belong together or the number of objects is wrong.
    """
    match = _LINE.match(line)
    if match is None:
        raise ParseError(f"cannot read the script line {line[:80]!r}: expected e.g. [GRAB] <apple> (12)")
    name = vocabulary.action(match.group(1))
    rest, names = match.group(2), []
    while rest:
        thing = _OBJECT.match(rest)
        if thing is None:
            raise ParseError(f"cannot read {rest[:60]!r} in the script line {line[:80]!r}: expected <class> (id)")
        names.append(_named(graph, thing.group(1), thing.group(2)).name)
        rest = rest[thing.end() :]
    wanted = len(vocabulary.domain.actions[name].parameters)
    if len(names) != wanted:
        raise InvalidActionError(f"{line.strip()[:120]}: [{name.upper()}] takes {wanted} object(s), got {len(names)}")
    return Action(name, tuple(names))


def _named(graph: Graph, class_name: str, number: str) -> Node:
    word = class_name.lower().replace(" ", "_")
    node = graph.nodes.get(int(number.rsplit(".", 1)[-1]))
    if node is not None and node.class_name.lower().replace(" ", "_") == word:
        return node
    same = sorted(n.id for n in graph.nodes.values() if n.class_name.lower().replace(" ", "_") == word)
    if not same:
        raise UnknownNameError("class of objects", class_name, {n.class_name for n in graph.nodes.values()})
    known = f"there is <{class_name}> ({'), ('.join(map(str, same[:8]))})"
    if node is None:
        raise InvalidActionError(f"<{class_name}> ({number}) cannot be found; {known}")
    raise InvalidActionError(f"<{class_name}> ({number}) cannot be found: {node.id} is a {node.class_name}; {known}")


def write_line(action: Action, graph: Graph, character: int | None = None, index: int | None = None) -> str:
    """The line of an action; character: the number in ``<char0>``, for Unity; index: the number shown in messages."""
    things = "".join(f" {_tag(graph, name)}" for name in action.args)
    if character is not None:
        return f"<char{character}> [{action.name}]{things}"
    return f"[{action.name.upper()}]{things}" + (f" [{index}]" if index is not None else "")


def _tag(graph: Graph, name: str) -> str:
    node = graph.by_name.get(name)
    return f"<{name}>" if node is None else node.tag
