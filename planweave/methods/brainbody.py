"""BrainBody-LLM (Bhat et al., "Grounding LLMs for robot task planning using closed-loop state feedback"), Algorithm 1.

A Brain writes numbered steps in words; a Body turns each into one command or passes; an error goes back to the Brain,
which explains it and writes a new tail from the failed step on.
"""

from __future__ import annotations

from dataclasses import dataclass

from planweave.methods.episode import Episode


@dataclass
class BrainBody:
    """max_feedback is K, 3 in the paper; after that many replans a failed step is left behind."""

    max_feedback: int = 3
    max_steps: int = 100

    def run(self, episode: Episode) -> None:
        """Algorithm 1; names as in the paper: hlp the high-level plan, i its index, k the feedback loops."""
        episode.tell("asking the brain")
        hlp = self._brain(episode, [], [])
        i = k = 0
        failed: set[tuple[str, str]] = set()  # command and error: the same twice ends a step (oscillation)
        while i < len(hlp) and episode.steps < self.max_steps:
            step, world = hlp[i], episode.observe()
            episode.tell(f"step {i}: {step}")
            delta = episode.planner.ground_step(
                "brainbody", episode.sentence, step, world, task_id=episode.task_id
            )
            episode.spend(delta.usage)
            episode.journal.add("grounded", step=step, action=str(delta.action) if delta.action else "<pass>")
            if delta.action is None:
                i += 1
                continue
            outcome = episode.execute(delta.action)
            error = (str(delta.action), outcome.message)
            if outcome.ok:
                i += 1
            elif outcome.final:
                return
            elif k < self.max_feedback and error not in failed:
                failed.add(error)
                k += 1
                episode.corrections += 1
                episode.tell("asking the brain again")
                tail = self._brain(episode, hlp[:i], [f"{delta.action}: {outcome.message}", *episode.feedback()], step)
                hlp = [*hlp[:i], *tail]
            else:
                i += 1
        episode.tell("plan ended")

    def _brain(self, episode: Episode, done: list[str], errors: list[str], failed: str = "") -> list[str]:
        """A whole plan, or with errors a new tail numbered from the failed step on."""
        method = "brainbody_feedback" if errors else "brainbody"
        history = [*done, failed] if failed else done
        written = episode.planner.write(
            method, episode.sentence, episode.observe(), history=history, errors=errors, start=len(done),
            task_id=episode.task_id,
        )
        episode.spend(written.usage)
        episode.journal.add("brain", start=len(done), steps=list(written.lines), explanation=written.explanation)
        return list(written.lines)
