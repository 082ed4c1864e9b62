"""Plans and behaviour trees in forms that other programs read: PDDL plans, Graphviz, py_trees."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.trees.behaviour_tree import ActionNode, ConditionNode, SequenceNode, Tree

_INDENT = "    "


def pddl_plan(actions: Iterable[Action]) -> str:
    """One ground action a line, as planners write and VAL reads it."""
    return "".join(f"({' '.join((action.name, *action.args))})\n" for action in actions)


def dot_graph(domain: Domain, tree: Tree) -> str:
    """A tree as a graph of Graphviz: control nodes as → and ?, actions as boxes, conditions as ellipses."""
    lines, numbers = ["digraph tree {", f"{_INDENT}ordering=out;"], itertools.count()

    def draw(node: Tree) -> int:
        number = next(numbers)
        label, shape = _drawn(domain, node)
        lines.append(f"{_INDENT}n{number} [label={json.dumps(label, ensure_ascii=False)}, shape={shape}];")
        for child in () if isinstance(node, (ActionNode, ConditionNode)) else node.children:
            lines.append(f"{_INDENT}n{number} -> n{draw(child)};")
        return number

    draw(tree)
    return "\n".join([*lines, "}", ""])


def _drawn(domain: Domain, node: Tree) -> tuple[str, str]:
    if isinstance(node, ActionNode):
        return domain.phrase(node.action), "box"
    if isinstance(node, ConditionNode):
        return domain.phrase(node.literal), "ellipse"
    return ("→", "square") if isinstance(node, SequenceNode) else ("?", "square")


def py_trees_module(domain: Domain, tree: Tree) -> str:
    """Python text with a function that builds a tree of py_trees (2.x); its caller gives the leaves."""
    return f'''"""A behaviour tree of the domain {domain.name}, exported by Planweave."""

import py_trees


def create_tree(action, condition):
    """The root of the tree.

    action(name, *arguments) and condition(name, *arguments) return the behaviours of the leaves.
    """
    return {_built(domain, tree, 1)}
'''


def _built(domain: Domain, node: Tree, depth: int) -> str:
    if isinstance(node, ActionNode):
        return _call("action", node.action.name, node.action.args)
    if isinstance(node, ConditionNode):
        leaf = _call("condition", node.literal.predicate, node.literal.args)
        name = repr(domain.phrase(node.literal))
        return leaf if node.literal.positive else f"py_trees.decorators.Inverter(name={name}, child={leaf})"
    kind, margin = ("Sequence" if isinstance(node, SequenceNode) else "Selector"), _INDENT * (depth + 2)
    children = "".join(f"{margin}{_built(domain, child, depth + 2)},\n" for child in node.children)
    inner, outer = _INDENT * (depth + 1), _INDENT * depth
    return (
        f"py_trees.composites.{kind}(\n{inner}name={kind.lower()!r},\n{inner}memory=True,\n"
        f"{inner}children=[\n{children}{inner}],\n{outer})"
    )


def _call(function: str, name: str, args: Iterable[str]) -> str:
    return f"{function}({', '.join(map(repr, (name, *args)))})"
