"""Models that were found to read sentences rightly, by `planweave doctor`: one JSON file of the user's state."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path

from planweave.core.base.paths import state_dir

PROMPT = Path(__file__).resolve().parents[1] / "prompts" / "goal" / "system.txt"


def known_readers() -> Path:
    """The file, $XDG_STATE_HOME/planweave/readers.json."""
    return state_dir() / "readers.json"


def reads_rightly(endpoint: str, model: str) -> bool | None:
    """Whether a model answered all reading questions, with the prompt of this version, rightly; None where it was not
    asked them.
    """
    return _content().get(_key(endpoint, model))


def record_reader(endpoint: str, model: str, right: bool) -> None:
    """Keep what was found of a model; where the file cannot be written, nothing is kept."""
    path = known_readers()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({**_content(), _key(endpoint, model): right}, indent=1), encoding="utf-8")
        written.replace(path)


def _content() -> dict[str, bool]:
    try:
        content = json.loads(known_readers().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@lru_cache(maxsize=16)
def _key(endpoint: str, model: str) -> str:
    return f"{endpoint} {model} {hashlib.sha256(PROMPT.read_bytes()).hexdigest()[:12]}"
