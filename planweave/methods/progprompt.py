"""ProgPrompt (Singh et al., ICRA 2023): one program, executed statement by statement, assertions checked on the way.

The prompt is the beginning of a Python file: an import of the actions, the objects, example functions, and the head of
the requested function. The reply is parsed by planweave.core.trees.program and never executed as Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

from planweave.core.base.errors import ParseError, UnknownNameError
from planweave.core.base.parameter import option
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.trees.program import (
    MAX_CHARACTERS,
    MAX_CONDITION,
    Assertion,
    Branch,
    Call,
    Comment,
    Statement,
    read_program,
)
from planweave.core.workflow.ports import Written
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest
from planweave.llm.parsing import agreed, bounded
from planweave.llm.reasoning import ask_until_read, was_cut, whole
from planweave.methods.language.conditions import objects_named, parse_condition
from planweave.methods.language.prompting import (
    Messages,
    done_text,
    example_part,
    message,
    one_line,
    same_task,
    surroundings_text,
    turn,
)
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

_HEAD = re.compile(r"\s*(?:async\s+)?def\s")
_HEAD_LINE = re.compile(r"(?m)^\s{0,40}(?:async\s{1,9})?def\s")
_CALL_LINE = re.compile(r"(?m)^\s{0,40}[A-Za-z_]\w{0,60}\([^()\n]{0,200}\)\s{0,40}$")
_SUB_GOAL = re.compile(r"\s{0,40}#\s{0,9}(\d{1,4})\s{0,3}[:.)]")
_FENCE = re.compile(r"(?m)^\s{0,40}```[^\n]{0,40}\n?")
_CALLED = re.compile(r"\b([A-Za-z_]\w{0,60})(?=\()")
_CONTINUE = "Your reply was cut off. Go on exactly where it stopped; repeat nothing."
EXAMPLES = 3  # as in the paper
_KEPT = 20  # lines at the end of a cut reply in which a repeated beginning is looked for


def write(question: Question, history: Sequence[str], start: int, options: Mapping[str, int]) -> Written:
    """Options: comments, assertions (rows 3 to 6 of Table I), examples (row 2).

    Raises ParseError that names the line, where a second reply, given with that error, cannot be read either.
    """
    programs = example_part(question.domain, "programs", {})
    head = function_head(question.sentence)
    if programs.get("objects") == "local":
        head += f"\n    objects = {sorted(_names(question, programs).values())}"
    messages = program_messages(question, programs, head, options)
    set_ = question.settings
    asked: dict[str, Any] = {
        "temperature": set_.program_temperature,
        "max_tokens": set_.words_tokens,
        "about": {
            "offered": _offered(question.domain, programs),
            "names": tuple(sorted(_names(question, programs).values())),
        },
    }

    def ask(request: ChatRequest) -> ChatReplies:
        """The program, with the rest of one that was cut off."""
        replies = question.ask("program", request.messages, **asked)
        reply = replies.replies[0]
        if not was_cut(reply):
            return replies
        begun = (*request.messages, message("assistant", reply.text), message("user", _CONTINUE))
        more = question.ask("program", begun, **asked)
        rest = more.replies[0]
        both = replace(reply, text=joined(reply.text, rest.text), finish_reason=rest.finish_reason)
        return ChatReplies((both,), replies.usage + more.usage)

    def read(reply: ChatReply) -> str:
        text = completed(whole(reply), head, question.domain)
        read_program(text, {name: len(schema.parameters) for name, schema in question.domain.actions.items()})
        return text

    rows, replies, problem = ask_until_read(ask, ChatRequest(messages), read)
    if not rows:
        raise ParseError(problem)
    return Written(tuple(rows[0][1].split("\n")), usage=replies.usage)


def program_messages(
    question: Question, programs: Mapping[str, Any], head: str, options: Mapping[str, int]
) -> Messages:
    """The prompt in the paper's order: import, objects, examples, head."""
    domain, offered = question.domain, _offered(question.domain, programs)
    local = programs.get("objects") == "local"
    examples = [
        _switched(text, options)
        for text in programs.get("examples", ())
        if not same_task(_task_of(text), question.sentence)
    ][: options.get("examples", EXAMPLES)]
    names = _names(question, programs)
    shown = replace(
        question.shown,
        objects=tuple(replace(o, name=names[o.name]) for o in question.shown.objects),
        facts=frozenset(
            replace(f, args=tuple(names[a] for a in f.args))
            for f in question.shown.facts
            if all(a in names for a in f.args)
        ),
    )
    said = "".join(f"\n# Bear in mind: {one_line(e)}" for e in question.errors)
    return (
        turn("system", "progprompt/system.txt", done=done_text(domain), **_allowed(programs, options)),
        turn(
            "user",
            "progprompt/user.txt",
            actions=", ".join(_imported(domain, name) for name in offered),
            objects="" if local else f"objects = {sorted(names.values())}\n\n",
            examples="\n\n".join(examples),
            state=_state(domain, shown) if options.get("state", True) else "",
            task=one_line(question.sentence),
            errors=said,
            head=head,
        ),
    )


