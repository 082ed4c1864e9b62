"""What each method asks of the model: one file and one prompt folder each, and these tables."""

from planweave.methods.questions import blocking, brainbody, iterative, lang_prompt, progprompt, scene_aware, zero_shot

WRITERS = {
    "progprompt": progprompt.write,
    "brainbody": brainbody.write,
    "brainbody_feedback": brainbody.write_tail,
    "lang_prompt": lang_prompt.write,
}
GROUNDERS = {"brainbody": brainbody.ground, "lang_prompt": lang_prompt.ground}
PROPOSERS = {"iterative": iterative.propose, "zero_shot": zero_shot.propose, "scene_aware": scene_aware.propose}
SELECTORS = {"blocking": blocking.select}
SAMPLERS = ("tree_planner", "base_llm")  # their plans differ by the prompt folder only
