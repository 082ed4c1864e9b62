"""Verdicts, states and goals of random ADL domains with derived predicates, against kairos.validate."""

import kairos
import pytest
from doubles.random_domains import OBJECTS, RandomCase

from planweave.core.checks.validation import validate
from planweave.core.planning.pddl_writer import domain_pddl, planned_step, problem_pddl
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.problem import Problem
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action


def valid(domain, problem, steps):
    """Whether the oracle accepts a plan; domain, problem: PDDL."""
    parsed = kairos.parse_problem(problem, kairos.parse_domain(domain))
    plan = "\n".join(f"({' '.join(step)})" for step in steps) or "; empty"
    return kairos.validate(parsed, kairos.parse_plan(plan + "\n")).valid


@pytest.mark.parametrize("seed", range(40))
def test_a_random_domain_means_what_the_oracle_says(seed):
    case = RandomCase(seed)
    domain = Domain.load(case.pddl, replace=True)
    for _ in range(6):
        steps, goal = case.plan(), case.goal()
        problem = Problem.load(domain, case.problem(goal))
        found = validate(domain, problem.world, [Action(s[0], s[1:]) for s in steps])
        done = steps if found.failed_step is None else steps[: found.failed_step]
        after = {(f.predicate, *f.args) for f in found.world.facts}
        signs = (f"({' '.join(a)})" if a in after else f"(not ({' '.join(a)}))" for a in case.atoms)
        assert valid(case.pddl, case.problem(f"(and {' '.join(signs)})"), done)
        if found.failed_step is not None:
            assert found.causes and not valid(case.pddl, case.problem("(and)"), steps[: found.failed_step + 1])
        transition = Transition(domain, found.world)
        state = transition.state()
        holds = transition.holds(state, problem.goal, {})
        assert holds == valid(case.pddl, case.problem(goal), done)
        if not holds:
            assert transition.explain(state, problem.goal, {})


@pytest.mark.parametrize("seed", range(100, 115))
def test_what_is_written_for_the_planner_means_the_same(seed):
    case = RandomCase(seed)
    domain = Domain.load(case.pddl, replace=True)
    written = domain_pddl(domain)
    for _ in range(5):
        steps, goal = case.plan(), case.goal()
        problem = Problem.load(domain, case.problem(goal))
        task = problem_pddl(domain, problem.world, problem.goal)
        names = {name: name if name[0].isalpha() else f"x--{name}" for name in OBJECTS}
        renamed = [(s[0], *(names.get(a, a) for a in s[1:])) for s in steps]
        assert valid(written, task, renamed) == valid(case.pddl, case.problem(goal), steps)
        for step, own in zip(renamed, steps):
            action, _ = planned_step(domain, problem.world, step[0].lower(), [a.lower() for a in step[1:]])
            assert action == Action(own[0], own[1:])
