"""Parameters of the planner."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.base.parameter import option
from planweave.llm.names import CUTOFF

SAMPLING = ("auto", "request", "stepwise")
READERS = ("auto", "grammar", "model")


@dataclass(frozen=True)
class PlannerSettings:
    """Parameters of the planner; the defaults are those of the papers, see config/planner.yaml.

    sampling: "request" samples all plans in one request, as in the paper; "stepwise" writes them one after the other,
    step by step (stepwise.py); "auto" is stepwise where the client supports it. Options that end in _embedded are for
    the small embedded model. goal_agreement: a goal is accepted if more than this share of the replies agrees on it.
    timeout: seconds per request including retries. max_steps: per plan. exclude_actions: actions not offered.
    scene_tokens: limit of objects and observation in a prompt; words_tokens: limit of a plan in words or a program.
    """

    samples: int = option(25, "plans sampled per task, N", 1, 200)
    samples_embedded: int = option(3, "the same for the embedded model", 1, 200)
    sampling: str = option(
        "auto",
        "request: all plans in one request, as in the paper; stepwise: in turn, each step out of the actions "
        "that can be done then, until a plan reaches the goal; auto: stepwise for the embedded model",
        choices=SAMPLING,
    )
    sampling_seconds_embedded: float = option(
        20.0, "seconds after the first answer in which stepwise sampling asks for further steps", 0.1, 3600.0
    )
    temperature: float = option(0.8, "of plan sampling", 0.0, 2.0)
    top_p: float = option(0.95, "of plan sampling", 0.01, 1.0)
    votes: int = option(20, "votes per decision, n", 1, 200)
    votes_embedded: int = option(9, "the same for the embedded model", 1, 200)
    choice_temperature: float = option(0.7, "of a decision", 0.0, 2.0)
    reader: str = option(
        "auto",
        "model: a language model reads every sentence, and where the grammar reads it otherwise a person is asked; "
        "grammar: only what the grammar does not cover is given to one; auto: as model where planweave doctor found "
        "that it reads rightly, as grammar where doctor never asked it, and none where it read wrongly",
        choices=READERS,
    )
    confirm_reading: bool = option(
        False,
        "a language model says what each reading adds to its sentence and what it loses, with a question of its own; a "
        "person is asked where that is anything",
    )
    goal_votes: int = option(5, "readings of a sentence by a language model", 1, 50)
    goal_temperature: float = option(0.7, "of these readings", 0.0, 2.0)
    goal_agreement: float = option(0.5, "more than this share of them must agree", 0.0, 0.99)
    only_measured: bool = option(
        True, "the bundled embedded model is asked for steps of the kinds of tasks that it was measured to plan, only"
    )
    max_steps: int = option(30, "steps of a sampled plan at most", 1, 1000)
    max_steps_embedded: int = option(12, "the same for the embedded model", 1, 1000)
    seed: int = option(-1, "sent with every request, for endpoints that then answer alike; -1: none", -1, 2**31 - 1)
    timeout: float = option(60.0, "seconds one question may take with all retries", 0.1, 3600.0)
    cutoff: float = option(CUTOFF, "similarity below which a name in a plan is taken for unknown", 0.0, 1.0)
    exclude_actions: tuple[str, ...] = ("grab_and_putin",)  # its parts grasp and place_in are offered
    scene_tokens: int = option(3200, "tokens of a prompt for objects and observation at most", 500, 100_000)
    words_tokens: int = option(600, "tokens of a program or of a plan in words at most", 50, 20_000)
    program_temperature: float = option(0.0, "of a program and of LangPrompt's plan", 0.0, 2.0)
    brain_temperature: float = option(0.5, "of BrainBody's Brain", 0.0, 2.0)
    body_temperature: float = option(0.5, "of BrainBody's Body", 0.0, 2.0)
    step_temperature: float = option(0.0, "of the Iterative-Planner", 0.0, 2.0)
    proposals: int = option(10, "samples of the next step, k (zero_shot, scene_aware)", 1, 200)
    proposal_temperature: float = option(0.7, "of these samples", 0.0, 2.0)
    select_temperature: float = option(0.0, "of a selection (blocking)", 0.0, 2.0)
    environment_weight: float = option(0.5, "W_e: surroundings in the choice of an example", 0.0, 10.0)