def _state(domain: Domain, shown: World) -> str:
    return "\n".join(["# At the start:", *(f"# {line}" for line in surroundings_text(domain, shown).split("\n")), ""])


def function_head(sentence: str) -> str:
    """``def put_the_red_cube_in_the_left_tray():``"""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    name = "_".join(words)[:60].strip("_") or "task"
    return f"def {'task_' if name[0].isdigit() else ''}{name}():"


def joined(first: str, second: str) -> str:
    """A truncated reply and its continuation; the overlap is removed."""
    second = "\n".join(line for line in second.split("\n") if not line.strip().startswith("```"))
    if _HEAD.match(second.lstrip("\n")):
        return second
    lines = first.rstrip("\n").split("\n")
    begun = next((line for line in second.split("\n") if line.strip()), "")
    for back in range(1, min(_KEPT, len(lines)) + 1):  # it repeats a line from near the end
        if begun.strip() and lines[-back].strip() and begun.strip().startswith(lines[-back].strip()):
            return "\n".join([*lines[:-back], second.lstrip("\n")])
    return first + second


def one_program(text: str) -> str:
    """The program in a reply: what is in a code fence where there is one, and its function where it has one.

    Raises SeveralAnswersError where there are several that differ, or calls stand after it. Another one begins where
    the numbers of the sub-goals in comments begin anew.
    """
    fenced = _FENCE.split(bounded(text, MAX_CHARACTERS))[1::2]
    programs: list[str] = []
    for block in [b for b in fenced if b.strip()] or [text]:
        lines = block.rstrip().split("\n")
        last = -1
        starts = [] if any(map(_HEAD.match, lines)) else [0]
        for index, line in enumerate(lines):
            goal = _SUB_GOAL.match(line)
            if _HEAD.match(line) or (goal and int(goal.group(1)) <= last):
                starts.append(index)
                last = -1
            last = int(goal.group(1)) if goal else last
        programs += ["\n".join(lines[i:j]) for i, j in pairwise([*starts, len(lines)])]
    outside = _FENCE.split(text)[0::2] if fenced else []
    programs += [part for part in outside[1:] if _HEAD_LINE.search(part) or _CALL_LINE.search(part)]
    agreed(([line.strip() for line in p.split("\n") if not _HEAD.match(line)] for p in programs), text)
    return programs[-1]


def completed(text: str, head: str, domain: Domain) -> str:
    """A reply as one function: its head is added where missing; aliases are replaced by names."""
    text = one_program(text)
    if not any(_HEAD.match(line) for line in text.split("\n")):
        lines = [line.expandtabs(4) for line in text.split("\n") if not line.strip().startswith("```")]
        if not any(line.strip() for line in lines):
            raise ParseError("line 1: the reply is empty; expected the body of the function")
        text = "\n".join([head, *_indented(lines)])
    text = "\n".join(_recoveries_in_line(text.split("\n")))
    aliases = {_plain(a): name for name, schema in domain.actions.items() for a in (*schema.aliases, name)}
    aliases |= {_plain(name): name for name in domain.actions}  # an action's own name before another's alias
    return _CALLED.sub(lambda m: aliases.get(_plain(m.group(1)), m.group(1)), text)


