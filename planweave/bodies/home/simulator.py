"""The built-in simulator: state transitions of the household domain, with VirtualHome's error messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from planweave.bodies.home.facts import HomeFacts, objects_of
from planweave.bodies.home.graph import Graph
from planweave.bodies.home.script import write_line
from planweave.bodies.home.vocabulary import DOMAIN, HomeVocabulary
from planweave.core.base.errors import InvalidActionError, PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.pddl.formula import Atom, Or, substitute
from planweave.core.symbolic.state import AtomKey, State
from planweave.core.symbolic.transition import Change, Transition, fixed_predicates
from planweave.core.symbolic.world import Action, Literal, World, WorldObject


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of one action. unmet: with PRECONDITION_UNMET, the literals that do not hold."""

    code: Code
    message: str
    unmet: tuple[Literal, ...] = ()

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS


_DONE = StepResult(Code.SUCCESS, "Success")


class HomeSimulator:
    """One home and one agent. Deterministic; `steps` counts the actions tried since the start."""

    def __init__(self, graph: Graph, vocabulary: HomeVocabulary | None = None):
        self.graph = graph
        self.vocabulary = vocabulary or HomeVocabulary.load()
        self._facts = HomeFacts(graph, self.vocabulary)
        self.told = self._facts.groups.keys() | self._facts.late.keys()  # predicates that a graph tells
        self._changes: list[Change] = []  # since the start, for going back
        self.steps = 0
        self.revision = 0

    @cached_property
    def objects(self) -> tuple[WorldObject, ...]:
        """All objects and rooms."""
        return objects_of(self.graph, self.vocabulary)

    @cached_property
    def state(self) -> State:
        """The current facts. Those of a predicate are computed on first access and cached."""
        return self._transition.grouped(self._facts.groups, self._facts.late)

    @cached_property
    def _transition(self) -> Transition:
        return Transition(self.vocabulary.domain, World(DOMAIN, self.objects, frame="home"))

    def reset(self) -> None:
        while self._changes:
            self._transition.undo(self.state, self._changes.pop())
        self.steps = 0
        self.revision += 1

    def execute(self, action: Action) -> StepResult:
        """Try one action. A failure has no effect and is a Step, not an exception."""
        self.steps += 1
        try:
            unmet = self._transition.unmet(self.state, action)
        except UnknownNameError as error:
            code = Code.UNKNOWN_OBJECT if error.kind == "object" else Code.INVALID_ACTION
            return StepResult(code, self._when(str(error), action))
        except InvalidActionError as error:
            return StepResult(Code.INVALID_ACTION, self._when(str(error), action))
        if unmet:
            return StepResult(Code.PRECONDITION_UNMET, self._when(self._say(action, unmet), action), unmet)
        change = self._transition.apply(self.state, action)
        if change.added or change.deleted:
            self._changes.append(change)
            self.revision += 1
        return _DONE

    def explain(self, action: Action) -> str:
        """Why an action is not applicable, in VirtualHome's words; empty where it is."""
        try:
            unmet = self._transition.unmet(self.state, action)
        except PlanweaveError as error:
            return str(error)
        return self._say(action, unmet) if unmet else ""

    def holds(self, literal: Literal) -> bool:
        return ((literal.predicate, *literal.args) in self.state) == literal.positive

    def world(self, facts: Iterable[AtomKey] | None = None) -> World:
        """The whole home as a world, or with the given facts only."""
        literals = _literals(frozenset(self.state.facts if facts is None else facts))
        return World(DOMAIN, self.objects, literals, frame="home", revision=self.revision)

    def _when(self, cause: str, action: Action) -> str:
        return f'{cause} when executing "{write_line(action, self.graph, index=self.steps)}"'

    def _say(self, action: Action, unmet: tuple[Literal, ...]) -> str:
        """VirtualHome's message for an unmet precondition, from the domain file: of alternatives it names what an
        object is, before what the object is in or on.
        """
        domain, rows = self.vocabulary.domain, self.vocabulary.wording
        wording = {**rows["all"], **rows.get(action.name, {})}
        first = self._transition.failing(self.state, action)[0]
        binding = domain.actions[action.name].binding(action.args)
        atoms = (p for p in (first.parts if isinstance(first, Or) else ()) if isinstance(p, Atom))
        known = (a for a in atoms if a.predicate in fixed_predicates(domain) and a.predicate in wording)
        literal = next((Literal(a.predicate, substitute(a.terms, binding)) for a in known), unmet[0])
        template = wording.get(literal.predicate if literal.positive else f"not {literal.predicate}")
        if template is None:
            return f"{literal} does not hold"
        room = next((self._tag(f[1]) for f in self.state.of("agent_in")), "nowhere")
        return template.format(
            *(self._tag(a) for a in literal.args),
            character=self.graph.character.tag,
            room=room,
            object=self._tag(action.args[0]) if action.args else "",
        )

    def _tag(self, name: str) -> str:
        node = self.graph.by_name.get(name)
        return f"<{name}>" if node is None else node.tag


@lru_cache(maxsize=8)
def _literals(facts: frozenset[AtomKey]) -> frozenset[Literal]:
    """Facts as literals; a home is asked for its world more often than it changes."""
    return frozenset(Literal(f[0], f[1:]) for f in facts)
