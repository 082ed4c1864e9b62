"""Selection of the actions and goals of a domain that are offered to a model for a sentence.

Actions with `words` in the domain's file are offered where the text contains one of them, and so are goals that only
such actions achieve. This keeps prompts short, and the list of all ground actions small enough for constrained output.
The controlled English, the validation of plans and the classical planner use the whole domain. Actions that the body
refuses (`World.actions_off`) are never offered.
"""

from __future__ import annotations

import re

from planweave.core.domain import Domain
from planweave.core.reduced import without


def offered(domain: Domain, text: str, refused: frozenset[str] = frozenset()) -> Domain:
    """The domain without actions that are refused or that no word of the text refers to, and without goals that only
    they achieve.
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
