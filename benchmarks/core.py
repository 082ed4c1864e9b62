"""The planning core on other people's PDDL, against kairos and unified-planning: what loads, is planned and checked.

The folders are collections of PDDL files, such as those of the planning competitions; each folder in them has a domain
and problems, or a domain for each problem. Nothing of them belongs to this repository.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import kairos
from doubles.random_domains import RandomCase

from benchmarks.figures import Row, figure
from planweave.bench.machine import machine
from planweave.cli.plan import written
from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.checks.validation import validate
from planweave.core.planning.deadline import Deadline
from planweave.core.planning.kairos_search import ChildSearch, SearchResult
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.problem import Problem
from planweave.core.symbolic.world import Action

LARGE = 25  # objects, above which worlds are reduced
OUTPUT = Path("out/benchmarks/core.json")
_READ, _PLANNED = 10, 2  # domains of each folder that are read, and whose problems are planned
_PROBLEMS = 3  # of each of these, whose plans are checked
_MUTANTS = 14  # of each plan
_ORACLE = 10.0  # s for the oracle in Python on one problem
_SEEDS, _PLANS = 40, 25  # random domains of one job, and plans of each
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


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """The rows; all details in OUTPUT."""
    if not options.folders:
        raise ConfigError("name the folders of PDDL files: python -m benchmarks core FOLDER …")
    folders = [Path(folder) for folder in options.folders]
    every, some = ([c for folder in folders for c in cases(folder, most)] for most in (_READ, _PLANNED))
    if not every:
        raise ConfigError(f"no PDDL domain in {', '.join(options.folders)}")
    details: dict[str, Any] = {"machine": machine(), "seconds": options.limit}
    rows: list[Row] = []
    begun = time.monotonic()
    for part in (
        partial(_loads, every, details),
        partial(_large, some, options.limit, details, console),
        partial(_cpu, folders, details),
        _worlds,
        partial(_verdicts, some, options.limit, details, console),
        partial(_random_verdicts, options.texts, options.seed, details, console),
    ):
        for row in part():
            console.print(f"[{time.monotonic() - begun:.0f} s] {row.figure}: {row.value}", highlight=False)
            rows.append(row)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps({**details, "figures": [row.plain() for row in rows]}, indent=1), encoding="utf-8")
    console.print(f"details: {OUTPUT}")
    return rows


def cases(folder: Path, most: int) -> Iterator[Collected]:
    """The different domains of each folder below a folder, as many as `most` of each, with their problems."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder")
    for inner in sorted({path.parent for path in folder.rglob("*.pddl")}):
        domains: dict[Path, str] = {}
        problems: list[Path] = []
        for path in sorted(inner.glob("*.pddl")):
            text = _text(path)
            if re.search(r"\(\s*define\s*\(\s*domain\b", text, re.I):
                domains[path] = " ".join(re.sub(r";.*", "", text).lower().split())
            elif path.stat().st_size <= _BYTES:
                problems.append(path)
        problems.sort(key=lambda path: (path.stat().st_size, path))
        made: dict[str, Collected] = {}
        for path in domains if len(domains) == 1 else [p for p in domains if _stem(p)] or domains:
            case = made.get(domains[path]) or made.setdefault(domains[path], Collected(path))
            case.problems += [p for p in problems if len(domains) == 1 or _stem(p) == _stem(path)]
        yield from list(made.values())[:most]


