"""The action tree: merging, counting, log-probabilities, invalidation."""

import math
from collections import Counter

import pytest
from doubles.scripted import plan
from hypothesis import given
from hypothesis import strategies as st

from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action
from planweave.core.trees.action_tree import Status, build_tree

ACTIONS = st.sampled_from([Action("go", (x,)) for x in "abc"] + [Action("stop")])
PLANS = st.lists(st.tuples(st.lists(ACTIONS, max_size=5), st.integers(1, 4)), max_size=12)


def plans_of(node, begin=()):
    """The plans in a tree, each with its number of samples."""
    found = {}
    for action, child in node.children.items():
        found |= {begin: child.samples} if child.is_end else plans_of(child, (*begin, action))
    return found


@given(PLANS)
def test_a_tree_keeps_exactly_the_sampled_plans(rows):
    plans = [CountedPlan(tuple(PlanStep(a) for a in actions), samples) for actions, samples in rows]
    expected = Counter()
    for actions, samples in rows:
        expected[tuple(actions)] += samples
    root = build_tree(plans)
    assert plans_of(root) == dict(expected)
    assert root.samples == sum(expected.values())
    for node in root.subtree():
        if node.children:
            assert sum(c.samples for c in node.children.values()) == node.samples
            assert all(c.time_step == node.time_step + 1 and c.parent is node for c in node.children.values())


def test_shared_prefixes_are_merged_and_equal_actions_elsewhere_are_not():
    root = build_tree(
        [
            plan("walk(bedroom); lie(bed); sleep()"),
            plan("walk(bedroom); sit(bed); sleep()"),
            plan("walk(couch); sleep()"),
        ]
    )
    assert [str(c.action) for c in root.children.values()] == ["walk(bedroom)", "walk(couch)"]
    sleeps = [n for n in root.subtree() if n.action == Action("sleep")]
    assert len(sleeps) == 3


def test_logprob_of_an_edge_is_that_of_the_summed_probabilities_of_a_step():
    root = build_tree([plan("a(x); b(x)", logprob=math.log(0.2)), plan("a(x); c(x)", logprob=math.log(0.1))])
    node = root.children[Action("a", ("x",))]
    assert node.logprob == pytest.approx(math.log(0.2 ** (1 / 3) + 0.1 ** (1 / 3)))
    short, long = plan("a(x)", logprob=-2.0), plan("b(x); c(x); d(x)", logprob=-2.4)
    edges = build_tree([short, long]).children
    assert edges[Action("a", ("x",))].logprob < edges[Action("b", ("x",))].logprob, "a longer plan is no worse"


def test_invalidating_a_subtree_leaves_the_rest():
    root = build_tree([plan("a(x); b(x)"), plan("c(x)", samples=3)])
    bad = root.children[Action("a", ("x",))]
    bad.invalidate()
    assert all(n.status is Status.INVALID for n in bad.subtree())
    assert [n.action.name for n in root.valid_children()] == ["c"]
