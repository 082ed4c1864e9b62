"""Behaviour trees as XML of BehaviorTree.CPP 4 (`BTCPP_format="4"`), which Groot2 opens: written, and read with bounds.

An action or predicate of the domain is a node type of its name, with one input port for each parameter. What is read
may come from anywhere: document types and entities are refused, and so is every node and attribute not listed here.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from planweave.core.base.errors import DomainError, ParseError, UnknownNameError
from planweave.core.base.names import is_symbol, one_line
from planweave.core.pddl.formula import TypedVariable
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.behaviour_tree import ActionNode, ConditionNode, FallbackNode, SequenceNode, Tree

MAX_CHARACTERS = 200_000
MAX_DEPTH = 50
MAX_NODES = 2_000
FORMAT = "4"
_TREE = "planweave"  # ID of the tree that is written
_CONTROLS = ("Sequence", "Fallback")
_EXPLICIT = {"Action", "Condition", "Control", "Decorator"}  # <Action ID="grasp" …/> for <grasp …/>
_RESERVED = {"name", "ID"}  # attributes that are no ports
_SILENT = {"name", "_description", "_uid", "_fullpath"}  # attributes that change nothing


def write_tree(domain: Domain, tree: Tree) -> str:
    """The XML text of a tree, with all node types of the domain; raises DomainError where a name cannot be one."""
    root = ET.Element("root", {"BTCPP_format": FORMAT, "main_tree_to_execute": _TREE})
    root.append(_model(domain))
    _write(domain, tree, ET.SubElement(root, "BehaviorTree", {"ID": _TREE}))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _model(domain: Domain) -> ET.Element:
    both = sorted(domain.actions.keys() & domain.predicates.keys())
    if both:
        raise DomainError(
            f"domain {domain.name}: {', '.join(both)} is an action and a predicate; node types need a name each"
        )
    model = ET.Element("TreeNodesModel")
    for tag, schemas in (("Action", domain.actions), ("Condition", domain.predicates)):
        for name, schema in schemas.items():
            element = ET.SubElement(model, tag, {"ID": name})
            for port, parameter in zip(_ports(name, schema.parameters), schema.parameters):
                row = ET.SubElement(element, "input_port", {"name": port, "type": "std::string"})
                row.text = " or ".join(sorted(parameter.types)) or "object"
    return model


def _ports(name: str, parameters: Sequence[TypedVariable]) -> list[str]:
    ports = [parameter.name.removeprefix("?") for parameter in parameters]
    wrong = next((port for port in ports if port in _RESERVED or not port[:1].isalpha()), None)
    if wrong is not None:
        raise DomainError(
            f"{name}: the parameter ?{wrong} cannot be a port of a behaviour tree; rename it in the domain"
        )
    return ports


def _write(domain: Domain, tree: Tree, parent: ET.Element) -> None:
    if isinstance(tree, (SequenceNode, FallbackNode)):
        element = ET.SubElement(parent, "Sequence" if isinstance(tree, SequenceNode) else "Fallback")
        for child in tree.children:
            _write(domain, child, element)
    elif isinstance(tree, ActionNode):
        schema = domain.schema(tree.action)
        _leaf(parent, "Action", schema.name, schema.parameters, tree.action.args, domain.phrase(tree.action))
    else:
        literal = tree.literal
        predicate = domain.predicates.get(literal.predicate)
        if predicate is None:
            raise UnknownNameError("predicate", literal.predicate, domain.predicates)
        above = parent if literal.positive else ET.SubElement(parent, "Inverter")
        _leaf(above, "Condition", predicate.name, predicate.parameters, literal.args, domain.phrase(literal.atom))


def _leaf(
    parent: ET.Element, tag: str, name: str, parameters: Sequence[TypedVariable], args: Sequence[str], words: str
) -> None:
    attributes = {"ID": name, "name": words or name}
    ET.SubElement(parent, tag, attributes | dict(zip(_ports(name, parameters), args)))


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[_Element] = field(default_factory=list)


def read_tree(domain: Domain, text: str) -> Tree:
    """Read a tree; raises ParseError, which names line and node, for whatever is not a sequence, a fallback, an action
    or a condition of the domain with plain names as arguments. Names of objects are not checked here.
    """
    root = _parsed(text)
    if root.tag != "root":
        _refuse(root, f'the file begins with <{root.tag}>; expected <root BTCPP_format="{FORMAT}">')
    if (found := root.attributes.get("BTCPP_format", "")) != FORMAT:
        _refuse(root, f'BTCPP_format is {found!r}; only "{FORMAT}" is read')
    trees = [child for child in root.children if child.tag == "BehaviorTree"]
    other = next((child for child in root.children if child.tag not in ("BehaviorTree", "TreeNodesModel")), None)
    if other is not None:
        _refuse(other, f"<{other.tag}> is not read")
    if len(trees) != 1:
        _refuse(trees[1] if trees else root, f"{len(trees)} trees; expected one <BehaviorTree>, without subtrees")
    if (main := root.attributes.get("main_tree_to_execute")) not in (None, trees[0].attributes.get("ID", "")):
        _refuse(root, f"main_tree_to_execute={main!r} is not the tree of this file")
    _only(trees[0], {"ID"})
    return _node(domain, _only_child(trees[0]))


def _refuse(element: _Element, message: str) -> NoReturn:
    raise ParseError(f"line {element.line}: {message}")


def _parsed(text: str) -> _Element:
    """The elements of a text; raises ParseError for bad XML, document types, and where a bound is exceeded."""
    if len(text) > MAX_CHARACTERS:
        raise ParseError(f"the tree has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    parser = expat.ParserCreate("utf-8")
    top = _Element("", {}, 0)
    path, count = [top], 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        element = _Element(tag, attributes, parser.CurrentLineNumber)
        if len(path) > MAX_DEPTH:
            _refuse(element, f"nested more than {MAX_DEPTH} deep")
        if count > MAX_NODES:
            _refuse(element, f"more than {MAX_NODES} elements")
        path[-1].children.append(element)
        path.append(element)

    def document_type(*_: object) -> NoReturn:
        raise ParseError(f"line {parser.CurrentLineNumber}: a document type (<!DOCTYPE …>) is not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: path.pop()
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise ParseError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    return top.children[0]


def _node(domain: Domain, element: _Element) -> Tree:
    kind = element.attributes.get("ID", "") if element.tag in _EXPLICIT else element.tag
    if kind in _CONTROLS and element.tag in (kind, "Control"):
        _only(element, _written(element))
        if not element.children:
            _refuse(element, f"{kind} has no child")
        children = tuple(_node(domain, child) for child in element.children)
        return (SequenceNode if kind == "Sequence" else FallbackNode)(children, element.line)
    if kind == "Inverter" and element.tag in (kind, "Decorator"):
        _only(element, _written(element))
        child = _node(domain, _only_child(element))
        if not isinstance(child, ConditionNode):
            _refuse(element, "Inverter is read around a condition only")
        return ConditionNode(child.literal.negated(), element.line)
    if kind in domain.actions and element.tag in (kind, "Action"):
        return ActionNode(Action(kind, _arguments(element, kind, domain.actions[kind].parameters)), element.line)
    if kind in domain.predicates and element.tag in (kind, "Condition"):
        return ConditionNode(Literal(kind, _arguments(element, kind, domain.predicates[kind].parameters)), element.line)
    known = (*_CONTROLS, "Inverter", *domain.actions, *domain.predicates)
    error = UnknownNameError(f"node <{one_line(element.tag)}>", kind, known)
    _refuse(element, f"{error}; only Sequence, Fallback, actions and conditions of the domain are read")


def _written(element: _Element) -> set[str]:
    return {"ID"} if element.tag in _EXPLICIT else set()


def _only_child(element: _Element) -> _Element:
    if len(element.children) != 1:
        _refuse(element, f"<{element.tag}> has {len(element.children)} children; expected one")
    return element.children[0]


def _only(element: _Element, attributes: Iterable[str]) -> None:
    """Raise ParseError where an element has other attributes, such as scripts (_skipIf) and ports."""
    other = next((name for name in element.attributes if name not in {*_SILENT, *attributes}), None)
    if other is not None:
        _refuse(
            element, f"the attribute {other}={one_line(element.attributes[other])!r} of <{element.tag}> is not read"
        )


def _arguments(element: _Element, name: str, parameters: Sequence[TypedVariable]) -> tuple[str, ...]:
    ports = _ports(name, parameters)
    _only(element, {*_written(element), *ports})
    if element.children:
        _refuse(element, f"{name} is a leaf, but has a child <{one_line(element.children[0].tag)}>")
    return tuple(_argument(element, name, port, element.attributes) for port in ports)


def _argument(element: _Element, name: str, port: str, attributes: Mapping[str, str]) -> str:
    if port not in attributes:
        _refuse(element, f"{name} has no value for {port}")
    value = attributes[port]
    if value.startswith("{"):
        _refuse(
            element, f"{port}={one_line(value)!r} of {name} is an entry of a blackboard; only names of objects are read"
        )
    if not is_symbol(value):
        _refuse(element, f"{port}={one_line(value)!r} of {name} is not the name of an object")
    return value
