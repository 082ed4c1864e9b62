"""Reading of PDDL domains: STRIPS, typing, ADL, derived predicates and action costs.

Names match regardless of case and keep the spelling of their declaration. What is read although the standard asks for
something else (such as a feature without its requirement) is noted. Durative actions, numeric conditions, preferences
and constraints are refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planweave.core.base.errors import UnknownNameError
from planweave.core.pddl.conditions import (
    CONDITIONS,
    EFFECTS,
    NUMBER,
    REMEDY,
    TOTAL_COST,
    UNSUPPORTED,
    FormulaVocabulary,
    Node,
    PddlReader,
)
from planweave.core.pddl.formula import (
    And,
    Atom,
    Axiom,
    Effect,
    Formula,
    TypedVariable,
    conjuncts,
    reached,
    signed_atoms,
)
from planweave.core.pddl.text import Expression, PddlText, Word

_ADL = frozenset(
    {
        ":strips",
        ":typing",
        ":negative-preconditions",
        ":disjunctive-preconditions",
        ":equality",
        ":existential-preconditions",
        ":universal-preconditions",
        ":conditional-effects",
    }
)
_IMPLIED = {
    ":adl": _ADL,
    ":ucpop": _ADL | {":derived-predicates"},
    ":quantified-preconditions": frozenset({":existential-preconditions", ":universal-preconditions"}),
    ":domain-axioms": frozenset({":derived-predicates"}),
    **dict.fromkeys((":fluents", ":numeric-fluents"), frozenset({":action-costs"})),
}


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action as read. cost: a number, or a function of its parameters; the sum counts."""

    name: str
    parameters: tuple[TypedVariable, ...]
    precondition: Formula
    effects: tuple[Effect, ...]
    cost: tuple[float | Atom, ...]


@dataclass(frozen=True)
class ParsedDomain:
    """A domain as read. notes: what was accepted although it is not as the standard asks, each with its place."""

    name: str
    vocabulary: FormulaVocabulary
    actions: dict[str, ParsedAction]
    axioms: tuple[Axiom, ...]
    notes: tuple[str, ...]


