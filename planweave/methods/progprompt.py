"""ProgPrompt (Singh et al., ICRA 2023): one program, run statement by statement, assertions checked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planweave.core.errors import ParseError
from planweave.core.program import Assertion, Branch, Call, Comment, Statement, read_program
from planweave.methods.episode import Episode


@dataclass
class ProgPrompt:
    """comments and assertions can be left out of the examples (rows 3 to 6 of the paper's Table I)."""

    comments: bool = True
    assertions: bool = True

    def run(self, episode: Episode) -> None:
        """Ask for the program, then run it."""
        world = episode.observe()
        episode.tell("asking for a program")
        written = episode.planner.write(
            "progprompt", episode.sentence, world, task_id=episode.task_id,
            options={"comments": self.comments, "assertions": self.assertions},
        )
        episode.spend(written.usage)
        arity = {name: len(schema.parameters) for name, schema in episode.domain.actions.items()}
        program = read_program("\n".join(written.lines), arity)
        episode.journal.add("program", name=program.name, text="\n".join(written.lines))
        self._block(episode, program.body)

    def _block(self, episode: Episode, body: Sequence[Statement]) -> None:
        """Section III.C: each command goes to the body; a failed one is left behind, as in the paper."""
        for statement in body:
            if isinstance(statement, Comment):
                episode.tell(f"acting: {statement.text}")
            elif isinstance(statement, Call):
                self._call(episode, statement)
            elif isinstance(statement, Assertion):
                if not self._holds(episode, str(statement.condition), statement.line):
                    episode.corrections += 1
                    for call in statement.recovery:
                        self._call(episode, call)
            elif isinstance(statement, Branch):
                holds = self._holds(episode, str(statement.condition), statement.line)
                self._block(episode, statement.then if holds else statement.otherwise)

    def _call(self, episode: Episode, call: Call) -> None:
        try:
            action = episode.resolve(call.name, call.args)
        except ParseError as error:
            episode.journal.add("skipped", line=call.line, reason=str(error))
            episode.tell(message=f"line {call.line}: {error}")
            return
        episode.execute(action)

    def _holds(self, episode: Episode, condition: str, line: int) -> bool:
        check = episode.planner.check_condition(condition, episode.observe(), task_id=episode.task_id)
        episode.spend(check.usage)
        episode.journal.add("assertion", condition=condition, line=line, holds=check.holds, source=check.source)
        return check.holds
