"""Planning methods: one file each, and this table. A method's ``run(episode)`` acts until it has nothing left to do."""

from feedback_node.methods.base_llm import BaseLLM
from feedback_node.methods.blocking import Blocking
from feedback_node.methods.brainbody import BrainBody
from feedback_node.methods.classical import Classical
from feedback_node.methods.iterative import Iterative
from feedback_node.methods.lang_prompt import LangPrompt
from feedback_node.methods.progprompt import ProgPrompt
from feedback_node.methods.scene_aware import SceneAware
from feedback_node.methods.tree_planner import TreePlanner
from feedback_node.methods.zero_shot import ZeroShot

METHODS = {
    "tree_planner": TreePlanner,
    "progprompt": ProgPrompt,
    "brainbody": BrainBody,
    "blocking": Blocking,
    "scene_aware": SceneAware,
    "zero_shot": ZeroShot,
    "iterative": Iterative,
    "base_llm": BaseLLM,
    "lang_prompt": LangPrompt,
    "classical": Classical,
}
