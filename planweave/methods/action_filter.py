"""Which actions and goals of a domain a model is offered for a sentence.

Actions with `words` in the domain's file are offered where the text has one of them, and so are goals that only such
actions reach. It keeps prompts short, and the list of all possible calls within what a reply can be held to. Apart from
that the controlled English, the checks of plans and the classical planner know the whole domain. What the body refuses
(`World.actions_off`) is offered to nobody.
"""

from __future__ import annotations

import re

from planweave.core.domain import Domain
from planweave.core.reduced import without


def offered(domain: Domain, text: str, refused: frozenset[str] = frozenset()) -> Domain:
    """The domain without the actions that are refused or that a text has no word for, and the goals that only they
    reach.
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