class DomainReader(PddlReader):
    def __init__(self, text: PddlText) -> None:
        super().__init__(text, FormulaVocabulary())

    def read(self) -> ParsedDomain:
        name, sections = self.text.definition("domain")
        order = (":requirements", ":types", ":constants", ":predicates", ":functions", ":derived", ":action")
        by_kind: dict[str, list[Expression]] = {kind: [] for kind in order}
        for section in self.checked(sections, order):
            by_kind[section.head].append(section)
        for kind in order[:5]:
            for again in by_kind[kind][1:]:
                self.note(again.at, f"a second section {kind} is read as one with the first")
        declared = {str(each).lower() for section in by_kind[":requirements"] for each in section[1:]}
        self._read_types([item for section in by_kind[":types"] for item in section[1:]])
        for section in by_kind[":constants"]:
            self.objects(section[1:])
        for section in by_kind[":predicates"]:
            self._read_predicates(section[1:])
        for section in by_kind[":functions"]:
            self._read_functions(section[1:])
        self._read_heads(by_kind[":derived"])
        axioms = tuple(self._axiom(section) for section in by_kind[":derived"])
        _check_strata(self.text, by_kind[":derived"], axioms)
        actions = {action.name: action for action in map(self._action, by_kind[":action"])}
        self._check_requirements(declared)
        return ParsedDomain(str(name), self.words, actions, axioms, tuple(self.notes))

    def _check_requirements(self, declared: set[str]) -> None:
        granted = declared.union(*(_IMPLIED.get(each, ()) for each in declared))
        for requirement, at in sorted(self._used.items(), key=lambda pair: pair[1]):
            if requirement not in granted:
                self.note(at, f"needs {requirement}, which :requirements does not name; read as if it did")

    def _read_types(self, items: Sequence[Node]) -> None:
        places: dict[str, Node] = {}
        parents: dict[str, list[Node]] = {}
        for each, parent in self.typed(items):
            name = self.word(each, "a type")
            if name.lower() == "object":
                continue
            if name.lower() not in places:
                places[name.lower()] = each
                self.words.types[self.declare("type", each)] = ""
            else:
                self.note(each.at, f"the type {name} is declared twice; the two count as one")
            if parent is not None:
                more = parent[1:] if isinstance(parent, Expression) else [parent]
                parents.setdefault(name.lower(), []).extend(more)
        for each in itertools.chain(*parents.values()):
            name = self.word(each, "a type")
            if name.lower() not in self._folded["type"] and name.lower() != "object":
                self.note(each.at, f"the type {name} is declared only as a parent; read as one below object")
                self.words.types[self.declare("type", each)] = ""
        for key, nodes in parents.items():
            names = {n.lower(): n for n in nodes if isinstance(n, Word) and n.lower() != "object"}
            if len(names) > 1:
                raise self.error(
                    places[key],
                    "duplicate",
                    f"the type {places[key]} has more than one parent ({', '.join(names)}); give it one, and name "
                    "the others by (either …) where they are used",
                )
            for node in names.values():
                self.words.types[self._folded["type"][key]] = self.known("type", node)
        for key, place in places.items():
            seen = [self._folded["type"][key]]
            while (above := self.words.types[seen[-1]]) and above not in seen:
                seen.append(above)
            if above == seen[0]:
                circle = " - ".join((*seen, above))
                raise self.error(place, "cycle", f"the type {above} is its own parent: {circle}; cut it")

    def _read_predicates(self, items: Sequence[Node]) -> None:
        for each in items:
            if not isinstance(each, Expression) or not each:
                raise self.error(each, "syntax", "expected a predicate such as (on ?x ?y)")
            if each.head == "=":
                self.note(each.at, "= needs no declaration")
                continue
            if each.head in CONDITIONS | EFFECTS:
                raise self.error(each, "syntax", f"{each[0]} cannot be a predicate: PDDL uses the word")
            self.words.predicates[self.declare("predicate", each[0])] = tuple(
                self._variables(each[1:], unused=True).values()
            )

    def _read_functions(self, items: Sequence[Node]) -> None:
        for each, kind in self.typed(items):
            if not isinstance(each, Expression) or not each:
                raise self.error(each, "syntax", "expected a function such as (total-cost) - number")
            if kind is not None and (isinstance(kind, Expression) or kind.lower() != "number"):
                raise self.error(
                    each, "unsupported", f"a function with objects as values, which is not supported; {REMEDY}"
                )
            self.words.functions[self.declare("function", each[0])] = tuple(
                self._variables(each[1:], unused=True).values()
            )

    # Derived predicates

    def _read_heads(self, sections: Sequence[Expression]) -> None:
        for section in sections:
            self.use(":derived-predicates", section.at)
            if len(section) != 3 or not isinstance(section[1], Expression) or not section[1]:
                raise self.error(section, "syntax", "expected (:derived (PREDICATE ?x …) CONDITION)")
            head = section[1]
            if head.head not in self._folded["predicate"]:
                self.note(head.at, f"the derived predicate {head[0]} is not in :predicates; read as if it were")
                self.words.predicates[self.declare("predicate", head[0])] = tuple(self._variables(head[1:]).values())
            self.words.derived.add(self.known("predicate", head[0]))

    def _axiom(self, section: Expression) -> Axiom:
        head = section[1]
        assert isinstance(head, Expression)
        name = self.known("predicate", head[0])
        parameters = self._variables(head[1:])
        declared = self.words.predicates[name]
        if len(parameters) != len(declared):
            raise self.error(head, "arity", f"{name} takes {len(declared)} argument(s), got {len(parameters)}")
        scope = {  # an untyped variable has its declaration's types
            key: TypedVariable(p.name, p.types or d.types) for (key, p), d in zip(parameters.items(), declared)
        }
        return Axiom(name, tuple(scope.values()), self.condition(section[2], scope))

    # Actions

    def _action(self, section: Expression) -> ParsedAction:
        if len(section) < 2:
            raise self.error(section, "syntax", "expected (:action NAME …)")
        name = self.declare("action", section[1])
        parts: dict[str, Node] = {}
        rest = iter(section[2:])
        for key in rest:
            word = self.word(key, ":parameters, :precondition or :effect").lower()
            if word in UNSUPPORTED:
                raise self.unsupported(key, word)
            if word not in (":parameters", ":precondition", ":effect", ":effects", ":vars"):
                raise self.error(
                    key, "syntax", f"expected :parameters, :precondition or :effect of {name}, found {word[:100]!r}"
                )
            value = next(rest, None)
            if value is None:
                raise self.error(key, "syntax", f"nothing follows {word} of {name}")
            word = {":effects": ":effect"}.get(word, word)
            if word in parts:
                raise self.error(key, "duplicate", f"{name} has {word} twice; join the two by (and …)")
            parts[word] = value
        for word in (":precondition", ":effect"):
            if word not in parts:
                self.note(section.at, f"{name} has no {word}: read as empty")
        if ":vars" in parts:
            self.note(parts[":vars"].at, f":vars of {name} are read as further parameters")
        scope = self._variables([x for w in (":parameters", ":vars") if w in parts for x in self._list(parts[w])])
        condition = self.condition(parts[":precondition"], scope) if ":precondition" in parts else And()
        effects: dict[tuple[tuple[TypedVariable, ...], And], tuple[list[Atom], list[Atom]]] = {}
        cost: list[float | Atom] = []
        if ":effect" in parts:
            self._effect(parts[":effect"], scope, (), And(), effects, cost)
        made = tuple(Effect(vs, c, tuple(add), tuple(delete)) for (vs, c), (add, delete) in effects.items())
        return ParsedAction(name, tuple(scope.values()), condition, made, tuple(cost))

    def _effect(
        self,
        node: Node,
        scope: Mapping[str, TypedVariable],
        variables: tuple[TypedVariable, ...],
        condition: And,
        found: dict[tuple[tuple[TypedVariable, ...], And], tuple[list[Atom], list[Atom]]],
        cost: list[float | Atom],
    ) -> None:
        """Collect the literals of an effect by their quantifiers and conditions."""
        if not isinstance(node, Expression):
            raise self.error(node, "syntax", f"expected an effect in brackets, found {str(node)[:100]!r}")
        if not node:
            return
        head, parts = node.head, node[1:]
        if head == "and":
            for part in parts:
                self._effect(part, scope, variables, condition, found, cost)
        elif head in ("forall", "when"):
            self._count(node, 2)
            self.use(":conditional-effects", node.at)
            if head == "forall":
                more = self.variables(parts[0], scope)
                every = (*variables, *more.values())
                self._effect(parts[1], {**scope, **more}, every, condition, found, cost)
            else:
                used = dict(self._used)
                extra = conjuncts(self.condition(parts[0], scope))
                self._used = used  # conditions of effects ask for nothing more
                self._effect(parts[1], scope, variables, And(condition.parts + extra), found, cost)
        elif (
            head == "increase"
            and len(parts) == 2
            and isinstance(parts[0], Expression)
            and head not in self._folded["predicate"]
        ):
            if parts[0].head != TOTAL_COST or variables or condition.parts:
                where = "under a condition" if parts[0].head == TOTAL_COST else f"of {parts[0].head or 'a number'}"
                raise self.error(
                    node,
                    "unsupported",
                    f"a numeric effect {where}, which is not supported; an action may "
                    "increase (total-cost) by a number or a function of its parameters",
                )
            self.use(":action-costs", node.at)
            cost += self._cost(parts[1], scope)
        else:
            self.check_supported(node)
            positive, atom = True, node
            if head == "not":
                self._count(node, 1)
                positive = False
                atom = parts[0] if isinstance(parts[0], Expression) else node
            if not atom or atom.head in CONDITIONS | EFFECTS:
                raise self.error(atom, "syntax", "expected an effect: a literal, and, when or forall")
            made = self.atom(atom, scope)
            if made.predicate in self.words.derived:
                raise self.error(
                    atom,
                    "derived",
                    f"{made.predicate} is derived: no effect can change it; change what it follows from",
                )
            found.setdefault((variables, condition), ([], []))[0 if positive else 1].append(made)

    def _cost(self, node: Node, scope: Mapping[str, TypedVariable]) -> list[float | Atom]:
        if isinstance(node, Word):
            if not NUMBER.match(node):
                raise self.error(node, "syntax", f"expected a number or (FUNCTION …), found {node[:100]!r}")
            if float(node) < 0:
                raise self.error(node, "unsupported", "a negative cost; give 0 or more")
            return [float(node)]
        if node.head == "+":
            return [each for part in node[1:] for each in self._cost(part, scope)]
        if node.head in UNSUPPORTED or not node:
            raise self.error(node, "unsupported", "a computed cost; give a number, (FUNCTION …) or their sum (+ …)")
        return [self.atom(node, scope, "function")]


def _check_strata(text: PddlText, sections: Sequence[Expression], axioms: Sequence[Axiom]) -> None:
    """Raise PddlError where a derived predicate depends on its own negation."""
    places = {axiom.predicate: section.at for axiom, section in zip(axioms, sections)}
    needs: dict[str, dict[str, bool]] = {name: {} for name in places}  # to what, and whether positively
    for axiom in axioms:
        for atom, positive in signed_atoms(axiom.condition):
            row = needs[axiom.predicate]
            row[atom.predicate] = row.get(atom.predicate, True) and positive
    for name, row in needs.items():
        for other, positive in row.items():
            if not positive and (other == name or name in reached(other, needs)):
                raise text.error(
                    places[name],
                    "unstratified",
                    f"the derived predicate {name} depends on its own negation, through {other}, so that its truth is "
                    "not defined; leave one of the two conditions out",
                )


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