def _stem(path: Path) -> str:
    """What domain and problem of one task have in common: p01-domain.pddl and p01.pddl."""
    return re.sub(r"[-_]?(domain|problem|task)[-_]?|^p?0*(?=\d)", "", path.stem.lower()).lstrip("p0")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _loads(found: Sequence[Collected], details: dict[str, Any]) -> Iterator[Row]:
    texts = {" ".join(re.sub(r";.*", "", _text(case.domain)).lower().split()): case.domain for case in found}
    others = [path for text, path in texts.items() if _NOT_CLASSICAL.search(text)]
    classical = [path for path in texts.values() if path not in others]
    read = sum(_parses(path) for path in classical)
    refused = details["refused"] = {str(path): error for path in classical if (error := _refusal(path))}
    loaded, least = len(classical) - len(refused), 185 / 194 * len(classical)
    yield figure(
        f"classical domains that load, of {len(classical)} different ones (kairos reads {read})",
        f"{loaded}",
        f">= {least:.0f} (185 of 194)",
        loaded >= least,
    )
    wrong = [str(path) for path in (*classical, *others) if _refusal(path).startswith("traceback")]
    by_name = sum(not (error := _refusal(path)) or bool(re.match(r"[^:]+:\d+:\d+: ", error)) for path in others)
    yield figure(
        f"other domains (durative, numeric, …) refused with name and place, or loaded, of {len(others)}",
        f"{by_name} (tracebacks: {len(wrong)})",
        f"{len(others)}",
        by_name == len(others) and not wrong,
    )


def _parses(path: Path) -> bool:
    try:
        kairos.parse_domain(_text(path))
    except kairos.PddlError:
        return False
    return True


def _refusal(path: Path) -> str:
    try:
        Domain.load(path, replace=True)
    except PlanweaveError as error:
        return str(error)
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}"
    return ""


def _alone(domain: Path, problem: Path, seconds: float) -> SearchResult:
    """kairos alone on the files themselves, in a process that ends at its deadline."""
    search = ChildSearch(_text(domain), _text(problem), Deadline(seconds))
    try:
        return search.result(seconds) or SearchResult("TIMEOUT")
    finally:
        search.stop()


def _loaded(domain: Path, problem: Path) -> Problem | None:
    try:
        return Problem.load(Domain.load(domain, replace=True), problem)
    except (PlanweaveError, OSError):
        return None


def _large(found: Sequence[Collected], seconds: float, details: dict[str, Any], console: Any) -> Iterator[Row]:
    """One problem of more than LARGE objects of each domain: the smallest one that has so many."""
    count: Counter[str] = Counter()
    rows = details["large"] = []
    for case in found:
        path, problem = next(
            ((p, q) for p in case.problems if (q := _loaded(case.domain, p)) and len(q.world.objects) > LARGE),
            (None, None),
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
        count["alone"] += alone.solved
        count["lost"] += alone.solved and ours != "SOLVED"
        count["won"] += ours == "SOLVED" and not alone.solved
        count["false proofs"] += ours == "UNSOLVABLE" and alone.solved
        count["unconfirmed proofs"] += ours == "UNSOLVABLE" and not alone.unsolvable
        count["late"] += took > seconds + 0.5
        if ours == "SOLVED":
            count["refused"] += not validate(problem.domain, problem.world, plan, problem.goal).ok
            count["refused"] += not _verdict(_kairos_problem(case.domain, path), plan)
        row = {"problem": str(path), "objects": len(problem.world.objects), "ours": ours, "alone": alone.status}
        rows.append({**row, "seconds": round(took, 2), "steps": len(plan), "steps_alone": len(alone.steps)})
        console.print(f"{path.parent.name}/{path.name}: {ours}, alone {alone.status}, {took:.1f} s", highlight=False)
    yield figure(
        f"problems of more than {LARGE} objects solved in {seconds:g} s, of {count['problems']} (kairos alone "
        f"{count['alone']})",
        f"{count['solved']} ({count['won']} more, {count['lost']} fewer)",
        f">= {count['alone']}",
        count["solved"] >= count["alone"],
    )
    yield figure(
        "false proofs among them",
        f"{count['false proofs']} (proofs that kairos alone does not give in the time: {count['unconfirmed proofs']})",
        "0",
        not count["false proofs"],
    )
    yield figure("own plans refused by check, or by kairos.validate", f"{count['refused']}", "0", not count["refused"])
    yield figure("ended later than 0.5 s after the deadline", f"{count['late']}", "0", not count["late"])


def _kairos_problem(domain: Path, problem: Path) -> Any:
    return kairos.parse_problem(_text(problem), kairos.parse_domain(_text(domain)))


def _verdict(problem: Any, plan: Sequence[Action]) -> bool:
    text = "\n".join(map(written, plan)) + "\n" if plan else "; empty\n"
    try:
        return bool(kairos.validate(problem, kairos.parse_plan(text)).valid)
    except (kairos.PddlError, ValueError):
        return False


@dataclass
class Verdicts:
    """How many verdicts were compared, by oracle; differ: those that do, with what is needed to see why."""

    count: Counter[str] = field(default_factory=Counter)
    differ: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, theirs: bool, ours: bool, case: dict[str, Any]) -> None:
        self.count[name] += 1
        self.count["valid"] += theirs
        if theirs != ours:
            self.differ.append({**case, name: theirs})

    def join(self, other: Verdicts) -> None:
        self.count += other.count
        self.differ += other.differ


