"""Random PDDL domains with types, quantifiers, conditional effects and derived predicates, their initial states and
ground actions, to compare verdicts with those of other validators.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

TYPES = {"t": ("t", "s"), "s": ("s",), "u": ("u",), "o": ("t", "s", "u")}  # each with those below
PREDICATES = {"z": (), "p": ("t",), "q": ("o",), "r": ("t", "t"), "k": ("t", "u"), "h": ("t", "o", "s")}
DERIVED = {"dp": ("t",), "dr": ("t", "t"), "dz": ()}
OBJECTS = {"a": "t", "b": "t", "c": "s", "d": "u"}
_BELOW = {("s", "t"), ("s", "s"), ("t", "t"), ("u", "u")}
Atom = tuple[str, ...]


@dataclass(frozen=True)
class RandomDomain:
    """One domain. init: the facts; steps: the ground actions; atoms: all ground atoms but derived ones."""

    pddl: str
    init: tuple[Atom, ...]
    steps: tuple[Atom, ...]
    atoms: tuple[Atom, ...]

    def problem(self, goal: str) -> str:
        """The problem of the initial state and a goal."""
        objects = " ".join(f"{name} - {kind}" for name, kind in OBJECTS.items())
        facts = " ".join(map(written, self.init))
        return f"(define (problem p) (:domain random) (:objects {objects}) (:init {facts}) (:goal {goal}))"


def random_domain(seed: int, derived: bool = True) -> RandomDomain:
    """The domain of a seed."""
    rng = random.Random(seed)
    predicates, axioms = dict(PREDICATES), []
    for name, kinds in DERIVED.items() if derived else ():  # stratified: each is made of those before it
        scope = {f"?{v}": kind for v, kind in zip("xy", kinds)}
        row = _text(_formula(rng, scope, 2, predicates))
        if name == "dr" and rng.random() < 0.5:  # the transitive closure
            row = "(or (r ?x ?y) (exists (?w - t) (and (r ?x ?w) (dr ?w ?y))))"
        axioms.append(f"(:derived ({name}{_parameters(scope)}) {row})")
        predicates[name] = kinds
    schemas = []
    for number in range(3):
        scope = {v: rng.choice("tsu") for v in ("?x", "?y")[: rng.randint(0, 2)]}
        condition, effects = _formula(rng, scope, 3, predicates), [_effect(rng, scope, 2, predicates) for _ in range(3)]
        schemas.append((f"m{number}", tuple(scope.values()), scope, condition, ["and", *effects]))
    actions = "\n".join(
        f"(:action {name} :parameters ({_parameters(scope).strip()}) :precondition {_text(condition)} "
        f":effect {_text(effect)})"
        for name, _, scope, condition, effect in schemas
    )
    declared = " ".join(
        f"({' '.join([name, *(f'?a{k} - {kind}' for k, kind in enumerate(kinds))])})"
        for name, kinds in predicates.items()
    )
    pddl = (
        "(define (domain random) (:requirements :adl :derived-predicates)\n (:types o - object t u - o s - t)\n"
        f" (:predicates {declared})\n" + "\n".join((*axioms, actions)) + ")"
    )
    atoms = tuple(atom for name, kinds in PREDICATES.items() for atom in _ground(name, kinds))
    steps = tuple(step for name, kinds, *_ in schemas for step in _ground(name, kinds))
    return RandomDomain(pddl, tuple(a for a in atoms if rng.random() < 0.4), steps, atoms)


def written(atom: Atom) -> str:
    """An atom or action in brackets."""
    return f"({' '.join(atom)})"


def _ground(name: str, kinds: tuple[str, ...]) -> list[Atom]:
    fitting = [[o for o, kind in OBJECTS.items() if kind in TYPES[wanted]] for wanted in kinds]
    return [(name, *args) for args in itertools.product(*fitting)]


def _parameters(scope: dict[str, str]) -> str:
    return "".join(f" {name} - {kind}" for name, kind in scope.items())


def _atom(rng: random.Random, scope: dict[str, str], predicates: dict[str, tuple[str, ...]]) -> list[str]:
    for _ in range(20):
        name = rng.choice(list(predicates))
        terms = []
        for wanted in predicates[name]:
            fitting = [v for v, kind in scope.items() if wanted == "o" or (kind, wanted) in _BELOW]
            if not fitting:
                break
            terms.append(rng.choice(fitting))
        else:
            return [name, *terms]
    return ["z"]


def _formula(rng: random.Random, scope: dict[str, str], depth: int, predicates: dict[str, tuple[str, ...]]) -> Any:
    choice = rng.random()
    if depth == 0 or choice < 0.25:
        return _atom(rng, scope, predicates)
    if choice < 0.33 and len(scope) > 1:
        return ["=", *rng.choices(list(scope), k=2)]
    if choice < 0.48:
        return ["not", _formula(rng, scope, depth - 1, predicates)]
    if choice < 0.72:
        parts = [_formula(rng, scope, depth - 1, predicates) for _ in range(rng.randint(1, 3))]
        return ["and" if choice < 0.60 else "or", *parts]
    if choice < 0.80:
        return ["imply", *(_formula(rng, scope, depth - 1, predicates) for _ in range(2))]
    more = {f"?{rng.choice('xyvw')}": rng.choice("tsu") for _ in range(rng.randint(1, 2))}
    inner = _formula(rng, {**scope, **more}, depth - 1, predicates)
    return [rng.choice(["forall", "exists"]), _parameters(more).split(), inner]


def _effect(rng: random.Random, scope: dict[str, str], depth: int, predicates: dict[str, tuple[str, ...]]) -> Any:
    choice = rng.random()
    if depth == 0 or choice < 0.5:
        atom = _atom(rng, scope, PREDICATES)
        return atom if rng.random() < 0.5 else ["not", atom]
    if choice < 0.75:
        made = ["and", *(_effect(rng, scope, 0, predicates) for _ in range(rng.randint(1, 2)))]
        return ["when", _formula(rng, scope, 2, predicates), made]
    more = {f"?{rng.choice('xyvw')}": rng.choice("tsuo") for _ in range(rng.randint(1, 2))}
    inner = [_effect(rng, {**scope, **more}, depth - 1, predicates) for _ in range(rng.randint(1, 2))]
    return ["forall", _parameters(more).split(), ["and", *inner]]


def _text(tree: Any) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(map(_text, tree))})"
