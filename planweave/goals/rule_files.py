"""Rules from a file: a list of sentences for each domain, and further names of things; by default config/rules.yaml."""

from __future__ import annotations

from pathlib import Path

from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.parameter import Parameter
from planweave.core.base.paths import config_dir
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.domain_files import domain_names
from planweave.core.symbolic.rule_check import contradiction, ruled
from planweave.core.symbolic.rules import Rule
from planweave.goals.rule_grammar import read_rule

RULES = Parameter("rules", "", "file of rules that always hold, see docs/rules.md; empty: config/rules.yaml")
MAX_RULES = 200  # of one domain
_FORM = "; the form is a list of sentences for each domain:  tabletop: [never put anything on the plate]"


class RuleFile:
    """The rules of a file, read for a domain when they are first asked for. Raises ConfigError where it is broken."""

    def __init__(self, path: str = "") -> None:
        self.path = Path(path) if path else config_dir() / "rules.yaml"
        self._sentences, self._names = _content(self.path)
        self._ruled: dict[str, tuple[Domain, Domain]] = {}  # by name: the domain as it was, and under the rules

    def rules(self, domain: Domain) -> tuple[Rule, ...]:
        """The rules for a domain; raises ConfigError that names the sentence that cannot be one."""
        found = tuple(self._read(domain, sentence) for sentence in self._sentences.get(domain.name, ()))
        if problem := contradiction(domain, found):
            raise ConfigError(f"{self.path}: {domain.name}: {problem}; leave one out")
        return found

    def in_force(self) -> tuple[str, ...]:
        """All rules as "domain: sentence"; raises ConfigError where one of them is wrong."""
        every = {name: self.rules(Domain.load(name)) for name, rows in self._sentences.items() if rows}
        return tuple(f"{name}: {rule.text}" for name, rules in every.items() for rule in rules)

    def under(self, domain: Domain) -> Domain:
        """A domain under its rules, the same object at every call."""
        kept = self._ruled.get(domain.name)
        if kept is None or kept[0] is not domain:
            kept = self._ruled[domain.name] = domain, ruled(domain, self.rules(domain))
        return kept[1]

    def load(self, name: str) -> Domain:
        return self.under(Domain.load(name))

    def _read(self, domain: Domain, sentence: str) -> Rule:
        try:
            return read_rule(domain, sentence, self._names)
        except PlanweaveError as error:
            raise ConfigError(f"{self.path}: {domain.name}: {error}") from None


def _content(path: Path) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The sentences of a file by domain, and its names; raises ConfigError."""
    content = read_yaml(path)
    if content is None:
        return {}, ()
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping{_FORM}")
    found = {}
    for key, rows in content.items():
        if key != "names" and key not in domain_names():
            raise ConfigError(f"{path}: {UnknownNameError('domain', str(key), domain_names())}{_FORM}")
        rows = [] if rows is None else rows
        if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
            raise ConfigError(f"{path}: {key}: expected a list of texts; put one with a colon into quotes{_FORM}")
        if len(rows) > MAX_RULES:
            raise ConfigError(f"{path}: {key}: {len(rows)} entries; at most {MAX_RULES} are read")
        found[str(key)] = tuple(rows)
    names = found.pop("names", ())
    if wrong := [name for name in names if not name.isalpha()]:
        raise ConfigError(f"{path}: names: {wrong[0]!r} is not one word of letters, such as screwdriver")
    return found, names