def _in_processes(jobs: Sequence[partial[Verdicts]], title: str, console: Any) -> Verdicts:
    """All that the jobs find, on all processors."""
    found = Verdicts()
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures: list[Future[Verdicts]] = [pool.submit(job) for job in jobs]
        for done, future in enumerate(as_completed(futures), 1):
            found.join(future.result())
            if done % 25 == 0 or done == len(jobs):
                verdicts = ", ".join(f"{number:,} {name}" for name, number in found.count.items())
                console.print(
                    f"{title}: {done} of {len(jobs)} jobs ({verdicts}), {len(found.differ)} differ", highlight=False
                )
    return found


def _verdicts(found: Sequence[Collected], seconds: float, details: dict[str, Any], console: Any) -> Iterator[Row]:
    """Plans of the smallest problems, and what random changes make of them."""
    if not _unified_planning_is_there():
        console.print("unified-planning cannot be imported, so that it gives no verdicts")
    rows = [(case.domain, path) for case in found for path in case.problems[:_PROBLEMS]]
    all_of = _in_processes([partial(_verdicts_on, *row, seconds) for row in rows], "verdicts", console)
    details["verdicts"] = all_of.differ
    verdicts = " and ".join(f"{all_of.count[name]:,} of {name}" for name in ("kairos", "unified-planning"))
    yield figure(
        f"verdicts on plans for their problems that differ, of {verdicts} ({all_of.count['valid']:,} valid)",
        f"{len(all_of.differ)}",
        "0 of 3,000",
        not all_of.differ and all_of.count["kairos"] + all_of.count["unified-planning"] >= 3_000,
    )


