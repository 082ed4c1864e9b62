"""A planning problem: a world and a goal, read from a PDDL problem of a domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planweave.core.domain import MAX_PDDL_BYTES, Domain, is_pddl_text
from planweave.core.errors import ConfigError, DomainError
from planweave.core.formula import Formula
from planweave.core.paths import is_file
from planweave.core.pddl_problem import read_problem
from planweave.core.transition import completed
from planweave.core.world import Known, Literal, World, WorldObject
from planweave.core.yaml_files import read_text


@dataclass(frozen=True)
class Problem:
    """A problem. minimize: whether the total cost of a plan counts, rather than its number of steps. remarks: what its
    PDDL has that the standard asks for in another form, each with its place.
    """

    name: str
    domain: Domain
    world: World
    goal: Formula
    minimize: bool = False
    remarks: tuple[str, ...] = ()

    @classmethod
    def load(cls, domain: Domain | str | Path, source: str | Path) -> Problem:
        """Read a problem of a domain (or of what `Domain.load` takes) from a path or PDDL text.

        The world has the domain's constants and the facts of derived predicates. Raises PddlError for what is wrong in
        the problem, with its place; DomainError where the file cannot be read.
        """
        if not isinstance(domain, Domain):
            domain = Domain.load(domain)
        name = "PDDL text"
        text = str(source)
        if isinstance(source, Path) or not is_pddl_text(source):
            if not is_file(text):
                raise DomainError(f"{text[:300]}: there is no such file; give the path of a PDDL problem, or its text")
            name = Path(source).name
            try:
                text = read_text(Path(source), MAX_PDDL_BYTES)
            except ConfigError as error:
                raise DomainError(str(error)) from None
        parsed = read_problem(name, text, domain.vocabulary, domain.name)
        world = World(
            domain.name,
            tuple(WorldObject(name, kind, known=Known.SEEN) for name, kind in parsed.objects.items()),
            frozenset(Literal(fact[0], fact[1:]) for fact in parsed.facts),
            values=tuple((Literal(key[0], key[1:]), value) for key, value in parsed.values.items()),
        )
        return cls(parsed.name, domain, completed(domain, world), parsed.goal, parsed.minimize, parsed.notes)
