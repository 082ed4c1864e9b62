"""A planning problem: a world and a goal, read from a PDDL problem of a domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planweave.core.base.paths import is_file
from planweave.core.pddl.formula import Formula
from planweave.core.pddl.problem_reader import read_problem
from planweave.core.symbolic.domain import Domain, is_pddl_text
from planweave.core.symbolic.domain_files import no_file, read_pddl
from planweave.core.symbolic.transition import completed
from planweave.core.symbolic.world import Known, Literal, World, WorldObject


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
                raise no_file(text)
            name, text = Path(source).name, read_pddl(Path(source))
        parsed = read_problem(name, text, domain.vocabulary, domain.name)
        world = World(
            domain.name,
            tuple(WorldObject(name, kind, known=Known.SEEN) for name, kind in parsed.objects.items()),
            frozenset(Literal(fact[0], fact[1:]) for fact in parsed.facts),
            values=tuple((Literal(key[0], key[1:]), value) for key, value in parsed.values.items()),
        )
        return cls(parsed.name, domain, completed(domain, world), parsed.goal, parsed.minimize, parsed.notes)
