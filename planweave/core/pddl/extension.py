"""A domain's PDDL completed with predicates and actions of another domain, which it takes by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planweave.core.base.errors import UnknownNameError
from planweave.core.pddl.text import Expression, PddlText, Word


def completed(own: PddlText, base: PddlText) -> PddlText:
    """The text of a domain where ``(:action NAME)`` and a NAME without brackets among its predicates stand for those of
    `base`.

    What is put in has no line breaks, so that messages name the lines of the domain's own file. Raises PddlError.
    """
    offered = {(kind, name.lower()): base.text[node.at : node.end] for kind, name, node in _declared(base) if node}
    parts, at = [], 0
    for kind, name, node in _declared(own):
        if node is None or (kind == "action" and len(node) == 2):
            text = offered.get((kind, name.lower()))
            if text is None:
                known = (word for of, word in offered if of == kind)
                raise own.error(name.at, "unknown_name", f"{UnknownNameError(kind, name, known)}, in {base.name}")
            begin, end = (name.at, name.at + len(name)) if node is None else (node.at, node.end)
            parts += [own.text[at:begin], " ".join(re.sub(r";[^\n]*", "", text).split())]
            at = end
    return PddlText(own.name, "".join((*parts, own.text[at:])))


def _declared(text: PddlText) -> Iterator[tuple[str, Word, Expression | None]]:
    """Kind and name of predicates and actions with what stands in brackets, None for a name without, in their order."""
    for section in text.definition("domain")[1]:
        if section.head == ":action" and len(section) > 1 and isinstance(section[1], Word):
            yield "action", section[1], section
        for node in section[1:] if section.head == ":predicates" else ():
            if isinstance(node, Word):
                yield "predicate", node, None
            elif node.head and isinstance(node[0], Word):
                yield "predicate", node[0], node
