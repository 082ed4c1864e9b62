"""Prompt messages, rendered from prompt files, the domain and the world. Independent of any particular domain.

Prompt files are in ``prompts/<method>/``; a missing variable is an error.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.pddl.formula import And, Atom, Equal, Formula, Not, Or, conjuncts
from planweave.core.symbolic.descriptions import UNSAID
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.reduced import without
from planweave.core.symbolic.schemas import ActionSchema, Predicate, filled
from planweave.core.symbolic.transition import Change, Transition
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.llm.parsing import letter
from planweave.llm.schema import goal_predicates

Messages = tuple[Mapping[str, str], ...]
PROMPTS = Path(__file__).resolve().parents[1] / "prompts"
SAMPLE_SYSTEM, SAMPLE_USER = "sample_system.txt", "sample_user.txt"
FEW_SPOTS = 3
"""Of so many places with room for one thing the prompt says how they lie."""
_DONE = "stop here, the task is done"
_ARTICLES = ("a", "an", "the")


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
    errors: Sequence[str] = (),
) -> Messages:
    """The prompt for plans (Tree-Planner, Section 3.1 and Appendix F.2): instruction, global information, initial
    observation, examples, task. folder: of the two prompt files. errors: earlier plans, and what is wrong with them.
    """
    wrong = "\nThese plans were checked, and do not do it:\n" + "\n".join(f"- {one_line(e)}" for e in errors)
    said = (
        f"{wrong}\nGive a whole plan from the state described above on, with which all of it is so in the end."
        if errors
        else ""
    )
    system = turn(
        "system",
        folder / SAMPLE_SYSTEM,
        actions=actions_text(domain, without),
        objects=kinds_text(domain, world),
        observation=surroundings_text(domain, world),
        done=done_text(domain),
    )
    user = message("user", render(folder / SAMPLE_USER, task=one_line(sentence)) + said)
    return (system, *turns(folder / SAMPLE_USER, "plan", domain, sentence), user)


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
        turn("system", "tree_planner/decide_system.txt", example=_decision_example(domain), done=done_text(domain)),
        turn(
            "user",
            "tree_planner/decide_user.txt",
            observation=observation_text(domain, world),
            task=one_line(sentence),
            history="\n".join(map(str, history)) or "(none yet)",
            errors=failed + ("\nA choice that helps now is needed.\n" if failed else ""),
            options=lettered(_option(domain, option) for option in options),
        ),
    )


def goal_messages(domain: Domain, world: World, sentence: str) -> Messages:
    system = turn(
        "system",
        "goal/system.txt",
        predicates="\n".join(_conditions(domain)),
        objects="\n".join([kinds_text(domain, world), *_positions(domain, world)]),
        observation=_grouped(domain, world),
    )
    return (system, *_reading_turns(domain, sentence), turn("user", "goal/user.txt", task=one_line(sentence)))


def _conditions(domain: Domain) -> list[str]:
    """The predicates of goals, those together that say of one thing what their names say: "clean, washed(o: item)"."""
    lines: list[str] = []
    alike: dict[str, list[str]] = {}
    for predicate in goal_predicates(domain):
        said = bare_phrase(predicate.phrase, predicate)
        names = {*_ARTICLES, "is", "has", "been", *(p.name[1:] for p in predicate.parameters)}
        told = all(predicate.name.startswith(w) or w in predicate.name.split("_") for w in {*said.split()} - names)
        if told and len(predicate.parameters) == 1:
            alike.setdefault(signature(predicate).removeprefix(predicate.name), []).append(predicate.name)
        else:
            lines.append(f"- {signature(predicate)}: {said}")
    return [*lines, *(f"- {', '.join(names)}{of}: as they say" for of, names in alike.items())]


def _grouped(domain: Domain, world: World) -> str:
    """The observed world, things of which the same is so together: "is closed: fridge_8, safe_229"."""
    alike: dict[str, list[str]] = {}
    for fact in domain.observed(world):
        said, name = domain.phrase(fact), spoken(fact.args[0]) if fact.args else ""
        rest = said.removeprefix(f"the {name} ")
        alike.setdefault(rest, []).extend([fact.args[0]] if rest != said else [])
    told = [f"{rest}: {', '.join(names)}" if names else rest for rest, names in alike.items()]
    return "\n".join(f"- {line}" for line in told) or "Nothing to report."


def _positions(domain: Domain, world: World) -> list[str]:
    """Positions of visible objects, from left to right, with what their names do not say of them; places say
    it by their names.
    """
    things = [o for o in world.objects if o.position is not None and o.class_name != o.type]
    seen_from = domain.seen_from(world)
    if not seen_from or len(things) < 2:
        return []
    at = {o.name: (-y, x, z) for o in things for x, y, z in [o.position or (0.0, 0.0, 0.0)]}
    first = [min(place[axis] for place in at.values()) for axis in range(3)]
    told = []
    for thing in sorted(things, key=lambda o: at[o.name]):
        values = (str(v) for k, v in sorted(thing.attributes.items()) if k not in UNSAID)
        looks = [v for v in values if v and not {*v.lower().split()} <= {*thing.name.lower().split("_")}]
        centre = " ".join(f"{100 * (p - q):.0f}" for p, q in zip(at[thing.name], first))
        told.append(f"{thing.name} ({', '.join([centre, *looks])})")
    return [f"Where they are, in cm to the right, to the back and up, as the {seen_from} sees them: {', '.join(told)}."]


def actions_text(domain: Domain, without: Collection[str] = ()) -> str:
    """Actions by number of arguments, with phrases, effects that these do not say, and all preconditions; rules."""
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
                parts = (part for part in conjuncts(schema.precondition) if part != And())
                needs = bare_phrase(schema.needs, schema) or "; ".join(_condition(domain, part) for part in parts)
                said = "; ".join(filter(None, (_said(schema), bare_phrase(schema.effect, schema))))
                lines.append(
                    f"- {signature(schema)}" + (f": {said}." if said else ".") + (f" Needs: {needs}." if needs else "")
                )
    kept = f"Rules that always hold: {'; '.join(rule.text for rule in domain.rules)}." if domain.rules else ""
    return "\n".join([*lines, *filter(None, (_told(domain, "rules"), kept))])


def objects_text(world: World) -> str:
    """Object names by type, one line per type, in alphabetical order."""
    by_type: dict[str, list[str]] = {}
    for thing in world.objects:
        by_type.setdefault(thing.type, []).append(thing.name)
    return "\n".join(f"- {kind}: {', '.join(sorted(names))}" for kind, names in sorted(by_type.items())) or "(none)"


def _said(schema: ActionSchema) -> str:
    """The phrase of an action; empty where it has no other words than the signature: ``open the o``."""
    bare = " the ".join((schema.name, *(p.name[1:] for p in schema.parameters)))
    phrase = bare_phrase(schema.phrase, schema)
    return "" if phrase == bare else phrase


def kinds_text(domain: Domain, world: World) -> str:
    """Object names by type and by what they allow (``prompts: traits`` of the domain's notes), in alphabetical order,
    and which types are kinds of another one that an action's argument may be of.
    """
    traits = {
        name: phrase for name, phrase in prompt_notes(domain).get("traits", {}).items() if name in domain.predicates
    }
    having = {name: {f.args[0] for f in world.by_predicate.get(name, ())} for name in traits}
    alike: dict[str, list[str]] = {}
    for thing in world.objects:
        found = ", ".join(phrase for name, phrase in traits.items() if thing.name in having[name])
        alike.setdefault(f"{thing.type} ({found})" if found else thing.type, []).append(thing.name)
    lines = ["(In brackets: what one can do with them, or what they have or are.)"] if any(having.values()) else []
    lines += [f"- {kind}: {', '.join(sorted(names))}" for kind, names in sorted(alike.items())]
    asked = {t for schema in domain.actions.values() for p in schema.parameters for t in p.types}
    present = {thing.type for thing in world.objects}
    for above in sorted(asked):
        kinds = sorted(t for t in present if t != above and domain.is_a(t, [above]))
        if kinds:
            lines.append(f"({', '.join(kinds)}: each is a kind of {above}.)")
    return "\n".join(lines) or "(none)"


def surroundings_text(domain: Domain, world: World) -> str:
    """The observation, and `places_text`."""
    return "\n".join(filter(None, (observation_text(domain, world), places_text(domain, world))))


def places_text(domain: Domain, world: World) -> str:
    """The place of everything whose place is known and not observed, and what was never seen.

    ``prompts: place, unseen`` of the domain's notes name the predicates.
    """
    told = prompt_notes(domain)
    observed = domain.of_state(world, "yes")
    lying = {f.args[0] for f in observed if len(f.args) == 2}
    places: dict[str, list[str]] = {}
    for fact in world.by_predicate.get(told.get("place", ""), ()):
        if fact.args[0] not in lying:
            places.setdefault(fact.args[1], []).append(fact.args[0])
    lines = [f"In {place}: {', '.join(sorted(names))}." for place, names in sorted(places.items())]
    unseen = {f.args[0] for f in world.by_predicate.get(told.get("unseen", ""), ())} & world.by_name.keys()
    if unseen:
        known = set(domain.candidates(domain.predicates[told["unseen"]].parameters[0], world.objects)) - unseen
        rest = known - {a for f in observed for a in f.args}.union(*places.values())
        if len(unseen) <= len(rest) + 3:
            lines.append(f"Not seen yet, so that it is not known where they are: {', '.join(sorted(unseen))}.")
        else:
            lines += [f"Seen as well: {', '.join(sorted(rest))}."] if rest else []
            lines.append("No other object has been seen yet, so that it is not known where it is.")
    return "\n".join([*lines, *_layout(domain, world)])


def _layout(domain: Domain, world: World) -> list[str]:
    """Layout of the places of the type ``prompts: layout``, and objects that are at none of them but the largest, in
    centimetres of the world's frame; only where several of the places have room for one thing, as in tasks of shapes.
    """
    kind, one = prompt_notes(domain).get("layout", ""), str((domain.extra.get("goals") or {}).get("room_for_one", ""))
    places = [o for o in world.objects if o.type == kind and o.position is not None and o.size is not None]
    if sum(Literal(one, (o.name,)) in world.facts for o in places) < FEW_SPOTS:
        return []
    largest = max(places, key=lambda o: math.prod((o.size or (0.0,))[:2])).name
    placed = {f.args[0] for facts in world.by_predicate.values() for f in facts if f.args[1:2] not in ((), (largest,))}
    said = [f"{o.name} {_extent(o)}" for o in places]
    apart = [o for o in world.objects if o.type != kind and o.position is not None and o.name not in placed]
    said += [f"{o.name} ({100 * x:.0f}, {100 * y:.0f})" for o in apart for x, y, _ in [o.position or (0.0, 0.0, 0.0)]]
    return [f"Centres, in centimetres ahead of the robot and to its left: {', '.join(said)}."]


def _extent(place: WorldObject) -> str:
    (x, y, _), (a, b, _) = place.position or (0.0, 0.0, 0.0), place.size or (0.0, 0.0, 0.0)
    return f"({100 * x:.0f}, {100 * y:.0f}), {100 * a:.0f} by {100 * b:.0f} in size"


def done_text(domain: Domain) -> str:
    """Condition for a task to be done (``prompts: done`` of the domain's notes)."""
    return _told(domain, "done") or "A task is done as soon as all that it asks for is so."


def prompt_notes(domain: Domain) -> Mapping[str, Any]:
    """The section ``prompts`` of the domain's notes: traits, place, unseen, rules, done; see household.yaml."""
    told = domain.extra.get("prompts") or {}
    if not isinstance(told, dict):
        raise ConfigError(f"the notes of the domain {domain.name}: prompts: expected a mapping such as traits, done")
    return told


def _told(domain: Domain, key: str) -> str:
    return one_line(str(prompt_notes(domain).get(key, "")))


def observation_text(domain: Domain, world: World) -> str:
    """The observed world in sentences."""
    return " ".join(f"{s[:1].upper()}{s[1:]}." for s in domain.observation(world)) or "Nothing to report."


def _condition(domain: Domain, part: Formula) -> str:
    """A condition in words; none is left out."""
    if isinstance(part, (Atom, Equal)) or (isinstance(part, Not) and isinstance(part.part, (Atom, Equal))):
        positive = not isinstance(part, Not)
        atom = part.part if isinstance(part, Not) else part
        if isinstance(atom, Equal):
            return f"the {atom.left.lstrip('?')} and the {atom.right.lstrip('?')} are " + (
                "the same" if positive else "different"
            )
        assert isinstance(atom, Atom)
        predicate = domain.predicates[atom.predicate]
        text = predicate.phrase if positive else predicate.negative
        return filled(text, predicate.parameters, (term.lstrip("?") for term in atom.terms))
    if isinstance(part, Not):
        return f"it is not so that {_condition(domain, part.part)}"
    if isinstance(part, (And, Or)):
        return (" and " if isinstance(part, And) else " or ").join(_condition(domain, p) for p in part.parts)
    names = ", ".join(v.name.lstrip("?") for v in part.variables)
    return f"for {'every' if part.every else 'some'} {names}: {_condition(domain, part.part)}"


def signature(thing: ActionSchema | Predicate) -> str:
    """``name(parameter: type, …)``."""
    parameters = (p.name[1:] + (f": {' or '.join(sorted(p.types))}" if p.types else "") for p in thing.parameters)
    return f"{thing.name}({', '.join(parameters)})"


def bare_phrase(phrase: str, thing: ActionSchema | Predicate) -> str:
    return filled(phrase, thing.parameters, (parameter.name[1:] for parameter in thing.parameters))


def effect_text(domain: Domain, action: Action) -> str:
    """The effect of an action that its phrase does not say; mostly empty."""
    schema = domain.schema(action)
    return filled(schema.effect, schema.parameters, map(spoken, action.args))


def _option(domain: Domain, option: Action | None) -> str:
    if option is None:
        return _DONE
    effect = effect_text(domain, option)
    return f"{option}: {domain.phrase(option)}" + (f"; {effect}" if effect else "")


def _decision_example(domain: Domain) -> str:
    example = examples(domain).get("decision")
    if not example:
        return ""
    options = lettered(example["options"])
    return (
        f"For example, with the task {example['task']!r}, after {', then '.join(example['history'])}, the error\n"
        f'"{example["failed"]}: {example["error"]}" and the options\n{options}\n'
        f'the choice is {{"choice": "{example["choice"]}"}}'
    )


def comparison_messages(world: World, sentence: str, understood: str) -> Messages:
    """The prompt that holds a reading in words against its sentence."""
    task, words = one_line(sentence), one_line(understood)
    return (turn("user", "goal/comparison.txt", objects=objects_text(world), task=task, understood=words),)


def _reading_turns(domain: Domain, sentence: str) -> Iterator[dict[str, str]]:
    for example in examples_for(domain, "goals", sentence):
        reply = {"kind": "task", "goal": [], **{k: v for k, v in example.items() if k != "task"}}
        yield turn("user", "goal/user.txt", task=example["task"])
        yield message("assistant", json.dumps(reply))


def turns(name: str | Path, key: str, domain: Domain, sentence: str = "") -> list[dict[str, str]]:
    """The in-context examples as earlier turns of the conversation; none is of the task itself."""
    result = []
    for example in examples_for(domain, f"{key}s", sentence):
        result.append(turn("user", name, task=example["task"]))
        result.append(message("assistant", json.dumps({key: example[key]})))
    return result


def example_part(domain: Domain, key: str, default: Any) -> Any:
    return examples(domain).get(key, default)


def examples_for(domain: Domain, key: str, sentence: str) -> list[Mapping[str, Any]]:
    """The examples of one kind whose task is not the one that is asked for."""
    return [e for e in example_part(domain, key, ()) if not same_task(str(e["task"]), sentence)]


def same_task(one: str, two: str) -> bool:
    """Whether two tasks have the same words, articles aside."""
    first, second = ([w for w in re.findall(r"[a-z0-9]+", t.lower()) if w not in _ARTICLES] for t in (one, two))
    return first == second


def plan_examples(domain: Domain, sentence: str = "") -> list[tuple[str, tuple[Action, ...]]]:
    """The examples of plans as tasks and actions, without one of the task itself."""
    return [
        (str(e["task"]), tuple(Action.parse(a) for a in e["plan"])) for e in examples_for(domain, "plans", sentence)
    ]


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def turn(role: str, name: str | Path, **values: str) -> dict[str, str]:
    """One message of a conversation, from a prompt file; see `render`."""
    return message(role, render(name, **values))


def lettered(options: Iterable[str]) -> str:
    return "\n".join(f"{letter(i)}. {option}" for i, option in enumerate(options))


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
    data = read_yaml(path) or {}
    if not isinstance(data, dict):
        raise ConfigError(f"prompts/examples/{path.name}: expected a mapping with plans, decision and goals")
    return data


def offered(domain: Domain, text: str, refused: frozenset[str] = frozenset()) -> Domain:
    """The domain without actions that are refused or no word refers to, and without goals that only they achieve.

    Actions with `words` in the domain's file are offered where the text contains one of them. This keeps prompts
    short, and the list of all ground actions small enough for constrained output; the controlled English, the
    validation of plans and the classical planner use the whole domain.
    """
    said = " ".join(re.findall(r"[a-z]+", text.lower()))
    return without(
        domain,
        refused
        | {
            schema.name
            for schema in domain.actions.values()
            if schema.words and not any(re.search(rf"\b{word}\b", said) for word in schema.words)
        },
    )


def distinct(domain: Domain, world: World, options: Sequence[Action | None]) -> list[Action | None]:
    """The options without actions that are applicable and change the world just as an earlier one does, such as to walk
    and to run somewhere. None: the task is done.
    """
    transition = Transition(domain, world)
    kept: list[Action | None] = []
    changes: list[Change] = []
    for option in options:
        change = _change(transition, option)
        if change is not None and change in changes:
            continue
        changes += [change] if change is not None else []
        kept.append(option)
    return kept


def _change(transition: Transition, option: Action | None) -> Change | None:
    """What an action changes; None where it is not applicable, or the domain says that it changes nothing."""
    state = transition.state()
    if option is None or not transition.applicable(state, option):
        return None
    change = transition.apply(state, option)
    return change if change.added or change.deleted else None
