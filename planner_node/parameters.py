"""Parameters of planner_node."""

from planweave.core.base.parameter import AUTOSTART, Parameter, option_parameters
from planweave.goals import RULES
from planweave.llm.clients import CLIENTS
from planweave.llm.embeddings import EMBEDDERS
from planweave.methods.language.planner import PlannerSettings

PARAMETERS = [
    Parameter(
        "client",
        "auto",
        "who is asked: openai, embedded, replay, none; auto: the endpoint of OPENAI_BASE_URL or OPENAI_API_KEY, else "
        "the embedded model",
        choices=("auto", *CLIENTS),
    ),
    Parameter("model", "", "model of the endpoint, or a .gguf file for the embedded one; PLANWEAVE_MODEL overrules it"),
    Parameter("openai_model", "gpt-4.1-mini", "model for OpenAI's own endpoint where none is named"),
    Parameter("threads", 0, "threads of the embedded model; 0: half of the cores", 0, 1024),
    Parameter("cassette", "", "recorded exchanges for client replay"),
    Parameter("record", "", "file to append every exchange to, for a later replay"),
    Parameter("price_table", "", "price table; empty: the one that comes with Planweave"),
    *option_parameters(PlannerSettings),
    Parameter(
        "exclude_actions",
        list(PlannerSettings.exclude_actions),
        "actions of the domain that are not offered to the model",
    ),
    Parameter(
        "embedding",
        "hashed",
        "how names and tasks are compared; minilm needs planweave[local-models]",
        choices=tuple(EMBEDDERS),
    ),
    Parameter("budget_requests", 200, "requests per task at most; 0: no limit", 0, 1_000_000),
    Parameter("budget_tokens", 1_000_000, "tokens per task at most; 0: no limit", 0, 1_000_000_000),
    Parameter("budget_cost", 1.0, "US dollars per task at most; 0: no limit", 0.0, 10_000.0),
    RULES,
    Parameter("workers", 8, "questions at the same time", 1, 100),
    AUTOSTART,
]
