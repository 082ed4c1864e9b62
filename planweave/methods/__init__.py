"""Planning methods: one file each, and this table. A method's ``run(episode)`` acts until it has nothing left to do."""

from planweave.methods.base_llm import BaseLLM
from planweave.methods.blocking import Blocking
from planweave.methods.brainbody import BrainBody
from planweave.methods.classical import Classical
from planweave.methods.iterative import Iterative
from planweave.methods.lang_prompt import LangPrompt
from planweave.methods.progprompt import ProgPrompt
from planweave.methods.scene_aware import SceneAware
from planweave.methods.tree_planner import TreePlanner
from planweave.methods.zero_shot import ZeroShot

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
