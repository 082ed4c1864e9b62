"""Parameters of feedback_node; those of the methods are METHOD.OPTION."""

from planweave.core.base.parameter import AUTOSTART, Parameter, option_parameters
from planweave.core.workflow.approval import MOVED, NEAR_PEOPLE
from planweave.goals import RULES
from planweave.methods import METHODS

PARAMETERS = [
    Parameter(
        "method",
        "tree_planner",
        "planning method for tasks that name none",
        choices=tuple(METHODS.working()),
    ),
    Parameter(
        "fallback",
        "classical",
        "method that takes over where the goal is not reached, or none",
        choices=("classical", "none"),
    ),
    Parameter("action_timeout", 180.0, "seconds of wall time one action may take", 1.0, 3600.0),
    Parameter("planner_timeout", 180.0, "seconds of wall time one call of the planner may take", 1.0, 3600.0),
    Parameter("body_silence", 30.0, "seconds a task waits for a body that is there and reports its world", 0.1, 600.0),
    Parameter("require_approval", True, "a person approves every plan before it moves anything (planweave approve)"),
    Parameter("approved_alone", [*NEAR_PEOPLE], "actions that are always approved individually"),
    Parameter(
        "approval_tolerance", MOVED, "metres by which a thing may move until its plan is approved anew", 0.0, 1.0
    ),
    Parameter("approval_timeout", 300.0, "seconds a person has to approve; then the task is cancelled", 1.0, 86_400.0),
    Parameter("pause_timeout", 3600.0, "seconds after which a paused task is cancelled", 1.0, 604_800.0),
    Parameter(
        "answer_timeout",
        300.0,
        "seconds a person has to answer what an unclear sentence means; 0: nobody is asked, it is refused",
        0.0,
        86_400.0,
    ),
    Parameter("pass_while_asking", True, "tasks go on while one before them waits for a person's answer"),
    Parameter("observation_timeout", 10.0, "seconds for a fresh observation, or the goal is not confirmed", 0.1, 60.0),
    Parameter(
        "perception_timeout", 90.0, "seconds for open-vocabulary detectors to find and name what is named", 0.1, 600.0
    ),
    Parameter("max_queue", 50, "tasks that may wait", 1, 10000),
    Parameter(
        "kept_tasks",
        200,
        "ended tasks that can still be asked for (GetTask, ListTasks)",
        1,
        100_000,
    ),
    RULES,
    Parameter(
        "tasks_file",
        "",
        "SQLite file that keeps tasks and records; empty: memory only. planweave up names one",
    ),
    Parameter(
        "after_restart",
        "ask",
        "a task that a killed feedback_node had begun to carry out: a person approves its next plan, or it goes on",
        choices=("ask", "continue"),
    ),
    Parameter("journal_folder", "", "existing folder for one JSONL file per task; empty: memory only"),
    *(row for name, made in METHODS.working().items() for row in option_parameters(made, f"{name}.")),
    AUTOSTART,
]
