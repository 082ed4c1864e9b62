"""Prompts stay short whatever the scene, relevant things first; tokens, embeddings, and the extra for local models."""

import importlib.metadata
import logging
from pathlib import Path

import numpy as np
import pytest
from codes import raises_code
from hypothesis import given, settings
from hypothesis import strategies as st

from planweave.core.base.errors import MissingExtraError, PlanweaveError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.llm.accounting import estimated_tokens
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.llm.clients.embedded import bundled_weights
from planweave.llm.embeddings import EMBEDDERS, HashedEmbedder, choose_embedder, cosine
from planweave.llm.names import Mender
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.language.prompt_world import PromptWorlds

HOUSEHOLD = Domain.load("household")
SENTENCE = "put the salmon in the fridge"
KINDS = (
    *("kitchen_cabinet", "bathroom_counter", "coffee_table", "light_switch", "clothes_shirt", "wall_phone"),
    *("pillow", "book"),
)


def home(count, facts=()):
    """A home with a salmon on a counter, a fridge, and so many things more, all with states and places."""
    objects = [
        WorldObject("kitchen_1", "room", "kitchen"),
        WorldObject("bedroom_2", "room", "bedroom"),
        WorldObject("fridge_3", "item", "fridge"),
        WorldObject("salmon_4", "item", "salmon"),
        WorldObject("kitchen_counter_5", "item", "kitchen_counter"),
    ]
    told = {"agent_in(bedroom_2)", "on(salmon_4, kitchen_counter_5)", "closed(fridge_3)", "right_hand_free()", *facts}
    for i in range(count):
        name = f"{KINDS[i % len(KINDS)]}_{i + 10}"
        objects.append(WorldObject(name, "item", KINDS[i % len(KINDS)]))
        told |= {f"on({name}, kitchen_counter_5)", f"closed({name})", f"dirty({name})", f"next_to({name}, fridge_3)"}
    return World("household", tuple(objects), frozenset(map(Literal.parse, told)))


class Silent:
    endpoint, model, capabilities = "scripted", "m", Capabilities()

    def __init__(self):
        self.questions = []

    def complete(self, request):
        self.questions.append(request)
        return ChatReplies((ChatReply("?"),), Usage(1))

    def close(self):
        pass


def every_prompt(world, exchanges=None):
    """A question of each kind about a world."""
    client = Silent()
    p = LanguagePlanner(client, on_exchange=exchanges.append if exchanges is not None else None)
    grab, opened = Action("grab", ("salmon_4",)), Action("open", ("fridge_3",))
    goal = [Literal("inside", ("salmon_4", "fridge_3"))]
    asks = [
        lambda: p.generate_plans(SENTENCE, world),
        lambda: p.generate_plans(SENTENCE, world, method="base_llm"),
        lambda: p.choose_action(SENTENCE, world, [grab] * 20, [grab, None], errors=["it slipped"] * 5),
        lambda: p.interpret_goal("I would love the salmon to stay fresh, so use the fridge", world),
        lambda: p.write("progprompt", SENTENCE, world),
        lambda: p.write("brainbody", SENTENCE, world),
        lambda: p.write("brainbody_feedback", SENTENCE, world, history=["walk"] * 20, errors=["no"] * 3, start=19),
        lambda: p.write("lang_prompt", SENTENCE, world),
        lambda: p.ground_step("brainbody", SENTENCE, "grab the salmon", world),
        *(
            lambda m=m: p.propose_steps(m, SENTENCE, world, [grab] * 20)
            for m in ("iterative", "zero_shot", "scene_aware")
        ),
        lambda: p.select_action("blocking", SENTENCE, world, [grab] * 20, [grab, opened], goal=goal),
        lambda: p.check_condition("'salmon' with 'fridge'", world),
    ]
    for ask in asks:
        with pytest.raises(PlanweaveError):
            ask()
    return ["\n".join(m["content"] for m in q.messages) for q in client.questions]


@pytest.mark.parametrize("count", [0, 60, 440, 2000])
def test_no_prompt_for_a_home_has_6000_tokens(count):
    prompts = every_prompt(home(count))
    sizes = [estimated_tokens(p) for p in prompts]
    assert len(sizes) >= 14 and 1.1 * max(sizes) < 6000, sizes  # the estimate may be 6 % too low
    needed = [p for p in prompts if "by kind" in p]
    assert len(needed) >= 8 and all("salmon_4" in p and "fridge_3" in p and "kitchen_1" in p for p in needed)


