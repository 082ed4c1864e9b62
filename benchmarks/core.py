"""The planning core on other people's PDDL, against kairos and unified-planning: what loads, is planned and checked.

The folders are collections of PDDL files, such as those of the planning competitions; each folder in them has a domain
and problems, or a domain for each problem. Nothing of them belongs to this repository.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import kairos

from benchmarks.random_domains import RandomCase
from planweave.bench.machine import machine
from planweave.core.base.errors import ConfigError, PddlError, PlanweaveError
from planweave.core.checks.validation import validate
from planweave.core.planning import kairos_child
from planweave.core.planning.classical import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.problem import Problem
from planweave.core.symbolic.world import Action

LARGE = 25  # objects, above which worlds are reduced
OUTPUT = Path("out/benchmarks/core.json")
_MUTANTS = 12  # of each plan
_BYTES = 200_000  # of a problem
_CPU = ("blocks", "gripper", "logistics00")
_NOT_CLASSICAL = re.compile(
    r":durative-action|:process|:event|:constraints|\(\s*preference\b|\(\s*(?:[<>]=?|assign|decrease|scale-up|scale-down)"
    r"[\s(]|\?duration|:observe\b|\(\s*unknown\b|\(\s*oneof\b",
    re.I,
)


@dataclass
class Collected:
    """A domain and the problems that belong to it, smallest first."""

    domain: Path
    problems: list[Path] = field(default_factory=list)


def run(options: argparse.Namespace, console: Any) -> list[dict[str, Any]]:
    """The rows; all details in OUTPUT."""
    if not options.folders:
        raise ConfigError("name the folders of PDDL files: python -m benchmarks core FOLDER …")
    found = [case for folder in options.folders for case in cases(Path(folder))]
    if not found:
        raise ConfigError(f"no PDDL domain in {', '.join(options.folders)}")
    details: dict[str, Any] = {"machine": machine(), "seconds": options.limit}
    rows = [
        *_loads(found, details),
        *_large(found, options.limit, details, console),
        *_verdicts(found, options.limit, details, console),
        *_random_verdicts(options.texts, options.seed, details, console),
        *_cpu([Path(folder) for folder in options.folders], details),
        *_worlds(),
    ]
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps({**details, "figures": rows}, indent=1), encoding="utf-8")
    console.print(f"details: {OUTPUT}")
    return rows


def _row(figure: str, value: str, goal: str = "", met: bool | None = None) -> dict[str, Any]:
    return {"figure": figure, "value": value, "goal": goal, "met": met}


def cases(folder: Path) -> Iterator[Collected]:
    """The domains below a folder with their problems, at most two different domains of each folder."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder")
    for inner in sorted({path.parent for path in folder.rglob("*.pddl")}):
        domains: dict[Path, str] = {}
        problems: list[Path] = []
        for path in sorted(inner.glob("*.pddl")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if re.search(r"\(\s*define\s*\(\s*domain\b", text, re.I):
                domains[path] = " ".join(re.sub(r";.*", "", text).lower().split())
            elif path.stat().st_size <= _BYTES:
                problems.append(path)
        problems.sort(key=lambda path: (path.stat().st_size, path))
        made: dict[str, Collected] = {}
        for path in domains if len(domains) == 1 else [p for p in domains if _stem(p)] or domains:
            case = made.get(domains[path]) or made.setdefault(domains[path], Collected(path))
            case.problems += [p for p in problems if len(domains) == 1 or _stem(p) == _stem(path)]
        yield from list(made.values())[:2]


def _stem(path: Path) -> str:
    """What domain and problem of one task have in common: p01-domain.pddl and p01.pddl."""
    return re.sub(r"[-_]?(domain|problem|task)[-_]?|^p?0*(?=\d)", "", path.stem.lower()).lstrip("p0")


def _loads(found: Sequence[Collected], details: dict[str, Any]) -> Iterator[dict[str, Any]]:
    loaded, read, refused = 0, 0, Counter[str]()
    classical = []
    for case in found:
        text = case.domain.read_text(encoding="utf-8", errors="replace")
        if _NOT_CLASSICAL.search(re.sub(r";.*", "", text)):
            continue
        classical.append(case)
        try:
            kairos.parse_domain(text)
            read += 1
        except kairos.PddlError:
            pass
        try:
            Domain.load(case.domain, replace=True)
            loaded += 1
        except PlanweaveError as error:
            refused[getattr(error, "code", type(error).__name__)] += 1
            details.setdefault("refused", {})[str(case.domain)] = str(error)
        except Exception as error:
            refused["traceback"] += 1
            details.setdefault("refused", {})[str(case.domain)] = f"traceback: {type(error).__name__}: {error}"
    why = ", ".join(f"{count} {code}" for code, count in refused.most_common())
    figure = f"classical domains that load, of {len(classical)} (kairos reads {read})"
    yield _row(figure, f"{loaded}{f' (refused: {why})' if why else ''}", f">= {read - 5}", loaded >= read - 5)
    others = [case for case in found if case not in classical]
    by_name = sum(_refused_by_name(case.domain) for case in others)
    yield _row(
        f"other domains (durative, numeric, …) refused by name and place or loaded, of {len(others)}", f"{by_name}"
    )


def _refused_by_name(path: Path) -> bool:
    try:
        Domain.load(path, replace=True)
    except PddlError as error:
        return error.line > 0
    except Exception:
        return False
    return True


def _alone(domain: Path, problem: Path, seconds: float) -> dict[str, Any]:
    """kairos alone on the files themselves, in a process that is killed after its time."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in (domain, problem)]
    options = {"timeout": seconds, "search": "ff", "anytime": False}
    task = json.dumps(dict(zip(("domain", "problem", "options"), (*texts, options))))
    command = [sys.executable, "-S", "-E", kairos_child.__file__, str(Path(kairos.__file__).parents[1])]
    try:
        done = subprocess.run(command, input=task, capture_output=True, text=True, timeout=seconds + 0.5, check=False)
        result: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"status": "TIMEOUT", "steps": []}
    return result


def _loaded(domain: Path, problem: Path) -> Problem | None:
    try:
        return Problem.load(Domain.load(domain, replace=True), problem)
    except (PlanweaveError, OSError):
        return None


def _large(
    found: Sequence[Collected], seconds: float, details: dict[str, Any], console: Any
) -> Iterator[dict[str, Any]]:
    """One problem of more than LARGE objects of each domain: the smallest one that has so many."""
    count: Counter[str] = Counter()
    rows = details["large"] = []
    for case in found:
        path, problem = next(
            ((p, q) for p in case.problems if (q := _loaded(case.domain, p)) and _is_large(q)), (None, None)
        )
        if path is None or problem is None:
            continue
        alone = _alone(case.domain, path, seconds)
        begun = time.monotonic()
        try:
            plan = solve(problem.domain, problem.world, problem.goal, seconds)
            ours = "SOLVED"
        except NoPlanError as error:
            plan, ours = (), "UNSOLVABLE" if error.proved else "none"
        took = time.monotonic() - begun
        count["problems"] += 1
        count["solved"] += ours == "SOLVED"
        count["alone"] += alone["status"] == "SOLVED"
        count["lost"] += alone["status"] == "SOLVED" != ours
        count["won"] += alone["status"] != "SOLVED" == ours
        count["false proofs"] += ours == "UNSOLVABLE" and alone["status"] == "SOLVED"
        count["unconfirmed proofs"] += ours == "UNSOLVABLE" != alone["status"]
        count["late"] += took > seconds + 1.0
        if ours == "SOLVED":
            count["refused"] += not validate(problem.domain, problem.world, plan, problem.goal).ok
            count["refused by kairos"] += not _valid(case.domain, path, list(map(_words, plan)))
        row = {"problem": str(path), "objects": len(problem.world.objects), "ours": ours, "alone": alone["status"]}
        rows.append({**row, "seconds": round(took, 2), "steps": len(plan), "steps_alone": len(alone["steps"])})
        console.print(f"{path.parent.name}/{path.name}: {ours}, alone {alone['status']}, {took:.1f} s", highlight=False)
    total = count["problems"]
    yield _row(
        f"problems of more than {LARGE} objects solved in {seconds:g} s, of {total} (kairos alone {count['alone']})",
        f"{count['solved']} ({count['won']} more, {count['lost']} fewer)",
        f">= {count['alone']}",
        count["solved"] >= count["alone"],
    )
    yield _row(
        "false proofs among them",
        f"{count['false proofs']} (proofs that kairos alone does not give in the time: {count['unconfirmed proofs']})",
        "0",
        not count["false proofs"],
    )
    refused = count["refused"] + count["refused by kairos"]
    yield _row("own plans refused by check, or by kairos.validate", f"{refused}", "0", not refused)
    yield _row("ended later than 1 s after the deadline", f"{count['late']}", "0", not count["late"])


def _is_large(problem: Problem) -> bool:
    return len(problem.world.objects) > LARGE


def written(step: Sequence[str]) -> str:
    """A step or an atom in brackets."""
    return f"({' '.join(step)})"


def _words(action: Action) -> tuple[str, ...]:
    return (action.name, *action.args)


def _valid(domain: Path, problem: Path, plan: Sequence[tuple[str, ...]]) -> bool:
    """The verdict of kairos on the files themselves."""
    parsed = kairos.parse_domain(domain.read_text(encoding="utf-8", errors="replace"))
    return _verdict(kairos.parse_problem(problem.read_text(encoding="utf-8", errors="replace"), parsed), plan)


def _verdict(problem: Any, plan: Sequence[tuple[str, ...]]) -> bool:
    text = "\n".join(map(written, plan)) + "\n" if plan else "; empty\n"
    try:
        return bool(kairos.validate(problem, kairos.parse_plan(text)).valid)
    except (kairos.PddlError, ValueError):
        return False


def _verdicts(
    found: Sequence[Collected], seconds: float, details: dict[str, Any], console: Any
) -> Iterator[dict[str, Any]]:
    """Plans of the smallest problems, and what random changes make of them."""
    rng = random.Random(0)
    count: Counter[str] = Counter()
    wrong = details["verdicts"] = []
    oracle = _unified_planning()
    for case in found:
        for path in case.problems[:3]:
            problem = _loaded(case.domain, path)
            if problem is None:
                continue
            alone = _alone(case.domain, path, seconds)
            if alone["status"] != "SOLVED":
                continue
            parsed = kairos.parse_problem(
                path.read_text(encoding="utf-8", errors="replace"),
                kairos.parse_domain(case.domain.read_text(encoding="utf-8", errors="replace")),
            )
            plan = [(name, *args) for name, args in alone["steps"]]
            plans = [plan, *(_mutant(rng, plan, problem) for _ in range(_MUTANTS))]
            other = oracle(case.domain, path) if oracle is not None and len(plan) < 60 else None
            for number, each in enumerate(plans):
                steps = [problem.domain.spelled(Action(name, tuple(args)), problem.world) for name, *args in each]
                ours = validate(problem.domain, problem.world, steps, problem.goal)
                theirs = {"kairos": _verdict(parsed, each)}
                if other is not None and number < 4 and (verdict := other(each)) is not None:
                    theirs["unified-planning"] = verdict
                for name, verdict in theirs.items():
                    count[name] += 1
                    count["valid"] += verdict
                    if verdict != ours.ok:
                        count["differ"] += 1
                        wrong.append({"problem": str(path), "plan": each, name: verdict, "message": ours.message})
    verdicts = ", ".join(f"{count[name]} of {name}" for name in ("kairos", "unified-planning"))
    console.print(f"verdicts: {verdicts}, {count['valid']} valid, {count['differ']} differ", highlight=False)
    yield _row(
        f"verdicts on plans for their problems that differ, of {verdicts} ({count['valid']} valid)",
        f"{count['differ']}",
        "0",
        not count["differ"],
    )


def _mutant(rng: random.Random, plan: Sequence[tuple[str, ...]], problem: Problem) -> list[tuple[str, ...]]:
    """A plan with one random change."""
    changed = list(plan)
    if not changed:
        return changed
    at = rng.randrange(len(changed))
    change = rng.randrange(5)
    if change == 0:
        del changed[at]
    elif change == 1:
        other = rng.randrange(len(changed))
        changed[at], changed[other] = changed[other], changed[at]
    elif change == 2 and len(changed[at]) > 1:
        step = list(changed[at])
        step[rng.randrange(1, len(step))] = rng.choice(problem.world.objects).name
        changed[at] = tuple(step)
    elif change == 3:
        changed.insert(rng.randrange(len(changed) + 1), changed[at])
    else:
        del changed[at:]
    return changed


def _unified_planning() -> Callable[[Path, Path], Callable[[Sequence[tuple[str, ...]]], bool | None] | None] | None:
    """The validator of unified-planning; None where it is not installed."""
    try:
        from unified_planning.engines import SequentialPlanValidator
        from unified_planning.engines.results import ValidationResultStatus
        from unified_planning.io import PDDLReader
    except ImportError:
        return None

    def reader(domain: Path, path: Path) -> Callable[[Sequence[tuple[str, ...]]], bool | None] | None:
        try:
            reading = PDDLReader()
            problem = reading.parse_problem(str(domain), str(path))
        except Exception:
            return None  # it does not read all of these files

        def verdict(plan: Sequence[tuple[str, ...]]) -> bool | None:
            try:
                parsed = reading.parse_plan_string(problem, "\n".join(map(written, plan)))
                found = SequentialPlanValidator().validate(problem, parsed)
                return bool(found.status == ValidationResultStatus.VALID)
            except Exception:
                return None

        return verdict

    return reader


def _random_verdicts(plans: int, seed: int, details: dict[str, Any], console: Any) -> Iterator[dict[str, Any]]:
    """Every verdict, every predicted state and a goal of random plans in random domains."""
    count: Counter[str] = Counter()
    wrong = details["random_verdicts"] = []
    while count["plans"] < plans:
        seed += 1
        case = RandomCase(seed)
        parsed, domain = kairos.parse_domain(case.pddl), Domain.load(case.pddl, replace=True)

        def oracle(goal: str, steps: Sequence[tuple[str, ...]]) -> bool:
            return _verdict(kairos.parse_problem(case.problem(goal), parsed), steps)  # noqa: B023 - called in this turn

        for _ in range(25 if case.steps else 0):
            plan, goal = case.plan(), case.goal()
            problem = Problem.load(domain, case.problem(goal))
            found = validate(domain, problem.world, [Action(step[0], step[1:]) for step in plan], problem.goal)
            state = {(fact.predicate, *fact.args) for fact in found.world.facts}
            whole = " ".join(written(a) if a in state else f"(not {written(a)})" for a in case.atoms)
            done = plan[: found.failed_step]
            right = oracle(f"(and {whole})", done) and found.ok == oracle(goal, plan)
            if found.failed_step is not None:
                right = right and not oracle("(and)", plan[: found.failed_step + 1])
            count["plans"] += 1
            count["steps"] += len(done)
            if not right:
                wrong.append({"seed": seed, "plan": plan, "goal": goal, "message": found.message})
    console.print(f"random: {count['plans']} plans, {len(wrong)} differ", highlight=False)
    yield _row(
        f"random plans in random ADL domains with derived predicates whose verdict or state differs from kairos, of "
        f"{count['plans']:,} ({count['steps']:,} steps done)",
        f"{len(wrong)}",
        "0",
        not wrong,
    )


def _cpu(folders: Sequence[Path], details: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """CPU time of planning a loaded problem, against that of kairos alone on its files."""
    for name in _CPU:
        folder = next((f for top in folders for f in top.rglob(name) if f.is_dir()), None)
        if folder is None:
            continue
        case = next(cases(folder))
        rows = details.setdefault("cpu", {})[name] = []
        worst = 0.0
        for path in case.problems[:: max(1, len(case.problems) // 12)]:
            problem = _loaded(case.domain, path)
            if problem is None:
                continue
            alone = min(_cpu_seconds(partial(_kairos_on, case.domain, path)) for _ in range(2))
            if alone > 5.0:
                break
            task = problem.domain, problem.world, problem.goal
            ours = min(_cpu_seconds(partial(solve, *task, 60.0)) for _ in range(2))
            worst = max(worst, ours - 1.3 * alone - 0.05)
            rows.append([len(problem.world.objects), round(alone, 3), round(ours, 3)])
        shown = ", ".join(f"{objects}: {ours:.2f}/{alone:.2f}" for objects, alone, ours in rows)
        yield _row(
            f"CPU of plan / of kairos alone, s, {name}, by objects",
            shown,
            "<= 1.3 times + 0.05 s",
            worst <= 0.0 if rows else None,
        )


def _kairos_on(domain: Path, problem: Path) -> Any:
    parsed = kairos.parse_domain(domain.read_text(encoding="utf-8", errors="replace"))
    made = kairos.parse_problem(problem.read_text(encoding="utf-8", errors="replace"), parsed)
    planner: Any = kairos.Planner
    return planner().solve(made, timeout=60.0, search="ff", anytime=False)


def _cpu_seconds(call: Callable[[], Any]) -> float:
    """CPU time of a call, with that of its child processes."""
    before = _used()
    call()
    return _used() - before


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _worlds() -> Iterator[dict[str, Any]]:
    domain = Domain.load(
        "(define (domain roads) (:types place) (:predicates (road ?a ?b - place))"
        " (:action close :parameters (?a ?b - place) :precondition (road ?a ?b) :effect (not (road ?a ?b))))",
        replace=True,
    )
    shown, took = [], 0.0
    for count in (1_000, 4_000, 16_000):
        facts = [f"road(p{k % 1000}, p{k // 1000})" for k in range(count)]
        begun = time.perf_counter()
        domain.world(f"{', '.join(f'p{k}' for k in range(1000))}: place", facts)
        took = time.perf_counter() - begun
        shown.append(f"{count:,} facts {took:.2f} s")
    yield _row("world() of 1,000 objects", ", ".join(shown), "16,000 facts <= 1 s", took <= 1.0)
