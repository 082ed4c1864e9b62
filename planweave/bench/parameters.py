"""Parameters of the planner and of the methods in a run: the defaults that hold, and `--set PART.NAME=VALUE`.

In rising order: the default in the code (`PlannerSettings`, the dataclass of the method), what the
papers demand (`AS_IN_PAPERS`), config/planner.yaml and config/feedback.yaml, which planner_node and feedback_node read,
too, `--set`, and what stands with a method (``iterative:replan=global,planner.step_temperature=0.5``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.parameter import Parameter, option_parameters
from planweave.core.base.paths import config_dir
from planweave.launcher.parameter_files import merged
from planweave.llm.embeddings import EMBEDDERS
from planweave.methods import METHODS
from planweave.methods.language.settings import PlannerSettings
from planweave.methods.running.options import option_of, options_of

PLANNER = "planner"
#: What differs from a node's defaults: Tree-Planner keeps all sampled plans, as in its paper; searches have so much
#: time that a busy machine gives the same numbers. There is no fallback.
AS_IN_PAPERS: dict[str, dict[str, Any]] = {"tree_planner": {"check_plans": False}, "classical": {"plan_timeout": 60.0}}
_PLANNER = {
    row.name: row
    for row in (
        *option_parameters(PlannerSettings),
        Parameter(
            "exclude_actions", list(PlannerSettings.exclude_actions), "actions that are not offered to the model"
        ),
        Parameter("embedding", "hashed", "how names and tasks are compared", choices=tuple(EMBEDDERS)),
        Parameter("gold_plan", False, "put a right plan among the sampled ones (Tree-Planner, Table 2)"),
    )
}
_CHOSEN = ("client", "model", "openai_model", "cassette", "seed")  # by --model and --seed


def parameter_of(name: str) -> Parameter:
    """The parameter PART.NAME; raises UnknownNameError that names the nearest, ConfigError or PluginError."""
    part, dot, key = name.partition(".")
    if part not in (PLANNER, *METHODS):
        raise UnknownNameError("part in --set", part, (PLANNER, *METHODS))
    if not dot:
        raise ConfigError(f"{name}: write {part}.NAME=VALUE, with one of {', '.join(_known(part))}")
    if part != PLANNER:
        return option_of(part, key)
    if key not in _PLANNER:
        raise UnknownNameError("parameter of planner", key, _PLANNER)
    return _PLANNER[key]


def _known(part: str) -> list[str]:
    return list(_PLANNER if part == PLANNER else options_of(part))


def default_of(name: str) -> Any:
    """The value of PART.NAME where nothing is set."""
    part, _, key = name.partition(".")
    return AS_IN_PAPERS.get(part, {}).get(key, parameter_of(name).default)


def read_value(name: str, text: str) -> Any:
    """The text of a value, checked; lists are separated by spaces. Raises UnknownNameError or ConfigError."""
    if name.startswith(f"{PLANNER}.") and name.partition(".")[2] in _CHOSEN:
        raise ConfigError(f"{name} is chosen by --model and --seed")
    row = parameter_of(name)
    if isinstance(row.default, list):
        return row.checked(text.split(), name.partition(".")[0])
    return row.read(text, name.partition(".")[0])


def settings_of(texts: Sequence[str], folder: Path | None = None) -> dict[str, Any]:
    """Parameters that differ from the defaults, by PART.NAME: those of the nodes' files (in `folder`, else Planweave's
    config folder), then those of `--set`. Raises UnknownNameError or ConfigError.
    """
    found = _from_files(folder or config_dir())
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            parameter_of(name)
            raise ConfigError(f"--set {text}: write {name}=VALUE")
        found[name] = read_value(name, value)
    return {name: value for name, value in sorted(found.items()) if value != default_of(name)}


def _from_files(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in merged([folder / "planner.yaml"], "/planner_node").items():
        if name in _PLANNER and name not in _CHOSEN:
            found[f"{PLANNER}.{name}"] = _PLANNER[name].checked(value, PLANNER)
    for name, value in _flat(merged([folder / "feedback.yaml"], "/feedback_node")):
        part, _, key = name.partition(".")
        if key and part in METHODS:
            found[name] = option_of(part, key).checked(value, part)
    return found


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def all_values(settings: Mapping[str, Any], part: str) -> dict[str, Any]:
    return {key: settings.get(f"{part}.{key}", default_of(f"{part}.{key}")) for key in _known(part)}


def planner_settings(values: Mapping[str, Any]) -> PlannerSettings:
    kept = {key: value for key, value in values.items() if key not in ("embedding", "gold_plan")}
    return PlannerSettings(**{**kept, "exclude_actions": tuple(kept["exclude_actions"])})


NOTHING: Mapping[str, Any] = {}


def parse_method(text: str, settings: Mapping[str, Any] = NOTHING) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Name, all its options, and all parameters of the planner, of ``iterative:replan=global,max_steps=9``. A parameter
    of the planner may stand with them, for this method alone: ``scene_aware:planner.environment_weight=0``. settings:
    those of the run, by PART.NAME.

    Raises UnknownNameError, ConfigError or PluginError that says what would be right.
    """
    name, _, given = text.partition(":")
    METHODS[name]  # or why it cannot be used
    values = dict(settings)
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        path = key if key.startswith(f"{PLANNER}.") else f"{name}.{key}"
        if not equals:
            raise ConfigError(f"{text}: write {key}=VALUE")
        values[path] = read_value(path, value)
    options = all_values(values, name)
    if options.get("paper"):  # the method has set more, so that records hold the values that count
        made = METHODS[name](**options)
        options = {key: getattr(made, key) for key in options}
    return name, options, all_values(values, PLANNER)


def make_method(text: str, settings: Mapping[str, Any] = NOTHING) -> Any:
    name, options, _ = parse_method(text, settings)
    return METHODS[name](**options)


def names_of(texts: Sequence[str]) -> list[str]:
    """Requested methods, separated by spaces or commas, "all" for all; checked, without duplicates."""
    found: list[str] = []
    for text in texts:
        for one in _split(text):
            found += _all() if one == "all" else [one]
    for one in found:
        parse_method(one)
    return list(dict.fromkeys(found)) or _all()


def _all() -> list[str]:
    """Every method that can be loaded, ours and those of installed packages; logs a warning for the others."""
    return list(METHODS.working())


def _split(text: str) -> list[str]:
    """``a,b:x=1,y=2,c`` as a, b:x=1,y=2 and c."""
    parts: list[str] = []
    for part in filter(None, text.split(",")):
        if parts and ":" in parts[-1] and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts
