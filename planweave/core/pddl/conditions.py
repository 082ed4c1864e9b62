"""Reading of what PDDL domains and problems have in common: names, typed lists and conditions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from planweave.core.base.errors import PddlError, UnknownNameError
from planweave.core.base.names import SYMBOL_FORM, is_symbol
from planweave.core.pddl.formula import And, Atom, Equal, Formula, Not, Or, Quantified, TypedVariable, conjuncts
from planweave.core.pddl.text import Expression, PddlText, Word

Node = Word | Expression
TOTAL_COST = "total-cost"
MAX_NOTES = 100
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z")
CONDITIONS = frozenset({"and", "or", "not", "imply", "forall", "exists", "="})
EFFECTS = frozenset({"and", "not", "when", "forall"})
#: Of conditions, effects and sections that are not supported: what they belong to.
UNSUPPORTED = {
    **dict.fromkeys(("=", "<", ">", "<=", ">=", "+", "-", "*", "/"), "a numeric condition"),
    **dict.fromkeys(("increase", "decrease", "assign", "scale-up", "scale-down"), "a numeric effect"),
    "preference": "a preference",
    ":constraints": "a constraint on the whole plan",
    ":durative-action": "a durative action",
    ":process": "a process (PDDL+)",
    ":event": "an event (PDDL+)",
    ":observe": "an observation (contingent planning)",
    ":observation": "an observation (contingent planning)",
    "oneof": "an uncertain effect (notes: possibly)",
    "unknown": "an unknown fact",
    "probabilistic": "a probabilistic effect (notes: possibly)",
}
REMEDY = "Planweave plans with STRIPS, typing, ADL, derived predicates and action costs; leave it out"


@dataclass(frozen=True)
class FormulaVocabulary:
    """Names in formulas. types: each with its parent, "" for the top; objects: each with its type."""

    types: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, tuple[TypedVariable, ...]] = field(default_factory=dict)
    functions: dict[str, tuple[TypedVariable, ...]] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    derived: set[str] = field(default_factory=set)

    def is_a(self, name: str, ancestor: str) -> bool:
        while name and name != ancestor:
            name = self.types.get(name, "")
        return name == ancestor

    def must_be(self, types: Iterable[str], wanted: Iterable[str]) -> bool:
        """Return whether every object of these types is of one of the wanted ones; none wanted: any object."""
        types, wanted = list(types), list(wanted)
        return not wanted or (bool(types) and all(any(self.is_a(a, b) for b in wanted) for a in types))

    def may_be(self, types: Iterable[str], wanted: Iterable[str]) -> bool:
        """Return whether an object of one of some types can be of one of the wanted ones; no types: any object."""
        types, wanted = list(types), list(wanted)
        pairs = itertools.product(types, wanted)
        return not types or not wanted or any(self.is_a(a, b) or self.is_a(b, a) for a, b in pairs)


def read_condition(text: str, vocabulary: FormulaVocabulary) -> Formula:
    """Read a condition without free variables, such as a goal; raises PddlError."""
    reader = PddlReader(PddlText("the formula", text), vocabulary)
    return reader.condition(reader.text.expression(), {})


class PddlReader:
    """Names, typed lists, conditions and effects."""

    def __init__(self, text: PddlText, vocabulary: FormulaVocabulary) -> None:
        self.text, self.words = text, vocabulary
        self.notes: list[str] = []
        self._used: dict[str, int] = {}  # requirement -> where it is first needed
        declared: dict[str, Iterable[str]] = {
            "type": vocabulary.types,
            "predicate": vocabulary.predicates,
            "function": vocabulary.functions,
            "object": vocabulary.objects,
        }
        self._folded: dict[str, dict[str, str]] = {  # by kind: lower case -> as declared
            kind: {name.lower(): name for name in names} for kind, names in declared.items()
        }

    # Names

    def note(self, at: int, message: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"{self.text.place(at)}: {message}")

    def use(self, requirement: str, at: int) -> None:
        self._used.setdefault(requirement, at)

    def error(self, node: Node, code: str, message: str) -> PddlError:
        """The error for what is wrong with a part of the text."""
        return self.text.error(node.at, code, message)

    def unsupported(self, node: Node, name: str) -> PddlError:
        return self.error(node, "unsupported", f"{UNSUPPORTED[name]} ({name}), which is not supported; {REMEDY}")

    def checked(self, sections: Iterable[Expression], kinds: Sequence[str]) -> Iterator[Expression]:
        """The sections, each of which must be of one of these kinds; raises PddlError."""
        for section in sections:
            if section.head in UNSUPPORTED:
                raise self.unsupported(section, section.head)
            if section.head not in kinds:
                raise self.error(section, "syntax", f"unknown section {section[0]}; there are {', '.join(kinds)}")
            yield section

    def check_supported(self, node: Expression) -> None:
        """Raise PddlError where a condition, an effect or a fact is none that is supported."""
        if node.head in UNSUPPORTED and node.head not in self._folded["predicate"]:
            raise self.unsupported(node, node.head)

    def word(self, node: Node, what: str) -> Word:
        if isinstance(node, Word):
            return node
        raise self.error(node, "syntax", f"expected {what}, found a bracket")

    def declare(self, kind: str, node: Node) -> str:
        """A new name of a kind; raises PddlError where it is taken or not valid."""
        name = self.word(node, f"the name of a {kind}")
        if not is_symbol(name):
            raise self.error(node, "syntax", f"the name {name[:100]!r} of a {kind} is not valid: {SYMBOL_FORM}")
        known = self._folded.setdefault(kind, {})
        if name.lower() in known:
            raise self.error(node, "duplicate", f"the {kind} {name} is declared twice; leave one out")
        known[name.lower()] = str(name)
        return str(name)

    def known(self, kind: str, node: Node, remedy: str = "") -> str:
        """A declared name of a kind, as its declaration spells it."""
        name = self.word(node, f"the name of a {kind}")
        found = self._folded[kind].get(name.lower())
        if found is None:
            names = self._folded[kind].values()
            raise self.error(node, "unknown_name", str(UnknownNameError(kind, name, names, remedy)))
        return found

    def typed(self, items: Sequence[Node]) -> Iterator[tuple[Node, Node | None]]:
        """The items of a list ``a b - type c``, each with its type."""
        waiting: list[Node] = []
        rest = iter(items)
        for item in rest:
            if isinstance(item, Expression) or item[0] != "-":
                waiting.append(item)
                continue
            kind = next(rest, None) if item == "-" else Word(item[1:])  # some write ?x -type
            if kind is not None and item != "-":
                kind.at = item.at + 1
            if kind is None or not waiting:
                raise self.error(item, "syntax", "expected NAME - TYPE around the hyphen")
            yield from ((each, kind) for each in waiting)
            waiting = []
        yield from ((each, None) for each in waiting)

    def types(self, node: Node | None) -> frozenset[str]:
        """The types that a typed list names; empty for any object."""
        if node is None:
            return frozenset()
        self.use(":typing", node.at)
        if isinstance(node, Expression):
            if node.head != "either" or len(node) < 2:
                raise self.error(node, "syntax", "expected a type or (either TYPE …)")
            found = [self.known("type", each) for each in node[1:] if str(each).lower() != "object"]
            return frozenset(found) if len(found) == len(node) - 1 else frozenset()
        return frozenset() if node.lower() == "object" else frozenset({self.known("type", node)})

    def variables(
        self, node: Node, scope: Mapping[str, TypedVariable] = MappingProxyType({})
    ) -> dict[str, TypedVariable]:
        """A list of variables by their names in lower case; those that shadow one of the scope are renamed."""
        return self._variables(self._list(node), scope)

    def _list(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Expression):
            return node
        raise self.error(node, "syntax", "expected a list of variables such as (?x - type)")

    def _variables(
        self, items: Sequence[Node], scope: Mapping[str, TypedVariable] = MappingProxyType({}), unused: bool = False
    ) -> dict[str, TypedVariable]:
        """unused: the names stand for nothing, as those in the declaration of a predicate."""
        found: dict[str, TypedVariable] = {}
        taken = {p.name.lower() for p in scope.values()}
        for each, kind in self.typed(items):
            name = self.word(each, "a variable")
            if not name.startswith("?") or not is_symbol(name[1:]):
                raise self.error(each, "syntax", f"expected a variable such as ?x, found {name[:100]!r}")
            if name.lower() in found:
                if unused:
                    self.note(each.at, f"the variable {name} stands twice")
                    found[f"{name} {len(found)}"] = TypedVariable(str(name), self.types(kind))
                    continue
                raise self.error(each, "duplicate", f"the variable {name} is declared twice; rename one")
            own = str(name)
            for number in itertools.count(2):
                if own.lower() not in taken:
                    break
                own = f"{name}-{number}"
            taken.add(own.lower())
            found[name.lower()] = TypedVariable(own, self.types(kind))
        return found

    def objects(self, items: Sequence[Node]) -> dict[str, str]:
        """Declare the objects of a typed list; those declared before with the same type are noted."""
        found = {}
        for each, kind in self.typed(items):
            name = self.word(each, "an object")
            types = self.types(kind)
            if len(types) > 1:
                raise self.error(
                    each, "unsupported", f"{name} is of several types (either), which is not supported; give it one"
                )
            own = next(iter(types), "object")
            before = self._folded["object"].get(name.lower())
            if before is not None:
                if self.words.objects[before] != own:
                    raise self.error(
                        each,
                        "duplicate",
                        f"{name} is declared twice, as {self.words.objects[before]} and as {own}; leave one out",
                    )
                self.note(each.at, f"{name} is declared twice, with the same type")
                continue
            found[self.declare("object", each)] = own
            self.words.objects[str(name)] = own
        return found

    # Conditions

    def atom(self, node: Expression, scope: Mapping[str, TypedVariable], kind: str = "predicate") -> Atom:
        """An atom over the terms of a scope, or a function's term."""
        name = self.known(kind, node[0], f"declare it in (:{kind}s …)")
        declared = (self.words.predicates if kind == "predicate" else self.words.functions)[name]
        if len(node) - 1 != len(declared):
            form = " ".join((name, *(p.name for p in declared)))
            raise self.error(
                node, "arity", f"{name} takes {len(declared)} argument(s), got {len(node) - 1}; the form is ({form})"
            )
        terms = []
        for each, parameter in zip(node[1:], declared):
            term, types = self.term(each, scope)
            fits = self.words.may_be if term.startswith("?") else self.words.must_be
            if not fits(types, parameter.types):
                is_one, wanted = (" or ".join(sorted(each)) or "object" for each in (types, parameter.types))
                raise self.error(
                    each, "type", f"{term} is a {is_one}, but {parameter.name[1:]} of {name} must be: {wanted}"
                )
            terms.append(term)
        return Atom(name, tuple(terms))

    def term(self, node: Node, scope: Mapping[str, TypedVariable]) -> tuple[str, frozenset[str]]:
        """A term, as its declaration spells it, and its types."""
        name = self.word(node, "a variable or an object")
        if name.startswith("?"):
            parameter = scope.get(name.lower())
            if parameter is None:
                known = [p.name for p in scope.values()]
                raise self.error(node, "unknown_name", str(UnknownNameError("variable", name, known)))
            return parameter.name, parameter.types
        found = self.known("object", node, "declare it in (:constants …) of the domain or (:objects …) of the problem")
        kind = self.words.objects[found]
        return found, frozenset() if kind == "object" else frozenset({kind})

    def condition(self, node: Node, scope: Mapping[str, TypedVariable]) -> Formula:
        """A condition over the variables of a scope."""
        if not isinstance(node, Expression):
            raise self.error(node, "syntax", f"expected a condition in brackets, found {str(node)[:100]!r}")
        if not node:
            return And()
        head, parts = node.head, node[1:]
        if head not in CONDITIONS:
            self.check_supported(node)
            return self.atom(node, scope)
        if head == "and":
            found = tuple(p for part in parts for p in conjuncts(self.condition(part, scope)))
            return found[0] if len(found) == 1 else And(found)
        if head == "or":
            self.use(":disjunctive-preconditions", node.at)
            return Or(tuple(self.condition(part, scope) for part in parts))
        self._count(node, {"not": 1}.get(head, 2))
        if head == "not":
            self.use(":negative-preconditions", node.at)
            return Not(self.condition(parts[0], scope))
        if head == "imply":
            self.use(":disjunctive-preconditions", node.at)
            return Or((Not(self.condition(parts[0], scope)), self.condition(parts[1], scope)))
        if head == "=":
            if any(isinstance(part, Expression) or NUMBER.match(part) for part in parts):
                raise self.unsupported(node, head)
            self.use(":equality", node.at)
            return Equal(self.term(parts[0], scope)[0], self.term(parts[1], scope)[0])
        self.use(":universal-preconditions" if head == "forall" else ":existential-preconditions", node.at)
        variables = self.variables(parts[0], scope)
        inner = self.condition(parts[1], {**scope, **variables})
        return Quantified(head == "forall", tuple(variables.values()), inner)

    def _count(self, node: Expression, wanted: int) -> None:
        if len(node) - 1 != wanted:
            raise self.error(node, "syntax", f"({node[0]} …) takes {wanted} part(s), found {len(node) - 1}")
