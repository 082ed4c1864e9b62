"""Questions of every kind to a planner, for cassettes.

To record a cassette anew, remove it, start an endpoint, set OPENAI_BASE_URL and PLANWEAVE_MODEL, and run from the root:
PYTHONPATH=.:test python -m doubles.planner_questions test/cassettes/hand_answered.jsonl
"""

import os
import sys

from doubles.planner_worlds import BLOCKS, table
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Action
from planweave.llm.clients import choose_client
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings

SETTINGS = PlannerSettings(timeout=1500, samples=4, votes=3, exclude_actions=("grab_and_putin",))
SORTED_AWAY = table(
    "red_cube:item:cube:red",
    "left_tray:container:tray:gray",
    "plate:surface:plate:white",
    facts=["in(red_cube, left_tray)"],
)


def actions(*texts):
    """Actions; "" stands for the end of the task."""
    return [Action.parse(t) if t else None for t in texts]


QUESTIONS = {
    "plans for a cube that is covered": lambda p: p.generate_plans("put the blue cube in the right tray", BLOCKS),
    "a choice after an error": lambda p: p.choose_action(
        "put the blue cube in the right tray",
        BLOCKS,
        [],
        actions("grasp(banana)", "grasp(blue_cube)"),
        errors=["grasp(blue_cube): blue_cube is covered: banana is on it"],
    ),
    "whether the task is done": lambda p: p.choose_action(
        "put the red cube in the left tray",
        SORTED_AWAY,
        actions("grasp(red_cube)", "place_in(red_cube, left_tray)"),
        actions("", "return_to_base()", "grasp(red_cube)"),
    ),
    "a goal that takes knowledge": lambda p: p.interpret_goal(
        "serve me something sweet, and keep your arm out of my way afterwards", BLOCKS
    ),
    "a goal that cannot be said": lambda p: p.interpret_goal(
        "could you tidy the wooden toys away into whichever tray is nearer to the red one", BLOCKS
    ),
}


if __name__ == "__main__":
    planner = LanguagePlanner(choose_client(os.environ, {"client": "openai", "record": sys.argv[1]}), SETTINGS)
    for name, ask in QUESTIONS.items():
        try:
            print(name, ask(planner))
        except PlanweaveError as error:
            print(name, error)
