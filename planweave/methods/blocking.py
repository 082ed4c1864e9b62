"""Blocking conditions and resolutions (BCR), Sections III and IV: one action at a time, selected among useful ones.

Roots achieve a goal literal; a blocked action gets the actions that resolve its blocking conditions as children; the
candidates are the leaves; an executed action is removed together with its siblings.

The paper lists blocking conditions and resolutions by hand (III.A). Here an unmet literal of an action's precondition
is a blocking condition, the literal itself its resolution, and every ground action with an effect that achieves it,
certainly or possibly, a resolution action. The condition of a conditional effect (a plate in the sink is washed while
the tap is on) is a blocking condition as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

from planweave.core.base.errors import DomainError, ParseError, SeveralAnswersError, UnknownNameError
from planweave.core.base.failure import TRANSIENT
from planweave.core.base.parameter import option
from planweave.core.checks.assumptions import UnobservedEffects, unseen_marks
from planweave.core.pddl.formula import Atom, Equal, Formula, TypedVariable, atoms_in, unified
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import RuleError
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.transition import Binding, State, Transition, fixed_predicates
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Choice
from planweave.llm.parsing import bounded
from planweave.llm.reasoning import read_each
from planweave.methods.language.conditions import plain_words
from planweave.methods.language.prompting import effect_text, observation_text, one_line, turn
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode


def _ways(
    schema: ActionSchema, literal: Literal
) -> list[tuple[Binding, tuple[Formula, ...], tuple[TypedVariable, ...]]]:
    """Bindings under which an action achieves a literal, with the remaining conditions and bindings."""
    made = schema.achieving(literal.key, literal.positive)
    ways = [(bound, effect.condition.parts, effect.variables) for effect, bound in made]
    for atom, positive in schema.possibly:
        same = (atom.predicate, positive) == (literal.predicate, literal.positive)
        bound = unified(atom.terms, literal.args) if same else None
        # a certain effect that brings about the opposite excludes the action
        if bound is not None and not any(schema.achieving(literal.key, not literal.positive)):
            ways.append((bound, (), ()))
    return ways


def resolution_actions(domain: Domain, transition: Transition, state: State, literal: Literal) -> list[Action]:
    """Ground actions that achieve a literal in a state, certainly or possibly, one action schema after the other.

    For each action schema only those with the fewest unmet preconditions are kept: placing the held object comes before
    placing one that would have to be grasped first. Actions marked with `words` in the domain's
    file are candidates only where no other action achieves the literal. Excluded are actions that can never become
    applicable, because an object lacks a static property, and, while others remain, those that the section
    ``candidates`` of the domain's file rules out. Actions whose effect has an unmet condition (see `lacking`) are
    candidates only where no other remains. A derived literal is achieved by achieving what it follows from.
    """
    if literal.predicate in domain.derived:
        basis = transition.explain(state, Atom(literal.predicate, literal.args), {}, literal.positive)
        rows = [resolution_actions(domain, transition, state, x) for x in basis if x.predicate not in domain.derived]
        return list(dict.fromkeys(action for row in rows for action in row))
    by, only = _sensible(domain)
    ranked = _ranked(transition, state, literal, True) or _ranked(transition, state, literal, False)
    usual = {name: able for name, able in ranked.items() if not domain.actions[name].words} or ranked
    sensible = {
        name: {
            a: n
            for a, n in able.items()
            if name not in only or _holds(domain.actions[name], only[name], a, literal, state)
        }
        for name, able in usual.items()
        if literal.predicate not in by or not literal.positive or name in by[literal.predicate]
    }
    found: list[Action] = []
    for able in ({name: able for name, able in sensible.items() if able} or usual).values():
        fewest = min(able.values())
        found += sorted(a for a, unmet in able.items() if unmet == fewest)
    return found


def revealing_actions(domain: Domain, transition: Transition, state: State) -> list[Action]:
    """Ground actions that may show an object that was never seen: the paper's effects that are possibly true.

    The section ``candidates: reveals`` of the domain's file declares them as action -> conditions, such as opening what
    is closed and walking to a room where the agent is not. Raises DomainError.
    """
    found = []
    for name, wanted in _reveals(domain).items():
        schema = domain.actions[name]
        for names in product(*(_fitting(domain, transition, p, wanted) for p in schema.parameters)):
            binding = schema.binding(names)
            if all(((x.predicate, *[binding[a] for a in x.args]) in state) == x.positive for x in wanted):
                found.append(Action(name, names))
    return sorted(found)


def _fitting(domain: Domain, transition: Transition, parameter: TypedVariable, wanted: Sequence[Literal]) -> list[str]:
    """Objects for a parameter of an action that fit its type, and those of the conditions that name it."""
    uses = [
        p.types
        for x in wanted
        for p, a in zip(domain.predicates[x.predicate].parameters, x.args)
        if a == parameter.name
    ]
    names = (o.name for o in transition.world.objects)
    return [n for n in names if all(transition.fits(n, types) for types in (parameter.types, *uses))]


def _ranked(
    transition: Transition, state: State, literal: Literal, conditions_hold: bool
) -> dict[str, dict[Action, int]]:
    """Action schema -> ground actions that achieve a literal -> number of unmet literals; only schemas with any."""
    domain, fixed = transition.domain, fixed_predicates(transition.domain)
    ranked: dict[str, dict[Action, int]] = defaultdict(dict)
    for schema in domain.actions.values():
        for bound, condition, variables in _ways(schema, literal):
            parts = list(condition) if conditions_hold else _fixed_parts(condition, fixed)
            parameters = [p for p in (*schema.parameters, *variables) if p.name not in bound]
            known = {p.name: p for p in (*schema.parameters, *variables)}
            if not all(transition.fits(value, known[name].types) for name, value in bound.items() if name in known):
                continue
            for binding in transition.bindings(state, parameters, parts, bound):
                action = Action(schema.name, tuple(binding[p.name] for p in schema.parameters))
                if action in ranked[schema.name] and conditions_hold:
                    continue
                try:
                    unmet = transition.unmet(state, action)
                except RuleError:
                    continue  # it is no way
                if any(u.predicate in fixed and u.positive for u in unmet):
                    continue
                lacks = len(unmet) + (0 if conditions_hold else len(_unmet(transition, state, condition, binding)))
                ranked[schema.name][action] = min(lacks, ranked[schema.name].get(action, lacks))
    return {name: rows for name, rows in ranked.items() if rows}


def lacking(
    domain: Domain, transition: Transition, state: State, action: Action, literal: Literal
) -> tuple[Literal, ...]:
    """Literals that an applicable action still needs to achieve a literal, by the way that needs the fewest."""
    schema, fixed = domain.schema(action), fixed_predicates(domain)
    binding = schema.binding(action.args)
    best: list[Literal] | None = None
    for bound, condition, variables in _ways(schema, literal):
        if any(binding.get(name, value) != value for name, value in bound.items()):
            continue
        free = [v for v in variables if v.name not in bound]
        for full in transition.bindings(state, free, _fixed_parts(condition, fixed), {**binding, **bound}):
            unmet = _unmet(transition, state, condition, full)
            if best is None or len(unmet) < len(best):
                best = unmet
            if not best:
                return ()
    return tuple(dict.fromkeys(best or ()))


def _fixed_parts(condition: tuple[Formula, ...], fixed: frozenset[str]) -> list[Formula]:
    """Conjuncts of a condition that no action changes."""
    return [p for p in condition if isinstance(p, Equal) or all(a.predicate in fixed for a in atoms_in(p))]


def _unmet(transition: Transition, state: State, condition: tuple[Formula, ...], binding: Binding) -> list[Literal]:
    failing = [part for part in condition if not transition.holds(state, part, binding)]
    return [literal for part in failing for literal in transition.explain(state, part, binding)]


def _holds(schema: ActionSchema, wanted: Literal, action: Action, literal: Literal, state: State) -> bool:
    """Whether the required condition holds for an action's arguments; arguments of the literal itself are exempt."""
    binding = schema.binding(action.args)
    names = [binding[a] for a in wanted.args]
    return any(n in literal.args for n in names) or (wanted.predicate, *names) in state


