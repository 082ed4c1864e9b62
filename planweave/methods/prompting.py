"""Prompt messages, rendered from prompt files, the domain and the world. Independent of any particular domain.

Prompt files are in ``prompts/<method>/``; a missing variable is an error.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from planweave.core.domain import ActionSchema, Domain, Predicate
from planweave.core.errors import ConfigError
from planweave.core.formula import And, Atom, Formula, Not
from planweave.core.world import Action, World
from planweave.llm.parsing import letter
from planweave.llm.schema import goal_predicates

Messages = tuple[Mapping[str, str], ...]
PROMPTS = Path(__file__).resolve().parent / "prompts"
SAMPLE_SYSTEM, SAMPLE_USER = "sample_system.txt", "sample_user.txt"
_DONE = "stop here, the task is done"


def render(name: str | Path, **values: str) -> str:
    """A prompt file with its ``$variables`` filled in; raises ConfigError for a missing file or variable.

    name: of a file in ``prompts/``, or the path of one in another package.
    """
    shown = name if isinstance(name, Path) else f"prompts/{name}"
    try:
        return string.Template(_read(name)).substitute(values).strip()
    except KeyError as error:
        raise ConfigError(
            f"{shown} asks for ${error.args[0]}, which is not given; given are {', '.join(sorted(values))}"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{shown}: {error}; write a dollar sign as $$") from None


def sample_messages(
    domain: Domain,
    world: World,
    sentence: str,
    without: Collection[str] = (),
    folder: Path = PROMPTS / "tree_planner",
) -> Messages:
    """The prompt for plans (Tree-Planner, Section 3.1 and Appendix F.2): instruction, global information, initial
    observation, examples, task. folder: of the two prompt files.
    """
    return (
        message(
            "system",
            render(
                folder / SAMPLE_SYSTEM,
                actions=actions_text(domain, without),
                objects=objects_text(world),
                observation=observation_text(domain, world),
            ),
        ),
        *turns(folder / SAMPLE_USER, "plan", domain),
        message("user", render(folder / SAMPLE_USER, task=one_line(sentence))),
    )


def decide_messages(
    domain: Domain,
    world: World,
    sentence: str,
    history: Sequence[Action],
    options: Sequence[Action | None],
    errors: Sequence[str],
) -> Messages:
    """The prompt for one choice (Tree-Planner, Section 3.3 and Appendix F.3): instruction, observation, task, history,
    error information, lettered options. The instruction is constant within a domain.
    """
    failed = "".join(f"\nThis was tried and failed: {one_line(e)}" for e in errors)
    return (
        message("system", render("tree_planner/decide_system.txt", example=_decision_example(domain))),
        message(
            "user",
            render(
                "tree_planner/decide_user.txt",
                observation=observation_text(domain, world),
                task=one_line(sentence),
                history="\n".join(map(str, history)) or "(none yet)",
                errors=failed + ("\nA choice that helps now is needed.\n" if failed else ""),
                options="\n".join(f"{letter(i)}. {_option(domain, o)}" for i, o in enumerate(options)),
            ),
        ),
    )


def goal_messages(domain: Domain, world: World, sentence: str) -> Messages:
    """The prompt for the goal of a sentence."""
    predicates = "\n".join(f"- {signature(p)}: {bare_phrase(p.phrase, p)}" for p in goal_predicates(domain))
    return (
        message(
            "system",
            render(
                "goal/system.txt",
                predicates=predicates,
                objects=objects_text(world),
                observation=observation_text(domain, world),
            ),
        ),
        *turns("goal/user.txt", "goal", domain),
        message("user", render("goal/user.txt", task=one_line(sentence))),
    )


def actions_text(domain: Domain, without: Collection[str] = ()) -> str:
    """Actions by number of arguments, with their phrases and preconditions."""
    lines = []
    schemas = [s for s in domain.actions.values() if s.name not in without]
    for arity in sorted({len(s.parameters) for s in schemas}):
        lines.append(
            {0: "Without arguments:", 1: "With one argument:", 2: "With two arguments:"}.get(
                arity, f"With {arity} arguments:"
            )
        )
        for schema in schemas:
            if len(schema.parameters) == arity:
                needs = "; ".join(_needs(domain, schema))
                lines.append(
                    f"- {signature(schema)}: {bare_phrase(schema.phrase, schema)}."
                    + (f" Needs: {needs}." if needs else "")
                )
    return "\n".join(lines)


def objects_text(world: World) -> str:
    """Object names by type, one line per type, in alphabetical order."""
    by_type: dict[str, list[str]] = {}
    for thing in world.objects:
        by_type.setdefault(thing.type, []).append(thing.name)
    return "\n".join(f"- {kind}: {', '.join(sorted(names))}" for kind, names in sorted(by_type.items())) or "(none)"


def observation_text(domain: Domain, world: World) -> str:
    """The observed world in sentences."""
    return " ".join(f"{s[:1].upper()}{s[1:]}." for s in domain.observation(world)) or "Nothing to report."


def _needs(domain: Domain, schema: ActionSchema) -> list[str]:
    parts = schema.precondition.parts if isinstance(schema.precondition, And) else (schema.precondition,)
    return [text for part in parts if (text := _condition(domain, part))]


def _condition(domain: Domain, part: Formula) -> str:
    positive = not isinstance(part, Not)
    atom = part.part if isinstance(part, Not) else part
    if not isinstance(atom, Atom):
        return ""
    predicate = domain.predicates[atom.predicate]
    text = predicate.phrase if positive else predicate.negative
    for parameter, term in zip(predicate.parameters, atom.terms):
        text = text.replace("{" + parameter.name[1:] + "}", term.lstrip("?"))
    return text


def signature(thing: ActionSchema | Predicate) -> str:
    """``name(parameter: type, …)``."""
    parameters = (p.name[1:] + (f": {' or '.join(sorted(p.types))}" if p.types else "") for p in thing.parameters)
    return f"{thing.name}({', '.join(parameters)})"


def bare_phrase(phrase: str, thing: ActionSchema | Predicate) -> str:
    """A phrase with the names of its parameters inserted."""
    for parameter in thing.parameters:
        phrase = phrase.replace("{" + parameter.name[1:] + "}", parameter.name[1:])
    return phrase


def _option(domain: Domain, option: Action | None) -> str:
    return _DONE if option is None else f"{option}: {domain.phrase(option)}"


def _decision_example(domain: Domain) -> str:
    example = examples(domain).get("decision")
    if not example:
        return ""
    options = "\n".join(f"{letter(i)}. {o}" for i, o in enumerate(example["options"]))
    return (
        f"For example, with the task {example['task']!r}, after {', then '.join(example['history'])}, the error\n"
        f'"{example["failed"]}: {example["error"]}" and the options\n{options}\n'
        f'the choice is {{"choice": "{example["choice"]}"}}'
    )


def turns(name: str | Path, key: str, domain: Domain) -> list[dict[str, str]]:
    """The in-context examples as earlier turns of the conversation."""
    result = []
    for example in examples(domain).get(f"{key}s", ()):
        result.append(message("user", render(name, task=example["task"])))
        result.append(message("assistant", json_list(key, example[key])))
    return result


def example_part(domain: Domain, key: str, default: Any) -> Any:
    """A part of the example file of a domain; the default where it has none."""
    return examples(domain).get(key, default)


def plan_examples(domain: Domain) -> list[tuple[str, tuple[Action, ...]]]:
    """The examples of plans as tasks and actions."""
    return [(str(e["task"]), tuple(Action.parse(a) for a in e["plan"])) for e in example_part(domain, "plans", ())]


def json_list(key: str, calls: Sequence[str]) -> str:
    """An answer as the examples give it."""
    return f'{{"{key}": [' + ", ".join(f'"{c}"' for c in calls) + "]}"


def message(role: str, content: str) -> dict[str, str]:
    """One message of a conversation."""
    return {"role": role, "content": content}


def one_line(text: str) -> str:
    """External text as one line, so that it cannot pass for another part of the prompt."""
    return " ".join(text.split())


@lru_cache(maxsize=64)
def _read(name: str | Path) -> str:
    path = name if isinstance(name, Path) else PROMPTS / name
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the prompt file {path}: {error}") from None


def examples(domain: Domain) -> Mapping[str, Any]:
    """The in-context examples of a domain: the section ``examples`` of its notes, else Planweave's file for a domain of
    this name; a domain need not have any.
    """
    own = domain.extra.get("examples")
    if own is None:
        return _examples_of(domain.name)
    if not isinstance(own, dict):
        raise ConfigError(f"the notes of the domain {domain.name}: examples: expected a mapping such as plans, goals")
    return own


@lru_cache(maxsize=16)
def _examples_of(domain_name: str) -> dict[str, Any]:
    path = PROMPTS / "examples" / f"{domain_name}.yaml"
    if not path.is_file():
        return {}
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"prompts/examples/{path.name}: {error}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"prompts/examples/{path.name}: expected a mapping with plans, decision and goals")
    return data
