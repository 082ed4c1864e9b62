"""A planning problem: a world and a goal, read from a PDDL problem of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planweave.core.base.paths import is_file
from planweave.core.pddl.conditions import NUMBER, REMEDY, TOTAL_COST, FormulaVocabulary, Node, PddlReader
from planweave.core.pddl.formula import Formula
from planweave.core.pddl.text import Expression, PddlText, Word
from planweave.core.symbolic.domain import Domain, is_pddl_text
from planweave.core.symbolic.domain_files import no_file, read_pddl
from planweave.core.symbolic.transition import completed
from planweave.core.symbolic.world import Known, Literal, World, WorldObject

Key = tuple[str, ...]


@dataclass(frozen=True)
class ParsedProblem:
    """A problem as read. values: of functions; minimize: whether its metric is the total cost."""

    name: str
    objects: dict[str, str]
    facts: tuple[Key, ...]
    values: dict[Key, float]
    goal: Formula
    minimize: bool
    notes: tuple[str, ...]


def read_problem(name: str, text: str, vocabulary: FormulaVocabulary, domain: str) -> ParsedProblem:
    """Read a problem of a domain; name: what errors call the text. Raises PddlError."""
    return ProblemReader(PddlText(name, text), vocabulary).read(domain)


class ProblemReader(PddlReader):
    def __init__(self, text: PddlText, vocabulary: FormulaVocabulary) -> None:
        super().__init__(text, replace(vocabulary, objects=dict(vocabulary.objects)))

    def read(self, domain: str) -> ParsedProblem:
        name, sections = self.text.definition("problem")
        kinds = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")
        by_kind: dict[str, Expression] = {}
        for section in self.checked(sections, kinds):
            if section.head in by_kind:
                raise self.error(section, "duplicate", f"a second section {section[0]}; join the two")
            by_kind[section.head] = section
        self._check_domain(by_kind.get(":domain"), domain)
        self.objects(by_kind.get(":objects", ())[1:])
        facts, values = self._init(by_kind.get(":init", ())[1:])
        if (goal := by_kind.get(":goal")) is None:
            raise self.text.error(0, "syntax", "the problem has no (:goal …); add one")
        self._count(goal, 1)
        return ParsedProblem(
            str(name),
            self.words.objects,
            tuple(facts),
            values,
            self.condition(goal[1], {}),
            self._minimizes(by_kind.get(":metric")),
            tuple(self.notes),
        )

    def _check_domain(self, section: Expression | None, domain: str) -> None:
        if section is None:
            self.note(0, f"the problem names no (:domain …); read as one of {domain}")
        elif len(section) != 2 or str(section[1]).lower() != domain.lower():
            named = " ".join(map(str, section[1:]))[:100]
            raise self.error(
                section,
                "other_domain",
                f"the problem is one of the domain {named!r}, not of {domain!r}; load that one",
            )

    def _init(self, items: Sequence[Node]) -> tuple[dict[Key, None], dict[Key, float]]:
        facts: dict[Key, None] = {}
        denied: dict[Key, int] = {}
        values: dict[Key, float] = {}
        for each in items:
            if not isinstance(each, Expression) or not each:
                raise self.error(each, "syntax", "expected a fact such as (on a b)")
            if each.head == "=":
                self._value(each, values)
                continue
            if each.head == "at" and len(each) == 3 and isinstance(each[2], Expression):
                raise self.error(
                    each, "unsupported", f"a fact of a later time (at …), which is not supported; {REMEDY}"
                )
            if each.head == "and":  # as some write it
                raise self.error(each, "syntax", "(and …) in :init; list the facts alone")
            self.check_supported(each)
            positive = each.head != "not"
            inner = each if positive else each[1] if len(each) == 2 else each
            if not isinstance(inner, Expression):
                raise self.error(each, "syntax", "expected (not (PREDICATE …))")
            atom = self.atom(inner, {})
            if atom.predicate in self.words.derived:
                raise self.error(each, "derived", f"{atom.predicate} is derived: state what it follows from instead")
            key = (atom.predicate, *atom.terms)
            if positive:
                if key in facts:
                    self.note(each.at, f"the fact {' '.join(key)} is stated twice")
                facts[key] = None
            else:
                denied[key] = each.at
        for key, at in denied.items():
            if key in facts:
                raise self.text.error(at, "duplicate", f"both ({' '.join(key)}) and its negation; leave one out")
        return facts, values

    def _value(self, node: Expression, values: dict[Key, float]) -> None:
        self._count(node, 2)
        term, number = node[1:]
        if not isinstance(term, Expression) or not term or not isinstance(number, Word) or not NUMBER.match(number):
            raise self.error(node, "syntax", "expected (= (FUNCTION …) NUMBER)")
        atom = self.atom(term, {}, "function")
        key: Key = (atom.predicate, *atom.terms)
        values[key] = float(number)

    def _minimizes(self, section: Expression | None) -> bool:
        if section is None:
            return False
        words = [str(each).lower() for each in section[1:]]
        inner = section[2] if len(section) == 3 else None
        if words[:1] == ["minimize"] and isinstance(inner, Expression) and len(inner) == 1:
            if inner.head == TOTAL_COST:
                return True
            if inner.head == "total-time":
                self.note(section.at, "the metric total-time is the number of steps here")
                return False
        raise self.error(
            section, "unsupported", "a metric other than (:metric minimize (total-cost)), which is not supported"
        )


@dataclass(frozen=True)
class Problem:
    """A problem. minimize: whether the total cost of a plan counts, rather than its number of steps. remarks: what its
    PDDL has that the standard asks for in another form, each with its place.
    """

    name: str
    domain: Domain
    world: World
    goal: Formula
    minimize: bool = False
    remarks: tuple[str, ...] = ()

    @classmethod
    def load(cls, domain: Domain | str | Path, source: str | Path) -> Problem:
        """Read a problem of a domain (or of what `Domain.load` takes) from a path or PDDL text.

        The world has the domain's constants and the facts of derived predicates. Raises PddlError for what is wrong in
        the problem, with its place; DomainError where the file cannot be read.
        """
        if not isinstance(domain, Domain):
            domain = Domain.load(domain)
        name = "PDDL text"
        text = str(source)
        if isinstance(source, Path) or not is_pddl_text(source):
            if not is_file(text):
                raise no_file(text)
            name, text = Path(source).name, read_pddl(Path(source))
        parsed = read_problem(name, text, domain.vocabulary, domain.name)
        world = World(
            domain.name,
            tuple(WorldObject(name, kind, known=Known.SEEN) for name, kind in parsed.objects.items()),
            frozenset(Literal(fact[0], fact[1:]) for fact in parsed.facts),
            values=tuple((Literal(key[0], key[1:]), value) for key, value in parsed.values.items()),
        )
        return cls(parsed.name, domain, completed(domain, world), parsed.goal, parsed.minimize, parsed.notes)
