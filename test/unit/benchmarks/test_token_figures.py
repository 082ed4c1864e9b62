"""The token figures: a simulated model that knows a plan alone answers the product's own prompts."""

import pytest

from benchmarks.check_figures import check_figures
from benchmarks.home_tasks import eai_tasks, paper_tasks, run_method
from benchmarks.token_figures import METHODS, TokenRow, model_for, next_index, prompt_sizes, saving, token_figures
from planweave.core.symbolic.world import Action
from planweave.llm.accounting import estimated_tokens
from planweave.methods.language.settings import PlannerSettings

pytestmark = pytest.mark.slow


def actions(text):
    return [Action.parse(part) for part in text.split()]


GOLD = actions("walk(a) grab(a) walk(b) open(b) putin(a,b)")


@pytest.fixture(scope="module")
def tasks():
    return paper_tasks()


def listening(task, rate):
    """A model, and what it was asked and answered."""
    model, heard = model_for(task, rate), []
    ask = model.complete

    def complete(request):
        heard.append((request, ask(request)))
        return heard[-1][1]

    model.complete = complete
    return model, heard


@pytest.mark.parametrize(
    "done, failed, index",
    [
        ("", "", 0),
        ("walk(a)", "", 1),
        ("walk(a) walk(c)", "", 1),
        ("walk(a) grab(a) walk(b) putin(a,b)", "", 5),
        ("walk(a) grab(a)", "open(b)", 2),
        ("walk(a) grab(a) open(b)", "putin(a,b)", 2),  # the walk was left out: it is made up for
        ("walk(a)", "grab(a)", 0),  # nothing was left out: go there again
        ("", "walk(a)", 0),
    ],
)
def test_where_it_goes_on(done, failed, index):
    assert next_index(GOLD, actions(done), actions(failed)) == index


@pytest.mark.parametrize("method", METHODS)
def test_without_errors_every_method_follows_the_right_plan(tasks, method):
    name, options = METHODS[method]
    for task in tasks:
        model, heard = listening(task, 0.0)
        run = run_method(name, task, model, PlannerSettings(), **options)
        asked = len(heard)
        assert run.usage.total_tokens == sum(r.usage.total_tokens for _, r in heard)
        read = [m["content"] for request, _ in heard for m in request.messages]
        assert run.usage.prompt_tokens == sum(map(estimated_tokens, read))
        assert run.met and run.corrections == 0 and run.actions == len(task.plan)
        assert asked == (1 if name == "tree_planner" else len(task.plan) + 1)


def test_the_same_seed_gives_the_same_figures_and_errors_cost(tasks):
    some = [t for t in tasks if t.words in ("put the salmon in the fridge", "make coffee")]
    rows = token_figures(some, 0.3, seeds=2)
    assert rows == token_figures(some, 0.3, seeds=2) and set(rows) == set(METHODS)
    right = token_figures(some, 0.0, seeds=1)
    assert right["global replanning"].corrections == 0 < rows["global replanning"].corrections
    assert rows["global replanning"].tokens > right["global replanning"].tokens
    assert rows["tree_planner"].requests > right["tree_planner"].requests == 1
    assert rows["no replanning"].met < 4 == rows["no replanning"].runs
    assert rows["no replanning"].corrections == 0 == rows["tree_planner without correction"].corrections


def test_the_check_refuses_no_right_plan_of_the_papers_tasks_and_most_wrong_ones(tasks):
    found = check_figures(tasks, varied=8)
    assert sum(found.right) == len(tasks) and found.right[3] == 0 < found.right[1]
    assert found.refused == 0 < found.varied_right and 0 < found.passed < 0.3 * found.varied_wrong
    assert found == check_figures(tasks, varied=8)


def test_prompts_are_as_the_papers_token_model_takes_them(tasks):
    """A step of the iterative planner has the parts of both of Tree-Planner's prompts (Section 5.1)."""
    sizes = prompt_sizes(tasks[:3])
    assert sizes.choice < sizes.plan < sizes.step < sizes.plan + sizes.choice + 200
    assert sizes.steps == sum(len(t.plan) for t in tasks[:3]) / 3 and sizes.most_samples > 25


def test_saving_is_the_share_of_tokens():
    rows = {"tree_planner": TokenRow(25, 0, 0, 0, 0, 1), "other": TokenRow(100, 0, 0, 0, 0, 1)}
    assert saving(rows, "other") == 0.75


def test_no_tasks_where_the_data_are_not(tmp_path):
    assert eai_tasks(tmp_path, tmp_path) == []