@lru_cache(maxsize=8)
def _sensible(domain: Domain) -> tuple[dict[str, frozenset[str]], dict[str, Literal]]:
    """The domain's ``candidates``: predicate -> actions, action -> required condition; raises DomainError."""
    notes = domain.extra.get("candidates") or {}
    by = {p: frozenset(actions) for p, actions in (notes.get("by") or {}).items()}
    only = {a: Literal.parse(text) for a, text in (notes.get("only") or {}).items()}

    _check(domain, "predicate", [*by, *(x.predicate for x in only.values())], domain.predicates)
    _check(domain, "action", [*only, *(a for actions in by.values() for a in actions)], domain.actions)
    for name, wanted in only.items():
        _check(domain, f"parameter of {name}", wanted.args, [p.name for p in domain.actions[name].parameters])
    return by, only


@lru_cache(maxsize=8)
def _reveals(domain: Domain) -> dict[str, tuple[Literal, ...]]:
    """The part ``reveals`` of the section ``candidates``: action -> conditions; raises DomainError."""
    notes = (domain.extra.get("candidates") or {}).get("reveals") or {}
    reveals = {name: tuple(map(Literal.parse, texts)) for name, texts in notes.items()}
    _check(domain, "action", reveals, domain.actions)
    for name, wanted in reveals.items():
        _check(domain, "predicate", [x.predicate for x in wanted], domain.predicates)
        known = [p.name for p in domain.actions[name].parameters]
        _check(domain, f"parameter of {name}", [a for x in wanted for a in x.args], known)
    return reveals


