"""Random PDDL: ADL domains with derived predicates, worlds, plans and goals, as text."""

import itertools
from random import Random

SUBTYPES = {"t": ("t", "s"), "s": ("s",), "u": ("u",), "o": ("o", "t", "s", "u")}
FLUENTS = {"z": (), "p": ("t",), "q": ("o",), "r": ("t", "t"), "k": ("t", "u"), "h": ("t", "o", "s")}
DERIVED = {"d0": ("t",), "d1": ("t", "t"), "d2": (), "d3": ("o",)}
OBJECTS = {"a": "t", "B-1": "t", "c": "s", "2d": "u"}
CONSTANTS = {"home": "t"}
ALL = {**OBJECTS, **CONSTANTS}


def text(tree):
    """A nested list as an s-expression."""
    return tree if isinstance(tree, str) else f"({' '.join(map(text, tree))})"


def typed(names):
    return [word for name, kind in names.items() for word in (name, "-", kind)]


class RandomCase:
    """A random domain, an initial state and actions over its objects; `goal` and `plan` draw more from it.

    shadowing: variables of quantifiers may have the names of those outside.
    """

    def __init__(self, seed, shadowing=False):
        self.random, self.shadowing = Random(seed), shadowing
        derived = list(DERIVED)[: self.random.randint(0, len(DERIVED))]
        self.predicates = {**FLUENTS, **{name: DERIVED[name] for name in derived}}
        rules = [self._rule(list(FLUENTS) + derived[:k], name) for k, name in enumerate(derived) for _ in range(2)]
        self.actions = {f"Move-{k}": self._scope(("?x", "?y")[: self.random.randint(0, 2)]) for k in range(3)}
        declared = [[p, *typed({f"?a{i}": t for i, t in enumerate(kinds)})] for p, kinds in self.predicates.items()]
        self.pddl = text(
            [
                *("define", ["domain", "random"], [":requirements", ":adl", ":derived-predicates"]),
                [":types", *typed({"o": "object", "t": "o", "u": "o", "s": "t"})],
                [":constants", *typed(CONSTANTS)],
                [":predicates", *declared],
                *rules,
                *(self._action(name, scope) for name, scope in self.actions.items()),
            ]
        )
        self.atoms = [(p, *args) for p, kinds in self.predicates.items() for args in self._instances(kinds)]
        self.facts = [atom for atom in self.atoms if atom[0] in FLUENTS and self.random.random() < 0.4]
        self.steps = [(n, *args) for n, scope in self.actions.items() for args in self._instances(scope.values())]

    def problem(self, goal):
        facts = "".join(map(text, map(list, self.facts)))
        head = f"(define (problem one) (:domain random) (:objects {' '.join(typed(OBJECTS))})"
        return f"{head} (:init {facts}) (:goal {goal}))"

    def plan(self):
        return [self.random.choice(self.steps) for _ in range(self.random.randint(0, 4))]

    def goal(self):
        return text(self._formula({}, 3, list(self.predicates), list(self.predicates)))

    def _instances(self, kinds):
        return itertools.product(*([o for o, kind in ALL.items() if kind in SUBTYPES[k]] for k in kinds))

    def _scope(self, names):
        return {name: self.random.choice("tsu") for name in names}

    def _variables(self, scope):
        count = self.random.randint(1, 2)
        if self.shadowing:
            return self.random.sample(["?x", "?y", "?v"], k=count)
        return [f"?v{len(scope) + k}" for k in range(count)]

    def _rule(self, lower, name):
        """A rule of a derived predicate: it may use itself, but only lower ones where that is negated."""
        scope = {f"?a{i}": kind for i, kind in enumerate(DERIVED[name])}
        return [":derived", [name, *typed(scope)], self._formula(scope, 3, [*lower, name], lower)]

    def _action(self, name, scope):
        every = list(self.predicates)
        condition, effects = self._formula(scope, 3, every, every), [self._effect(scope, 2) for _ in range(3)]
        return [":action", name, ":parameters", typed(scope), ":precondition", condition, ":effect", ["and", *effects]]

    def _atom(self, scope, names):
        terms = {**scope, **CONSTANTS}
        for name in self.random.choices(names, k=20):
            fitting = [[t for t, kind in terms.items() if kind in SUBTYPES[k]] for k in self.predicates[name]]
            if all(fitting):
                return [name, *map(self.random.choice, fitting)]
        return ["z"]

    def _formula(self, scope, depth, names, negatable, positive=True):
        def inner(sign=positive, scope=scope):
            return self._formula(scope, depth - 1, names, negatable, sign)

        kind = self.random.random()
        if depth == 0 or kind < 0.25:
            return self._atom(scope, names if positive else negatable)
        if kind < 0.33 and scope:
            return ["=", *self.random.choices(list(scope), k=2)]
        if kind < 0.48:
            return ["not", inner(not positive)]
        if kind < 0.72:
            return [self.random.choice(["and", "or"]), *(inner() for _ in range(self.random.randint(0, 3)))]
        if kind < 0.80:
            return ["imply", inner(not positive), inner()]
        more = self._scope(self._variables(scope))
        return [self.random.choice(["forall", "exists"]), typed(more), inner(scope={**scope, **more})]

    def _effect(self, scope, depth):
        kind, every = self.random.random(), list(self.predicates)
        if depth == 0 or kind < 0.5:
            atom = self._atom(scope, list(FLUENTS))
            return self.random.choice([atom, ["not", atom]])
        if kind < 0.75:
            return ["when", self._formula(scope, 2, every, every), self._effect(scope, depth - 1)]
        more = self._scope(self._variables(scope))
        return ["forall", typed(more), ["and", *(self._effect({**scope, **more}, depth - 1) for _ in range(2))]]
