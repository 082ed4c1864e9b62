"""Parameters of the planner."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.llm.names import CUTOFF

SAMPLING = ("auto", "request", "stepwise")


@dataclass(frozen=True)
class Settings:
    """Parameters of the planner; the defaults are those of the papers, see config/planner.yaml.

    sampling: "request" asks for all plans at once, as the paper does; "stepwise" has them written in turn, step by step
    (`planweave.methods.stepwise`); "auto" is stepwise for a client that can. Those that end in _embedded are for the model
    in this process, which is small. goal_agreement: share of the readings of a sentence that must be more than this to
    count. timeout: seconds for one question with all its retries. max_steps: of one plan. exclude_actions: not offered.
    scene_tokens: how much of a prompt may go to objects and observation together; words_tokens: how long a plan in
    words or a program may be.
    """

    samples: int = 25
    samples_embedded: int = 3
    sampling: str = "auto"
    sampling_seconds_embedded: float = 20.0
    temperature: float = 0.8
    top_p: float = 0.95
    votes: int = 20
    votes_embedded: int = 9
    choice_temperature: float = 0.7
    goal_votes: int = 5
    goal_temperature: float = 0.7
    goal_agreement: float = 0.5
    goal_agreement_embedded: float = 0.99
    max_steps: int = 30
    max_steps_embedded: int = 12
    timeout: float = 60.0
    cutoff: float = CUTOFF
    exclude_actions: tuple[str, ...] = ()
    scene_tokens: int = 3200
    words_tokens: int = 600
    program_temperature: float = 0.0
    brain_temperature: float = 0.5
    body_temperature: float = 0.5
    step_temperature: float = 0.0
    proposals: int = 10
    proposal_temperature: float = 0.7
    select_temperature: float = 0.0
    environment_weight: float = 0.5