def _check(domain: Domain, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in set(known):
            raise DomainError(f"{domain.name}.yaml: candidates: {UnknownNameError(kind, name, known)}")


_TOKENS = 300
_MAX_ACTION = 300  # characters
MAX_CHARACTERS = 50_000


def select(question: Question, options: Sequence[Action], goal: Sequence[Literal]) -> Choice:
    """The index of the candidate that the model selects; an answer outside the list is a ParseError."""
    domain, world = question.domain, question.world
    done = [domain.phrase(g) for g in goal if world.holds(g)]
    left = [domain.phrase(g) for g in world.unmet(goal)]
    messages = (
        turn("system", "blocking/system.txt"),
        turn(
            "user",
            "blocking/user.txt",
            observation=observation_text(domain, question.shown),
            previous="; ".join(map(_shown, question.history)) or "none",
            completed="; ".join(done) or "none",
            candidates=", ".join(f"'$$ {_shown(o)} $$'{_effect(domain, o)}" for o in options),
            goal="; ".join(left) or one_line(question.sentence),
            task=one_line(question.sentence),
            errors="\n".join(f"- {one_line(e)}" for e in question.errors) or "none",
        ),
    )
    replies = question.ask(
        "selection",
        messages,
        about={"options": tuple(options)},
        temperature=question.settings.select_temperature,
        max_tokens=_TOKENS,
    )
    rows, problem = read_each(replies, lambda reply: parse_selection(reply.text, options, domain))
    if not rows:
        raise ParseError(problem)
    index = rows[0][1]
    return Choice(index, tuple(int(i == index) for i in range(len(options))), 0, replies.usage)


def parse_selection(text: str, options: Sequence[Action], domain: Domain) -> int:
    """Index of the option between ``$$`` marks; raises ParseError where it is none, or there are several.

    An action is accepted in any notation: ``grasp(red_cube)``, ``grasp red_cube``, or its phrase.
    """
    bounded(text, MAX_CHARACTERS)
    known: dict[str, int] = {}
    for index, action in enumerate(options):
        for writing in (domain.phrase(action), _shown(action)):
            known[plain_words(writing)] = index
    between = [part.strip() for part in text.split("$$")[1:-1:2]]
    marked = [m for m in between if len(m) <= _MAX_ACTION and "\n" not in m and plain_words(m)]
    after = text[text.rfind("$$") + 2 :] if marked else text
    marked += [line for line in after.splitlines() if plain_words(line) in known]
    if not marked:
        raise ParseError(f"no action between $$ marks in the reply {text[:100]!r}; expected $$ action $$")
    found = {known[plain_words(m)] for m in marked if plain_words(m) in known}
    if not found:
        raise ParseError(f"{marked[0][:100]!r} is not in the list of actions")
    if len(found) > 1:
        raise SeveralAnswersError(
            f"the reply selects {len(found)} actions: {', '.join(marked)[:200]}; one was asked for"
        )
    return found.pop()


def _shown(action: Action) -> str:
    """Notation of the paper's example: the name and its objects."""
    return " ".join([action.name, *action.args])


def _effect(domain: Domain, action: Action) -> str:
    """What the name does not say, in brackets."""
    effect = effect_text(domain, action)
    return f" ({effect})" if effect else ""


@dataclass(eq=False)
class SubgoalStep:
    """A node of the tree of steps; resolves: the literal that it achieves."""

    action: Action
    resolves: Literal
    parent: SubgoalStep | None
    children: list[SubgoalStep] = field(default_factory=list)


REVEALS = ("stuck", "unseen")


@dataclass
class Blocking(PaperMode):
    """max_actions as in the paper, 100; asked_again: number of repeated requests after an answer outside the list.

    reveal: when actions that may show an unseen object are candidates: "unseen", as in the paper, where an action would
    need an object that was never seen, which then blocks it; "stuck" where such an action failed or no candidate is
    left. max_candidates: per literal and action schema; what it cuts off is recorded. retries: of an action that failed
    with one of `planweave.core.base.failure.TRANSIENT`, offered again where no other candidate is left.
    """

    questions: ClassVar[Questions] = Questions(select={"blocking": select})
    PAPER: ClassVar[Mapping[str, Any]] = {"reveal": "unseen", "max_candidates": 0, "retries": 0}

    max_actions: int = option(100, "actions at most", 1, 10_000)
    asked_again: int = option(2, "repetitions of a question answered outside the list", 0, 100)
    reveal: str = option("stuck", "when to offer what may show an unseen object", choices=REVEALS)
    max_candidates: int = option(15, "candidates per literal and kind of action at most; 0: all", 0, 100_000)
    retries: int = option(2, "repetitions of an action that failed by chance, where nothing else is left", 0, 100)

    def run(self, episode: Episode) -> None:
        """Select, try, and add resolutions where blocked, until the goal holds."""
        observed, predicted = episode.observe(), UnobservedEffects()
        roots: list[SubgoalStep] = []
        errors: list[str] = []
        tried: set[tuple[Action, frozenset[Literal]]] = set()  # with these facts it did not help: not offered again
        failed: Counter[Action] = Counter()  # by chance
        history: list[Action] = []
        while observed.unmet(episode.goal) and episode.steps < self.max_actions:
            world = predicted.applied_to(episode.domain, observed)
            self._plant(episode, world, roots)
            leaves = self._offered(episode, world, roots, tried, history)
            if not leaves:
                leaves = [s for s in self._leaves(roots, world) if 0 < failed[s.action] <= self.retries]
            options = list(dict.fromkeys(s.action for s in leaves))
            if not options:
                episode.tell(message="no action is left that could help")
                return
            chosen = self._select(episode, world, history, options, errors)
            step = next(s for s in leaves if s.action == chosen)
            tried.add((chosen, world.facts))
            try:
                missing = self._blocked(episode, world, step)
            except RuleError as error:  # it is tried, so that it is not offered again in this state
                errors.append(f"{chosen}: {error}")
                episode.steps += 1
                continue
            if missing:
                errors.append(f"{chosen}: blocked until {' and '.join(episode.domain.phrase(m) for m in missing)}")
                episode.steps += 1
                self._resolve(episode, world, step, missing)
                continue
            outcome = episode.execute(chosen)
            before, observed = observed, outcome.world
            if outcome.ok:
                predicted.record(episode.domain, before, observed, chosen)
                history.append(chosen)
                errors.clear()
                self._remove(roots, step)
            elif outcome.final:
                return
            else:
                episode.corrections += 1
                failed[chosen] += outcome.code in TRANSIENT
                predicted.discard(chosen)
                errors.append(f"{chosen}: {outcome.message}")
                world = predicted.applied_to(episode.domain, observed)
                self._resolve(episode, world, step, outcome.unmet)
                if not step.children and outcome.code not in TRANSIENT:
                    self._resolve(episode, world, step, self._unseen(episode, world, step))

    def _offered(
        self,
        episode: Episode,
        world: World,
        roots: list[SubgoalStep],
        tried: set[tuple[Action, frozenset[Literal]]],
        history: list[Action],
    ) -> list[SubgoalStep]:
        """The leaves that may help; where there are none, those that may show an unseen object."""

        def fresh() -> list[SubgoalStep]:
            return [
                s
                for s in self._leaves(roots, world)
                if (s.action, world.facts) not in tried and not (s.action in history and s.resolves.negated() in marks)
            ]

        marks = unseen_marks(episode.domain, world)
        leaves = fresh()
        if not leaves:
            for leaf in self._leaves(roots, world):
                self._resolve(episode, world, leaf, self._unseen(episode, world, leaf))
            leaves = fresh()
        return leaves

    def _unseen(self, episode: Episode, world: World, step: SubgoalStep) -> tuple[Literal, ...]:
        """The literals that would say that the objects of an action were seen."""
        marks = unseen_marks(episode.domain, world)
        return tuple(sorted(m.negated() for m in marks if set(m.args) & set(step.action.args)))

    def _plant(self, episode: Episode, world: World, roots: list[SubgoalStep]) -> None:
        """Add roots for every unmet goal literal; remove those of literals that hold."""
        roots[:] = [r for r in roots if not world.holds(r.resolves)]
        for literal in world.unmet(episode.goal):
            if not any(r.resolves == literal for r in roots):
                roots += [SubgoalStep(a, literal, None) for a in self._achievers(episode, world, literal)]

    def _achievers(self, episode: Episode, world: World, literal: Literal) -> list[Action]:
        domain, transition = episode.domain, Transition(episode.domain, world)
        if literal.negated() in unseen_marks(domain, world):
            able = revealing_actions(domain, transition, transition.state())
        else:
            able = resolution_actions(domain, transition, transition.state(), literal)
        able = [action for action in able if action.name not in world.actions_off]
        of_name: Counter[str] = Counter()
        kept = []
        for action in able:
            of_name[action.name] += 1
            if not self.max_candidates or of_name[action.name] <= self.max_candidates:
                kept.append(action)
        if len(kept) < len(able):
            episode.journal.add(
                "candidates_cut", literal=str(literal), left_out=len(able) - len(kept), limit=self.max_candidates
            )
        return kept

    def _leaves(self, steps: list[SubgoalStep], world: World) -> list[SubgoalStep]:
        """Steps without children; children whose blocking condition no longer holds are removed first."""
        found = []
        for step in steps:
            step.children = [c for c in step.children if not world.holds(c.resolves)]
            found += self._leaves(step.children, world) if step.children else [step]
        return found

    def _blocked(self, episode: Episode, world: World, step: SubgoalStep) -> tuple[Literal, ...]:
        """Blocking conditions of a step: of its action, and of the effect that it is needed for."""
        if self.reveal == "unseen" and (unseen := self._unseen(episode, world, step)):
            return unseen
        transition = Transition(episode.domain, world)
        state = transition.state()
        missing = transition.unmet(state, step.action)
        more = lacking(episode.domain, transition, state, step.action, step.resolves)
        return tuple(dict.fromkeys((*missing, *more)))

    def _resolve(self, episode: Episode, world: World, step: SubgoalStep, missing: tuple[Literal, ...]) -> None:
        """Add children for every blocking condition, except actions that are among the ancestors."""
        above = {step.action}
        node = step.parent
        while node is not None:
            above.add(node.action)
            node = node.parent
        for literal in missing:
            step.children += [
                SubgoalStep(a, literal, step)
                for a in self._achievers(episode, world, literal)
                if a not in above and a not in {c.action for c in step.children}
            ]

    def _remove(self, roots: list[SubgoalStep], step: SubgoalStep) -> None:
        """Remove an executed action and its siblings for the same literal."""
        siblings = roots if step.parent is None else step.parent.children
        siblings[:] = [s for s in siblings if s is not step and s.resolves != step.resolves]

    def _select(
        self, episode: Episode, world: World, history: list[Action], options: list[Action], errors: list[str]
    ) -> Action:
        """A single candidate is taken without a request; an answer outside the list is requested again with a note."""
        if len(options) == 1:
            return options[0]
        episode.tell("selecting")
        notes: list[str] = []
        for attempt in range(self.asked_again + 1):
            episode.questions += 1
            try:
                choice = episode.planner.select_action(
                    "blocking",
                    episode.sentence,
                    world,
                    history,
                    options,
                    goal=episode.goal,
                    errors=[*errors[-5:], *episode.feedback(), *notes],
                    task_id=episode.task_id,
                )
            except ParseError as error:
                notes = [f"{error}. Select only an action of the list."]
                if attempt == self.asked_again:
                    raise
                episode.spend(error.usage)
                continue
            episode.spend(choice.usage)
            episode.journal.add("selection", options=[str(o) for o in options], chosen=choice.index)
            return options[choice.index]
        raise AssertionError("unreachable")
