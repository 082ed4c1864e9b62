"""What is kept to be fast gives the same as what is made anew each time."""

import pytest

from planweave.bodies.home.port import HomeBody
from planweave.core.checks.validation import Validator, validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, facts_of
from planweave.core.symbolic.world import Action, Literal, WorldObject
from planweave.llm.embeddings import HashedEmbedder
from planweave.methods.language.translate import Translator

STEPS = "find(salmon_62) grab(salmon_62) find(fridge_13) open(fridge_13) putin(salmon_62,fridge_13) close(fridge_13)"
PLAN = tuple(map(Action.parse, STEPS.split()))
GOAL = (Literal.parse("inside(salmon_62, fridge_13)"), Literal.parse("closed(fridge_13)"))


@pytest.fixture(scope="module")
def house():
    return HomeBody("home_house").observe()


@pytest.mark.parametrize("name", ["household", "tabletop"])
def test_candidates_are_the_objects_whose_type_fits(name):
    domain = Domain.load(name)
    objects = [WorldObject(f"thing_{i}", kind) for i, kind in enumerate([*domain.types, "unheard_of"])]
    parameters = [p for s in (*domain.actions.values(), *domain.predicates.values()) for p in s.parameters]
    for parameter in parameters:
        fitting = [o.name for o in objects if domain.is_a(o.type, parameter.types)]
        assert domain.candidates(parameter, objects) == domain.candidates(parameter, objects) == fitting


def test_one_validator_finds_for_each_plan_what_a_fresh_one_finds(house):
    domain = Domain.load("household")
    plans = [PLAN, PLAN[1:], PLAN[:3] + PLAN[4:], PLAN, (*PLAN, Action("fly", ())), PLAN[:2], ()]
    validator = Validator(domain, house)
    found = [validator.check(p, GOAL) for p in plans]
    assert found == [validate(domain, house, p, GOAL) for p in plans]
    assert [f.ok for f in found] == [True, False, False, True, False, False, False]
    transition = Transition(domain, house)
    state = transition.state()
    for action in PLAN:
        transition.apply(state, action)
    assert found[0].world.facts == facts_of(state) != house.facts


def test_one_translator_gives_for_each_step_what_a_fresh_one_gives(house):
    domain, embedder = Domain.load("household"), HashedEmbedder()
    steps = ["grab the salmon", "put the salmon in the fridge", "sit on the sofa", "grab the salmon", "stand up"]
    translator = Translator(domain, house, embedder)
    found = [translator.nearest(step) for step in steps]
    assert found == [Translator(domain, house, embedder).nearest(step) for step in steps]
    assert found[0].actions[0].name == "grab" and found[0] == found[3]
    assert found[1].actions[0].name == "putin"