def test_what_is_left_out_is_logged_and_recorded(caplog):
    exchanges = []
    with caplog.at_level(logging.INFO, "planweave.methods.language.prompt_world"):
        every_prompt(home(440), exchanges)
    assert "objects: " in caplog.text and "observed facts" in caplog.text
    left_out = next(e["left_out"] for e in exchanges if e["kind"] == "brain")
    assert left_out and not {"salmon_4", "fridge_3", "kitchen_counter_5"} & set(left_out)


def test_small_worlds_are_shown_whole():
    world = home(10)
    assert PromptWorlds(HashedEmbedder(), 3200).shown(HOUSEHOLD, world, SENTENCE) == (world, ())


def test_the_objects_shown_stay_the_same_through_a_task_and_what_becomes_important_is_added():
    worlds, first = PromptWorlds(HashedEmbedder(), 3200), home(600)
    shown, left_out = worlds.shown(HOUSEHOLD, first, SENTENCE)
    news = {Literal.parse("holds_rh(salmon_4)"), Literal.parse("opened(fridge_3)")}
    again = World("household", first.objects, first.facts | news)
    assert worlds.shown(HOUSEHOLD, again, SENTENCE)[0].objects == shown.objects
    assert Literal.parse("holds_rh(salmon_4)") in worlds.shown(HOUSEHOLD, again, SENTENCE)[0].facts
    with_one = World("household", first.objects, first.facts | {Literal("holds_lh", (left_out[0],))})
    names = {o.name for o in worlds.shown(HOUSEHOLD, with_one, SENTENCE)[0].objects}
    assert names == {o.name for o in shown.objects} | {left_out[0]}


# Embeddings


@settings(max_examples=100)
@given(st.lists(st.text(max_size=60), max_size=5))
def test_vectors_have_length_one(texts):
    rows = HashedEmbedder().embed(texts)
    assert rows.shape == (len(texts), 512) and np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("one", "two", "other"),
    [
        ("mug", "mugs", "plate"),
        ("coffeepot", "coffee pot", "table"),
        ("red cube", "the red block", "blue tray"),
        ("put the salmon in the fridge", "salmon into fridge", "switch on the light"),
        ("PutIn", "put in", "walk"),
    ],
)
def test_alike_texts_are_nearer(one, two, other):
    embedder = HashedEmbedder()
    assert cosine(embedder, one, two) > 0.3 > cosine(embedder, one, other)
    assert cosine(embedder, one, one) == pytest.approx(1.0)


def test_embedders_are_chosen_by_name():
    assert choose_embedder().name == "hashed" and set(EMBEDDERS) == {"hashed", "minilm"}
    with raises_code("unknown_name", "'hashed'"):
        choose_embedder("hashd")


def test_what_is_missing_names_the_extra_that_pyproject_has(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    extras = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    for ask in (bundled_weights, lambda: choose_embedder("minilm")):
        with pytest.raises(MissingExtraError) as error:
            ask()
        assert f"planweave[{error.value.extra}]" in str(error.value) and f"\n{error.value.extra} = [" in extras


def test_minilm_knows_meaning_where_it_is_installed():
    try:
        embedder = choose_embedder("minilm")
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert cosine(embedder, "sofa", "couch") > 0.7 > cosine(embedder, "sofa", "lamp")


class Meaning(HashedEmbedder):
    """Knows that a couch is a sofa."""

    name = "meaning"

    def embed(self, texts):
        return super().embed([t.replace("settee", "sofa") for t in texts])


def test_names_are_mended_by_meaning_where_the_embedding_knows_it():
    world = World("household", (WorldObject("sofa", "item", "sofa"), WorldObject("lamp", "item", "lamp")))
    assert Mender(HOUSEHOLD, world).plan([Action("find", ("settee",))]) is None
    (step,) = Mender(HOUSEHOLD, world, Meaning()).plan([Action("find", ("settee",))])
    assert str(step.action) == "find(sofa)" and step.original == "find(settee)"


def test_tokens_are_estimated():
    assert estimated_tokens("") == 0 and estimated_tokens("put the salmon") == 3
    assert estimated_tokens("kitchen_counter_25") >= 6