def _indented(lines: Sequence[str]) -> list[str]:
    """The lines of a body, indented by at least 4; some endpoints strip the beginning of the first one."""
    full = [i for i, line in enumerate(lines) if line.strip()]
    margins = [len(lines[i]) - len(lines[i].lstrip()) for i in full]
    rest = min(margins[1:], default=margins[0])
    first = lines[full[0]].lstrip()
    if margins[0] == 0 < rest:
        margins[0] = max(0, rest - 4) if first.startswith(("for ", "if ", "while ")) else rest
    first = " " * margins[0] + first
    more = " " * max(0, 4 - min(rest, margins[0]))
    return [more + line if line.strip() else line for line in (first, *lines[full[0] + 1 :])]


def _recoveries_in_line(lines: Sequence[str]) -> Iterator[str]:
    """``else:`` lines that are indented below their assertion, as some of the paper's are, moved under it."""
    margin: int | None = None
    for line in lines:
        body = line.lstrip()
        indent = len(line.expandtabs(4)) - len(body)
        if body.startswith("assert"):
            margin = indent
        elif body.startswith("else:") and body[5:].strip() and margin is not None and indent > margin:
            line = " " * margin + body
        elif body and not body.startswith(("#", "else:")):
            margin = None
        yield line


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _imported(domain: Domain, name: str) -> str:
    parameters = domain.actions[name].parameters
    return " ".join([name, *("<obj>" if len(parameters) == 1 else f"<obj{i}>" for i, _ in enumerate(parameters, 1))])


def _offered(domain: Domain, programs: Mapping[str, Any]) -> tuple[str, ...]:
    """Actions that programs may call."""
    return tuple(programs.get("actions") or domain.actions)


def _names(question: Question, programs: Mapping[str, Any]) -> dict[str, str]:
    """Names of the objects shown: the class, as in the paper, of the only one of a class; else their own names."""
    known = Counter(o.class_name for o in question.world.objects)
    known.update(list(question.world.by_name))  # a class with the name of another object
    by_class = programs.get("names") == "class"
    return {
        o.name: o.class_name if by_class and o.class_name and known[o.class_name] == 1 else o.name
        for o in question.shown.objects
    }


