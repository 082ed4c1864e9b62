"""A planning domain: a PDDL file and its notes, a YAML file with what PDDL cannot express."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from planweave.core.base.errors import ConfigError, DomainError, InvalidActionError, UnknownNameError
from planweave.core.base.yaml_files import parse_yaml
from planweave.core.pddl.conditions import FormulaVocabulary
from planweave.core.pddl.domain_reader import DomainReader, ParsedDomain, completed
from planweave.core.pddl.formula import Atom, Axiom, TypedVariable
from planweave.core.pddl.text import PddlText
from planweave.core.symbolic.domain_files import Loaded, domain_texts, find_domain
from planweave.core.symbolic.domain_notes import NotesSource, check_notes, sayable
from planweave.core.symbolic.rules import Rule
from planweave.core.symbolic.schemas import ActionSchema, InverseRule, Predicate, filled
from planweave.core.symbolic.world import PERSON, Action, Known, Literal, World, WorldObject

Said = TypeVar("Said", Action, Literal)

_SECTIONS = {"predicates", "actions", "classes", "categories", "round"}
#: Phrases of what formulas have beside predicates, and of its negation.
_BUILT_IN = {"=": ("{} is {}", "{} is not {}"), "false": ("what is impossible is so", "what is impossible is not so")}


def refusal(names: Iterable[str]) -> str:
    """The message that a body carries out none of these actions."""
    return f"the body refuses {', '.join(names)} (actions_off)"


def spoken(name: str) -> str:
    """Display name of an object: ``red_cube_2`` becomes ``red cube 2``."""
    return name.replace("_", " ")


def with_article(word: str) -> str:
    """A noun after "a" or "an"."""
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


@dataclass(frozen=True, eq=False)
class Domain:
    """A compiled domain. types maps each type to its parent ("" for the top). rules: what no action may do, see
    planweave.core.symbolic.rules. axioms: of derived predicates, whose facts follow from others. remarks: what its PDDL
    has that the standard asks for in another form, each with its place. vocabulary: what problems and formulas are made
    of. pddl: its PDDL as read, with what it takes from a domain that it extends.
    """

    name: str
    types: Mapping[str, str]
    predicates: Mapping[str, Predicate]
    actions: Mapping[str, ActionSchema]
    classes: Mapping[str, str]  # class seen by a camera -> type
    categories: Mapping[str, tuple[str, ...]]  # word for many -> classes
    round_classes: frozenset[str]  # classes with a round outline when seen from above
    extra: Mapping[str, Any] = field(repr=False)  # rest of the YAML file, for rooms that need more
    rules: tuple[Rule, ...] = ()
    axioms: tuple[Axiom, ...] = ()
    constants: tuple[WorldObject, ...] = ()
    remarks: tuple[str, ...] = ()
    pddl: str = field(default="", repr=False)
    vocabulary: FormulaVocabulary = field(default_factory=FormulaVocabulary, repr=False)
    _below: dict[frozenset[str], frozenset[str]] = field(default_factory=dict, repr=False)  # types with all below

    @classmethod
    def load(cls, name: str | Path = "tabletop", notes: str = "", *, replace: bool = False) -> Domain:
        """Load a domain by name, from the path of its PDDL file, or from PDDL text; cached. Raises DomainError.

        Names are resolved in this order: domains loaded before from a path or text, ``config/domains``, and the entry
        points ``planweave.domains`` of installed packages. The notes of ``x.pddl`` are ``x.yaml`` in the same folder;
        those of a text are given as `notes`. A domain from a path or text is registered under the name of its ``(define
        (domain NAME)``; raises ConfigError where another domain has this name, unless `replace` is set.
        """
        if isinstance(name, str) and is_pddl_text(name):
            domain = _read_text(name, notes)
            _LOADED.add(domain.name, domain, (name, notes), "PDDL text", replace)
            return domain
        if notes:
            raise DomainError("notes are given with PDDL text only; beside the file x.pddl they stand in x.yaml")
        if isinstance(known := _LOADED.get(str(name)), Domain):
            return known
        path, by_name = find_domain(str(name), _LOADED)
        notes_path = path.with_suffix(".yaml")
        domain = _load(path, path.stat().st_mtime_ns, notes_path.stat().st_mtime_ns if notes_path.is_file() else 0)
        if not by_name or domain.name != str(name):
            _LOADED.add(domain.name, domain, domain_texts(path), str(path.resolve()), replace)
        return domain

    @cached_property
    def derived(self) -> frozenset[str]:
        return frozenset(axiom.predicate for axiom in self.axioms)

    @cached_property
    def _spellings(self) -> dict[type, dict[str, str]]:
        """Names in lower case with their spelling, of actions and of predicates."""
        return {
            Action: {name.lower(): name for name in self.actions},
            Literal: {name.lower(): name for name in self.predicates},
        }

    def spelled(self, thing: Said, world: World) -> Said:
        """An action or literal with its names spelled as domain and world spell them; PDDL ignores case."""
        names, objects = self._spellings[type(thing)], world.spellings
        args = tuple([a if a in world.by_name else objects.get(a.lower(), a) for a in thing.args])
        if isinstance(thing, Action):
            return Action(names.get(thing.name.lower(), thing.name), args)
        return Literal(names.get(thing.predicate.lower(), thing.predicate), args, thing.positive)

    def world(self, objects: str, facts: Iterable[str | Literal] = (), *, assume: bool = True) -> World:
        """A world from its text form, see planweave.core.symbolic.written; raises ParseError, UnknownNameError or
        InvalidActionError.
        """
        from planweave.core.symbolic.written import written_world

        return written_world(self, objects, facts, assume)

    def is_a(self, type_name: str, ancestors: Iterable[str]) -> bool:
        """Return whether a type is, or is below, one of the ancestors; no ancestors means any type."""
        wanted = set(ancestors)
        if not wanted or "object" in wanted:
            return True
        while type_name:
            if type_name in wanted:
                return True
            type_name = self.types.get(type_name, "")
        return False

    def base_type(self, type_name: str, known: Collection[str]) -> str:
        """The first of the known types on the way up from a type, itself included; itself where none is."""
        above = type_name
        while above and above not in known:
            above = self.types.get(above, "")
        return above or type_name

    def candidates(self, parameter: TypedVariable, objects: Iterable[WorldObject]) -> list[str]:
        """Names of the objects that fit a parameter's type, in their order."""
        types = parameter.types
        if not types or "object" in types:
            return [o.name for o in objects]
        fitting = self._below.get(types)
        if fitting is None:
            fitting = self._below[types] = types.union(t for t in self.types if self.is_a(t, types))
        return [o.name for o in objects if o.type in fitting]

    def type_of_class(self, class_name: str) -> str:
        """The type of a detected object class: as listed, or that of its last word (salad_bowl: bowl), else item."""
        return self.classes.get(class_name) or self.classes.get(class_name.rsplit("_", 1)[-1], "item")

    def synonyms(self, noun: str) -> tuple[str, ...]:
        """Other nouns for a class, both ways of ``goals: nouns``: of television tv, of tv television and telly."""
        pairs = ((self.extra.get("goals") or {}).get("nouns") or {}).items()
        return tuple(o for one, other in pairs for n, o in ((one, other), (other, one)) if n == noun)

    def is_receptacle_class(self, class_name: str) -> bool:
        """Return whether a class is of things to put others in or on: all whose type is listed."""
        return not {class_name, class_name.rsplit("_", 1)[-1]}.isdisjoint(self.classes)

    def is_round_class(self, class_name: str) -> bool:
        """Return whether a class has a round outline, as listed, or as the last word is (salad_bowl: bowl)."""
        return not {class_name, class_name.rsplit("_", 1)[-1]}.isdisjoint(self.round_classes)

    def schema(self, action: Action) -> ActionSchema:
        """The schema of an action; raises UnknownNameError."""
        found = self.actions.get(action.name)
        if found is None:
            raise UnknownNameError("action", action.name, self.actions)
        return found

    def check_action(self, action: Action, world: World) -> None:
        """Check name, arguments, and that the body accepts it; raises UnknownNameError or InvalidActionError."""
        schema = self.schema(action)
        if action.name in world.actions_off:
            raise InvalidActionError(refusal([action.name]))
        self._check_arguments(str(action), schema, action.args, world)

    def check_literal(self, literal: Literal, world: World) -> None:
        """Check name, number and types of a literal's arguments; raises UnknownNameError or InvalidActionError."""
        predicate = self.predicates.get(literal.predicate)
        if predicate is None:
            raise UnknownNameError("predicate", literal.predicate, self.predicates)
        self._check_arguments(str(literal), predicate, literal.args, world)

    def _check_arguments(
        self, text: str, declared: ActionSchema | Predicate, args: tuple[str, ...], world: World
    ) -> None:
        name, parameters = declared.name, declared.parameters
        if len(args) != len(parameters):
            form = f"{name}({', '.join(p.name[1:] for p in parameters)})"
            raise InvalidActionError(
                f"{text}: {name} takes {len(parameters)} argument(s), got {len(args)}; the form is {form}"
            )
        for parameter, arg in zip(parameters, args):
            found = world.by_name.get(arg)
            if found is None:
                raise UnknownNameError("object", arg, world.by_name)
            if not self.is_a(found.type, parameter.types):
                wanted = f"{parameter.name[1:]} of {name} must be: {' or '.join(sorted(parameter.types))}"
                raise InvalidActionError(f"{text}: {arg} is a {found.type}, but {wanted}")

    def unaccounted(self, world: World, namespace: str = "") -> list[str]:
        """Messages for facts that do not hold although none of the facts that exclude them holds either.

        namespace: that of the body, used for service names, e.g. /left.
        """
        pairs = [set(pair) for pair in self.never_together]
        held = {fact.predicate for fact in world.facts}
        return [
            p.unknown.replace("{namespace}", namespace)
            for p in self.predicates.values()
            if p.unknown and p.name not in held and not any(p.name in pair and pair & held for pair in pairs)
        ]

    @property
    def never_together(self) -> Sequence[Sequence[str]]:
        """Groups of predicates that exclude each other (``goals: never_together`` of its notes)."""
        groups: Sequence[Sequence[str]] = (self.extra.get("goals") or {}).get("never_together", ())
        return groups

    @property
    def example(self) -> str:
        """A sentence that this domain reads as a goal (``goals: example`` of its notes); may be empty."""
        return str((self.extra.get("goals") or {}).get("example") or "")

    def phrase(self, thing: Action | Literal) -> str:
        """An action or literal as a phrase for prompts and people."""
        if isinstance(thing, Action):
            schema = self.schema(thing)
            return filled(schema.phrase, schema.parameters, map(spoken, thing.args))
        predicate = self.predicates.get(thing.predicate)
        if predicate is None:
            if thing.predicate in _BUILT_IN:
                return _BUILT_IN[thing.predicate][not thing.positive].format(*map(spoken, thing.args))
            raise UnknownNameError("predicate", thing.predicate, self.predicates)
        template = predicate.phrase if thing.positive else predicate.negative
        return filled(template, predicate.parameters, map(spoken, thing.args))

    def seen_from(self, world: World) -> str:
        """The observer whose left, right and front a world has; "" where nothing says it."""
        return PERSON if world.frame == PERSON else str((self.extra.get("goals") or {}).get("seen_from", ""))

    def told(self, message: str) -> str:
        """A body's message in words for people, by the expressions under `told` of the domain's YAML file."""
        for pattern, words in (self.extra.get("told") or {}).items():
            for match in reversed(list(re.finditer(pattern, message))):
                message = message[: match.start()] + spoken(match.expand(words)) + message[match.end() :]
        return message

    def phrases(self, things: Iterable[Action | Literal], limit: int = 6) -> str:
        """Phrases of at most `limit` actions or literals, in one line."""
        words = [self.phrase(thing) for thing in things]
        left_out = len(words) - limit
        return " and ".join(words[:limit]) + (f" and {left_out} more" if left_out > 0 else "")

    def observation(self, world: World) -> list[str]:
        """A world as sentences, see `observed`."""
        return [self.phrase(f) for f in self.observed(world)]

    def observed(self, world: World) -> list[Literal]:
        """The observed facts of a world, and the negative literals of predicates whose state is "negative"."""
        return [*sorted(self.of_state(world, "yes")), *self._negatives(world)]

    def of_state(self, world: World, state: str) -> list[Literal]:
        """The facts of predicates of a given `state`, see Predicate, one predicate after the other."""
        told = (name for name, p in self.predicates.items() if p.state == state)
        return [f for name in told for f in world.by_predicate.get(name, ())]

    def told_facts(self, world: World) -> list[Literal]:
        """Facts of a world for a person or an agent: those that goals or observations speak of, and negative ones.

        Facts of predicates that the domain does not have are left out.
        """
        return [*sorted(f for f in world.facts if f.predicate in self.spoken_of), *self._negatives(world)]

    @cached_property
    def spoken_of(self) -> frozenset[str]:
        """The predicates that goals or observations speak of."""
        return frozenset(p.name for p in self.predicates.values() if p.goal or p.state == "yes")

    def _negatives(self, world: World) -> list[Literal]:
        return [
            literal
            for predicate in self.predicates.values()
            if predicate.state == "negative" and len(predicate.parameters) == 1
            for name in self.candidates(predicate.parameters[0], world.objects)
            if world.holds(literal := Literal(predicate.name, (name,), False))
        ]


_LOADED = Loaded()


@lru_cache(maxsize=16)
def _load(path: Path, _mtime: int, _notes_mtime: int) -> Domain:
    text, notes = domain_texts(path)
    return _read(NotesSource(path.name, text), NotesSource(path.with_suffix(".yaml").name, notes))


@lru_cache(maxsize=16)
def _read_text(text: str, notes: str) -> Domain:
    return _read(NotesSource("PDDL text", text), NotesSource("notes", notes))


def _read(source: NotesSource, notes_source: NotesSource) -> Domain:
    notes = _read_notes(notes_source)
    base = _base(notes, notes_source)
    text = PddlText(source.name, source.text)
    if base is not None:
        text = completed(text, base[0])
    parsed = DomainReader(text).read()
    try:
        notes = _extended(notes, *base[1:], parsed, notes_source) if base is not None else notes
        return replace(_compile(parsed, notes, notes_source), pddl=text.text)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:  # an entry of another form
        raise DomainError(
            f"{notes_source.name}: an entry has not the form it should have, as in config/domains/"
            f"tabletop.yaml ({type(error).__name__}: {error})"
        ) from None


def is_pddl_text(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] in ("(", ";")


def _plain_phrase(name: str, parameters: Iterable[TypedVariable]) -> str:
    """The phrase of an action or predicate without notes: ``name({a}, {b})``."""
    return f"{name}({', '.join('{' + p.name[1:] + '}' for p in parameters)})"


def _texts(note: dict[str, Any], key: str, source: NotesSource) -> tuple[str, ...]:
    """The words of an entry; raises DomainError for what YAML reads as something else, such as ``on`` and ``no``."""
    found = tuple(note.get(key, ()))
    wrong = next((each for each in found if isinstance(each, bool)), None)
    if wrong is not None:
        raise DomainError(f"{source.name}: {key}: YAML reads a word there as {wrong}; quote it, such as 'on'")
    return tuple(map(str, found))


def _compile(parsed: ParsedDomain, notes: dict[str, Any], notes_source: NotesSource) -> Domain:
    """The domain of a parsed PDDL text and its notes."""
    words = parsed.vocabulary
    predicates = {}
    noted = _section(notes, "predicates", notes_source)
    for name, parameters in words.predicates.items():
        note = noted.get(name, {})
        phrase = note.get("phrase", _plain_phrase(name, parameters))
        state = {True: "yes", False: "no"}.get(note.get("state", False), str(note.get("state")))
        predicates[name] = Predicate(
            name,
            parameters,
            phrase,
            note.get("negative", f"it is not so that {phrase}" if "phrase" in note else f"not {phrase}"),
            bool(note.get("goal", False)),
            state,
            str(note.get("unknown", "")),
            bool(note.get("felt", False)),
        )
    actions = {}
    noted = _section(notes, "actions", notes_source)
    for name, action in parsed.actions.items():
        note = noted.get(name, {})
        actions[name] = ActionSchema(
            name,
            action.parameters,
            action.precondition,
            action.effects,
            note.get("phrase", _plain_phrase(name, action.parameters)),
            _texts(note, "aliases", notes_source),
            _inverse_rules(note["inverse"]) if "inverse" in note else None,
            tuple(_signed_atom(t) for t in note.get("possibly", ())),
            _texts(note, "words", notes_source),
            str(note.get("needs", "")),
            str(note.get("effect", "")),
            tuple(f"?{name}" for name in note.get("untouched", ())),
            tuple(_atom(t) for t in note.get("meanwhile", ())),
            action.cost,
        )
    domain = Domain(
        parsed.name,
        MappingProxyType(words.types),
        MappingProxyType(predicates),
        MappingProxyType(actions),
        MappingProxyType({c: t for t, cs in _section(notes, "classes", notes_source).items() for c in cs}),
        MappingProxyType({w: tuple(cs) for w, cs in _section(notes, "categories", notes_source).items()}),
        _round_classes(notes, notes_source),
        MappingProxyType({k: v for k, v in notes.items() if k not in _SECTIONS}),
        axioms=parsed.axioms,
        constants=tuple(WorldObject(name, kind, known=Known.SEEN) for name, kind in words.objects.items()),
        remarks=parsed.notes,
        vocabulary=words,
    )
    check_notes(notes, domain.actions, domain.predicates, domain.types, notes_source)
    return domain


def _read_notes(source: NotesSource) -> dict[str, Any]:
    try:
        notes = parse_yaml(source.text, source.name) or {}
    except ConfigError as error:
        raise DomainError(str(error)) from None
    if not isinstance(notes, dict):
        raise DomainError(f"{source.name}: expected a mapping with actions, predicates, classes, categories")
    return notes


def _base(notes: dict[str, Any], source: NotesSource) -> tuple[PddlText, dict[str, Any], NotesSource] | None:
    """The PDDL text and the notes of the domain that these notes extend; None where they extend none."""
    if "extends" not in notes:
        return None
    name = str(notes["extends"])
    try:
        path, _ = find_domain(name)
    except (DomainError, UnknownNameError) as error:
        raise DomainError(f"{source.at('extends')}: {error}") from None
    pddl, text = domain_texts(path)
    base_source = NotesSource(path.with_suffix(".yaml").name, text)
    base = _read_notes(base_source)
    if "extends" in base:
        raise DomainError(f"{source.at('extends')}: {name} extends another domain; extend that one")
    return PddlText(path.name, pddl), base, base_source


def _extended(
    notes: dict[str, Any], base: dict[str, Any], base_source: NotesSource, parsed: ParsedDomain, source: NotesSource
) -> dict[str, Any]:
    """Notes with those of the domain that they extend: of actions and predicates that the PDDL text has, of goals and
    verbs, what they do not give or take away (null); of the rest, the keys that they lack.
    """
    own = {key: value for key, value in notes.items() if key != "extends"}
    found = {**base, **own}
    for key, names in (("actions", parsed.actions), ("predicates", parsed.vocabulary.predicates), ("goals", None)):
        given = _section(own, key, source)
        rows = {n: row for n, row in _section(base, key, base_source).items() if names is None or n in names}
        if key == "goals" and "verbs" in rows:
            rows["verbs"] = sayable(rows["verbs"], parsed.vocabulary.predicates)
        for n, row in given.items():
            joined = n in rows and row is not None and (names is not None or n == "verbs")
            rows[n] = {**rows[n], **row} if joined else row
        found[key] = {n: row for n, row in rows.items() if row is not None}
    if "aside" not in own:
        known = {*parsed.actions, *parsed.vocabulary.predicates}
        found["aside"] = {k: [n for n in row if n in known] for k, row in _section(base, "aside", base_source).items()}
    return found


def _section(notes: dict[str, Any], key: str, source: NotesSource) -> dict[str, Any]:
    section = notes.get(key) or {}
    if not isinstance(section, dict):
        raise DomainError(f"{source.name}: {key!r} must be a mapping")
    return section


def _round_classes(notes: dict[str, Any], source: NotesSource) -> frozenset[str]:
    names = notes.get("round") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DomainError(f"{source.at('round')}: 'round' must be a list of classes, not {names!r}")
    return frozenset(names)


def _signed_atom(text: str) -> tuple[Atom, bool]:
    positive = not text.startswith("not ")
    return _atom(text[4:] if not positive else text), positive


def _atom(text: str) -> Atom:
    match = re.fullmatch(r"\s*([\w-]+)\s*\(\s*([^()]*?)\s*\)\s*", text)
    if not match:
        raise DomainError(f"cannot read {text!r}: expected the form name(?a, …)")
    inside = match.group(2)
    return Atom(match.group(1), tuple(t.strip() for t in inside.split(",")) if inside else ())


def _inverse_rules(rows: list[dict[str, Any]]) -> tuple[InverseRule, ...]:
    rules = []
    for row in rows:
        when, do = (value if isinstance(value, list) else [value] for value in (row.get("when", []), row["do"]))
        rules.append(InverseRule(tuple(_atom(w) for w in when), tuple(_atom(d) for d in do)))
    return tuple(rules)