def _verdicts_on(domain: Path, path: Path, seconds: float) -> Verdicts:
    """The verdicts on a plan for one problem and its mutants."""
    rng, found = random.Random(str(path.name)), Verdicts()
    problem, alone = _loaded(domain, path), _alone(domain, path, seconds)
    if problem is None or not alone.solved:
        return found
    parsed = _kairos_problem(domain, path)
    plan = [problem.domain.spelled(Action(name, args), problem.world) for name, args in alone.steps]
    plans = [plan, *(_mutant(rng, plan, problem) for _ in range(_MUTANTS))]
    ours = [validate(problem.domain, problem.world, each, problem.goal) for each in plans]
    for each, check in zip(plans, ours):
        case = {"problem": str(path), "plan": [written(step) for step in each], "message": check.message}
        found.add("kairos", _verdict(parsed, each), check.ok, case)
    if not _unified_planning_is_there():
        return found
    with _at_most(_ORACLE):  # it does not read all of these files, and takes minutes for some
        oracle = _unified_planning(domain, path)
        for each, check in zip(plans[:5], ours):
            case = {"problem": str(path), "plan": [written(step) for step in each], "message": check.message}
            found.add("unified-planning", oracle(each), check.ok, case)
    return found


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what is inside after a time, or at its first error."""

    def out_of_time(*_: object) -> None:
        raise TimeoutError

    before, sys.unraisablehook = signal.signal(signal.SIGALRM, out_of_time), lambda _: None
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, since one that comes in a __del__ is lost
    try:
        yield
    except Exception:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = sys.__unraisablehook__


def _mutant(rng: random.Random, plan: Sequence[Action], problem: Problem) -> list[Action]:
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
    elif change == 2 and changed[at].args:
        args = list(changed[at].args)
        args[rng.randrange(len(args))] = rng.choice(problem.world.objects).name
        changed[at] = Action(changed[at].name, tuple(args))
    elif change == 3:
        changed.insert(rng.randrange(len(changed) + 1), changed[at])
    else:
        del changed[at:]
    return changed


def _unified_planning_is_there() -> bool:
    try:
        import unified_planning.engines
        import unified_planning.io  # noqa: F401 - takes seconds
    except ImportError:
        return False
    return True


def _unified_planning(domain: Path, path: Path) -> Callable[[Sequence[Action]], bool]:
    from unified_planning.engines import SequentialPlanValidator
    from unified_planning.engines.results import ValidationResultStatus
    from unified_planning.io import PDDLReader

    reader = PDDLReader()
    problem = reader.parse_problem(str(domain), str(path))

    def verdict(plan: Sequence[Action]) -> bool:
        parsed = reader.parse_plan_string(problem, "\n".join(map(written, plan)))
        return bool(SequentialPlanValidator().validate(problem, parsed).status == ValidationResultStatus.VALID)

    return verdict


def _random_verdicts(plans: int, seed: int, details: dict[str, Any], console: Any) -> Iterator[Row]:
    """Every verdict, every predicted state and a goal of random plans in random domains."""
    count = -(-plans // (_SEEDS * _PLANS))
    firsts = [seed + 1 + k * _SEEDS for k in range(count)]
    all_of = _in_processes([partial(_random_verdicts_from, first) for first in firsts], "random", console)
    details["random_verdicts"] = all_of.differ
    yield figure(
        f"random plans in random ADL domains with derived predicates whose verdict or state differs from kairos, of "
        f"{all_of.count['kairos']:,} ({all_of.count['steps']:,} steps done)",
        f"{len(all_of.differ)}",
        "0 of 60,000",
        not all_of.differ and all_of.count["kairos"] >= 60_000,
    )


def _random_verdicts_from(first: int) -> Verdicts:
    found = Verdicts()
    for seed in range(first, first + _SEEDS):
        case = RandomCase(seed)
        parsed, domain = kairos.parse_domain(case.pddl), Domain.load(case.pddl, replace=True)
        for _ in range(_PLANS):
            plan, goal = [Action(step[0], step[1:]) for step in case.plan()], case.goal()
            problem = Problem.load(domain, case.problem(goal))
            check = validate(domain, problem.world, plan, problem.goal)
            done = plan[: check.failed_step]

            def oracle(goal: str, steps: Sequence[Action]) -> bool:
                return _verdict(kairos.parse_problem(case.problem(goal), parsed), steps)  # noqa: B023 - called in this turn

            state = {(fact.predicate, *fact.args) for fact in check.world.facts}
            atoms = ((f"({' '.join(atom)})", atom in state) for atom in case.atoms)
            right = oracle(f"(and {' '.join(text if held else f'(not {text})' for text, held in atoms)})", done)
            if check.failed_step is not None:
                right = right and not oracle("(and)", plan[: check.failed_step + 1])
            found.count["steps"] += len(done)
            row = {"seed": seed, "plan": [written(step) for step in plan], "goal": goal, "message": check.message}
            found.add("kairos", right and oracle(goal, plan) == check.ok, True, row)
    return found


def _cpu(folders: Sequence[Path], details: dict[str, Any]) -> Iterator[Row]:
    """CPU time of planning a loaded problem, against that of kairos alone on its files."""
    for name in _CPU:
        folder = next((f for top in folders for f in top.rglob(name) if f.is_dir()), None)
        if folder is None:
            continue
        case = next(cases(folder, 1))
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
        yield figure(
            f"CPU of plan / of kairos alone, s, {name}, by objects",
            shown,
            "<= 1.3 times + 0.05 s",
            worst <= 0.0 if rows else None,
        )


def _kairos_on(domain: Path, problem: Path) -> Any:
    planner: Any = kairos.Planner
    return planner().solve(_kairos_problem(domain, problem), timeout=6.0, search="ff", anytime=False)


def _cpu_seconds(call: Callable[[], Any]) -> float:
    before = _used()
    call()
    return _used() - before


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _worlds() -> Iterator[Row]:
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
    yield figure("world() of 1,000 objects", ", ".join(shown), "16,000 facts <= 1 s", took <= 1.0)