def _allowed(programs: Mapping[str, Any], options: Mapping[str, int]) -> dict[str, str]:
    """What a program may consist of, as the examples do."""
    parts, said = ["calls of the imported actions"], ""
    if options.get("comments", True):
        parts.append("comments that begin with #")
    if options.get("assertions", True) and programs.get("assertions"):
        parts.append("assertions, each with one or several lines else: action(...), done where it does not hold")
        if options.get("state", True):
            said = (
                f"Assertions can say {', '.join(programs['assertions'])}, or not before any of these; "
                "thing and place stand for any listed objects.\n"
            )
    return {"parts": ", and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts), "assertions": said}


def _task_of(program: str) -> str:
    """The task of an example, from the name of its function."""
    return program.partition("(")[0].removeprefix("def ").replace("_", " ")


def _switched(program: str, options: Mapping[str, int]) -> str:
    """An example without its comments or assertions, where these are disabled."""
    lines = program.rstrip().split("\n")
    if not options.get("comments", True):
        lines = [line for line in lines if not line.strip().startswith("#")]
    if not options.get("assertions", True):
        lines = [line for line in lines if not line.strip().startswith(("assert", "else:"))]
    return "\n".join(lines)


@dataclass
class ProgPrompt(PaperMode):
    """comments and assertions can be disabled in the examples (rows 3 to 6 of the paper's Table I); examples: 2 for its
    row 2. ask_model: the model evaluates every assertion, as in the paper; else the domain's rules do where they can.
    tell_state: the prompt says the state at the start and what assertions can say; the paper's has examples alone.
    """

    questions: ClassVar[Questions] = Questions(write={"progprompt": write})
    PAPER: ClassVar[Mapping[str, Any]] = {"ask_model": True, "tell_state": False}

    comments: bool = option(True, "comments in the example programs (COMMENTS in Table I)")
    assertions: bool = option(True, "assertions in the example programs (FEEDBACK in Table I)")
    examples: int = option(EXAMPLES, "example programs at most", 0, 100)
    ask_model: bool = option(False, "ask the model whether an assertion holds, also where a rule of the domain knows")
    tell_state: bool = option(True, "tell the state at the start, and what assertions can say")

    def run(self, episode: Episode) -> None:
        world = episode.observe()
        episode.tell("asking for a program")
        written = episode.planner.write(
            "progprompt",
            episode.sentence,
            world,
            task_id=episode.task_id,
            options={
                "comments": self.comments,
                "assertions": self.assertions,
                "examples": self.examples,
                "state": self.tell_state,
            },
        )
        episode.spend(written.usage)
        arity = {name: len(schema.parameters) for name, schema in episode.domain.actions.items()}
        program = read_program("\n".join(written.lines), arity)
        episode.journal.add("program", name=program.name, text="\n".join(written.lines))
        self._block(episode, program.body)

    def _block(self, episode: Episode, body: Sequence[Statement]) -> None:
        """Section III.C: each command is executed by the body; a failed one is skipped, as in the paper."""
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
            action = action_over(episode, call.name, call.args)
        except ParseError as error:
            episode.journal.add("skipped", line=call.line, reason=str(error))
            episode.tell(message=f"line {call.line}: {error}")
            return
        episode.execute(action)

    def _holds(self, episode: Episode, condition: str, line: int) -> bool:
        """Whether a condition holds; False, with a note, where that cannot be found out."""
        world = episode.observe()
        text = _of_same_objects(episode, world, condition)
        if self.ask_model:
            text = f"assert({text})"
        try:
            if len(text) > MAX_CONDITION:
                raise ParseError(f"the condition has {len(text)} characters; at most {MAX_CONDITION} are read")
            check = episode.planner.check_condition(text, world, task_id=episode.task_id)
        except ParseError as error:
            episode.spend(error.usage)
            episode.journal.add(
                "assertion", condition=condition, asked=text, line=line, holds=False, source="none", note=str(error)
            )
            episode.tell(message=f"line {line}: {condition} is taken not to hold: {error}")
            return False
        episode.spend(check.usage)
        episode.journal.add(
            "assertion", condition=condition, asked=text, line=line, holds=check.holds, source=check.source
        )
        return check.holds


def _of_same_objects(episode: Episode, world: World, text: str) -> str:
    """A condition about classes as one about those objects that an action with the same names would take."""
    try:
        condition = parse_condition(text)
    except ParseError:
        return text
    words = [_object_named(episode, world, w) if len(objects_named(world, w)) > 1 else w for w in condition.words]
    return str(replace(condition, words=tuple(words)))


def action_over(episode: Episode, name: str, args: Sequence[str]) -> Action:
    """An action over objects as a model names them: exactly, in another spelling, by class or a synonym of it.

    Raises ParseError.
    """
    world = episode.observe()
    return Action(name, tuple(_object_named(episode, world, arg) for arg in args))


def _object_named(episode: Episode, world: World, name: str) -> str:
    """The object that an action takes for a name: of a class the one acted on last, else the first."""
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    for candidate in (name, plain):
        if candidate in world.by_name:
            return candidate
    for noun in (plain, *episode.domain.synonyms(plain)):
        of_class = [o.name for o in world.objects if o.class_name.lower() in (noun, noun.replace("_", ""))]
        if of_class:
            break
    if not of_class:
        raise ParseError(str(UnknownNameError("object", name, world.by_name)))
    last = [a for action in reversed(episode.used) for a in action.args if a in of_class]
    return last[0] if last else of_class[0]  # the same one again, else the first
