"""List the rules that always hold, with what they mean; or read one sentence as a rule, for every domain that can.

Rules are put in force by a line in config/rules.yaml, or in the file that the nodes' parameter `rules` names.

examples:
  planweave rules
  planweave rules "never put anything on the stove"
  planweave rules --domain household --json "the fridge stays closed"
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.domain_files import domain_names
from planweave.core.symbolic.rule_check import rule_formulas, rule_words

if TYPE_CHECKING:
    from planweave.core.symbolic.rules import Rule

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sentence", nargs="?", default="", help="read this as a rule; it is not put in force")
    parser.add_argument("--domain", help="of this domain only, e.g. tabletop")
    parser.add_argument("--file", default="", help="file of rules (default: config/rules.yaml)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from planweave.goals import RuleFile

    names = [options.domain] if options.domain else sorted(domain_names())
    domains = [Domain.load(name) for name in names]
    if options.sentence:
        read, problems = _read(domains, options.sentence)
        if not read:
            raise next(iter(problems.values()))
        found: dict[str, Any] = {"rules": read, "not_in": {name: str(e) for name, e in problems.items()}}
    else:
        file = RuleFile(options.file)
        found = {"file": str(file.path), "rules": [_row(d, rule) for d in domains for rule in file.rules(d)]}
    print(json.dumps(found, indent=2) if options.json else _text(found))
    return 0


def _read(domains: list[Domain], sentence: str) -> tuple[list[dict[str, Any]], dict[str, PlanweaveError]]:
    """The sentence as a rule of each domain that can read it, and why the others cannot."""
    from planweave.goals import read_rule

    read, problems = [], {}
    for domain in domains:
        try:
            read.append(_row(domain, read_rule(domain, sentence)))
        except PlanweaveError as error:
            problems[domain.name] = error
    return read, problems


def _row(domain: Domain, rule: Rule) -> dict[str, Any]:
    return {
        "domain": domain.name,
        "rule": rule.text,
        "words": rule_words(domain, rule),
        "formulas": list(rule_formulas(domain, rule)),
        "notes": list(rule.notes),
    }


def _text(found: dict[str, Any]) -> str:
    lines = []
    for row in found["rules"]:
        lines += [f"{row['domain']}: {row['rule']}", f"  means    {row['words']}"]
        lines += [f"  formula  {formula}" for formula in row["formulas"]]
        lines += [f"  note     {note}" for note in row["notes"]]
    lines += [f"{name}: {why}" for name, why in found.get("not_in", {}).items()]
    return "\n".join(lines) or f"no rules: {found['file']} has none"
