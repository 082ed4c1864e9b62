"""Check this machine: Python, ROS 2, rendering, the arm's meshes, the language model and its methods.

Every check runs the real thing: a service call between two nodes, a rendered picture, one question to the model of each
kind that the methods ask (some 12 requests, 15,000 tokens), read as they read it. The exit code is 0 where the
simulated arm can execute a task.

examples:
  planweave doctor
  OPENAI_BASE_URL=http://localhost:11434/v1 PLANWEAVE_MODEL=llama3.1 planweave doctor --json
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.base.plugins import OURS
from planweave.launcher.domains import domain
from planweave.launcher.environment import is_closed_to_the_network, refuse_old_ros, ros_environment
from planweave.launcher.one_system import running
from planweave.llm.clients.none import SET_ONE

MODEL_SECONDS = 330.0  # for all questions to the model together
_TIMED_OUT = 124  # exit code of a probe that did not end in its time
NEEDS_ROS = False  # whether ROS works is one of the questions
_PRIORITY = 98  # of ros2_control's thread in config/franka/controllers.yaml
GL_PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"
PACKAGES = ("kairos", "mujoco", "numpy", "OpenGL", "openai", "ompl", "cv2", "rapidfuzz", "yaml")
#: extra of pyproject.toml: the modules that it brings
EXTRAS = {
    "vision": ("torch", "transformers", "scipy"),
    "realsense": ("pyrealsense2",),
    "bag": ("rosbags",),
    "local-models": ("sentence_transformers", "transformers"),
    "bench": ("scipy",),
    "eai": ("virtualhome_eval",),
    "vamp": ("vamp",),
}


@dataclass(frozen=True)
class Finding:
    """Result of one check. state: "ok", "warning" (something optional) or "failed"; advice: the remedy."""

    name: str
    state: str
    text: str
    advice: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")
    parser.add_argument("--no-model", action="store_true", help="skip the language model")


def main(options: argparse.Namespace) -> int:
    findings: list[Finding] = []
    checks: list[Callable[[], Finding | list[Finding]]] = [
        check_python,
        check_packages,
        check_extras,
        check_plugins,
        check_ros,
        check_rendering,
        check_meshes,
        check_real_time,
    ]
    for check in checks + ([] if options.no_model else [check_model]):
        found = check()
        for finding in [found] if isinstance(found, Finding) else found:
            findings.append(finding)
            if not options.json:
                _show(finding)
    good = all(finding.state != "failed" for finding in findings)
    if options.json:
        print(json.dumps({"success": good, "findings": [asdict(finding) for finding in findings]}, indent=2))
    return 0 if good else 1


def check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    good = (3, 10) <= sys.version_info[:2] <= (3, 14)
    return Finding(
        "Python",
        "ok" if good else "failed",
        f"{version} at {sys.executable}",
        "" if good else "Python 3.10 to 3.14 is needed",
        {"version": version},
    )


def check_packages() -> Finding:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing == ["ompl"] and sys.version_info >= (3, 14):
        text = "no OMPL: its wheels are for Python 3.10 to 3.13; the arm moves along straight and raised paths only"
        return Finding(
            "packages", "warning", text, "for path search: make PYTHON=python3.13 setup", {"missing": missing}
        )
    if missing:
        return Finding(
            "packages", "failed", f"missing: {', '.join(missing)}", "in a clone: make setup", {"missing": missing}
        )
    return Finding("packages", "ok", f"all {len(PACKAGES)} there")


def check_extras() -> Finding:
    """Installed extras; all are optional."""
    there = [name for name, modules in EXTRAS.items() if all(importlib.util.find_spec(m) for m in modules)]
    absent = [name for name in EXTRAS if name not in there]
    text = f"installed: {', '.join(there) or 'none'}" + (f"; not installed: {', '.join(absent)}" if absent else "")
    return Finding("extras", "ok", text, "", {"installed": there, "not_installed": absent})


def check_plugins() -> list[Finding]:
    """Parts of installed packages that cannot be used (docs/extending.md): one row for each kind with a problem, else
    one for all packages.
    """
    from planweave.bench.suites import SUITES
    from planweave.bodies import BODIES
    from planweave.bodies.arm.skills.door import SKILLS
    from planweave.core.symbolic.domain_files import DOMAINS
    from planweave.llm.clients import CLIENTS
    from planweave.methods import METHODS
    from planweave.perception.detectors import DETECTORS
    from planweave.robots import ROBOTS, broken_robots

    registries = (METHODS, SUITES, DOMAINS, BODIES, DETECTORS, CLIENTS, ROBOTS, SKILLS)
    broken = {registry.group: problems for registry in registries if (problems := registry.problems())}
    if problems := broken_robots():
        broken[ROBOTS.group] = [*broken.get(ROBOTS.group, []), *problems]
    if broken:
        return [
            Finding(
                group.removeprefix("planweave."),
                "warning",
                "\n".join(problems),
                "everything else works",
                {"problems": problems},
            )
            for group, problems in broken.items()
        ]
    others = {
        f"{registry.kind} {name}": package
        for registry in registries
        for name in registry
        if (package := registry.package_of(name)) != OURS
    }
    text = ", ".join(f"{part} ({package})" for part, package in others.items())
    return [Finding("plugins", "ok", text or "none", details={"parts": others})]


def check_ros() -> Finding:
    """Two nodes and one service call, through our own interfaces."""
    try:
        refuse_old_ros(os.environ)
    except PlanweaveError as error:
        return Finding("ROS 2", "failed", str(error), "source the setup.bash of Jazzy, Kilted or Lyrical")
    code, out, err = run_probe("planweave_ros.ros_probe", 30.0)
    if code:
        return Finding(
            "ROS 2",
            "failed",
            _last(err),
            "in a clone: make setup; in a workspace: colcon build, then source install/setup.bash; "
            "elsewhere: the wheels of `make wheel`",
            {"error": err[-2000:]},
        )
    distro = os.environ.get("ROS_DISTRO", "from PyPI")
    scope = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if is_closed_to_the_network(os.environ):
        scope = "127.0.0.1"
    advice = (
        ""
        if scope in ("127.0.0.1", "LOCALHOST")
        else ("other machines can reach these nodes; see SROS 2 for access control")
    )
    return Finding(
        "ROS 2",
        "ok",
        f"{distro}; a service call took {out.strip()} ms; domain {domain()}, discovery {scope}"
        f"{''.join(f'; running: {one}' for one in running())}",
        advice,
        {"milliseconds": float(out), "discovery": scope},
    )


def check_rendering() -> Finding:
    """One rendered picture with each of MuJoCo's offscreen backends."""
    failures = {}
    chosen = os.environ.get("MUJOCO_GL")
    for backend in [chosen] if chosen else ["egl", "osmesa"]:
        code, out, err = run_probe("planweave.cli.gl_probe", 60.0, {"MUJOCO_GL": backend})
        if not code:
            return Finding(
                "rendering",
                "ok",
                f"MUJOCO_GL={backend}; a first picture took {out.strip()} s",
                details={"backend": backend, "seconds": float(out)},
            )
        failures[backend] = _last(err)
    text = "; ".join(f"{backend}: {why}" for backend, why in failures.items())
    return Finding(
        "rendering", "failed", text, f"on Debian or Ubuntu: sudo apt-get install {GL_PACKAGES}", {"errors": failures}
    )


def check_meshes() -> Finding:
    """The default robot's model files, which come from a wheel used for its data only."""
    from planweave.robots.franka import asset_dir

    try:
        return Finding("arm model", "ok", str(asset_dir()))
    except ConfigError as error:
        return Finding("arm model", "failed", str(error), "pip install --no-deps dm-robotics-panda eaik")


def check_real_time(kernel: Path = Path("/sys/kernel/realtime")) -> Finding:
    """Real-time kernel and limits for a real arm; a warning where franka_ros2 is sourced.

    kernel: the file that libfranka inspects, too. Without a real-time kernel franka_ros2 only warns, and loses packets
    under load.
    """
    real_time = kernel.is_file() and kernel.read_text().strip() == "1"
    priority = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    allowed = priority == resource.RLIM_INFINITY or priority >= _PRIORITY
    text = (
        f"{'PREEMPT_RT' if real_time else 'no PREEMPT_RT'}, "
        f"real-time priority {'allowed' if allowed else f'up to {priority}'}"
    )
    details = {"preempt_rt": real_time, "priority_allowed": allowed}
    if real_time and allowed:
        return Finding("real time", "ok", text, "", details)
    if importlib.util.find_spec("franka_msgs") is None:
        return Finding("real time", "ok", f"{text}; matters for a real arm only", "", details)
    return Finding(
        "real time", "warning", text, "a real arm loses packets and stops: docs/franka.md, section 3", details
    )


def check_model() -> list[Finding]:
    """The endpoint of planner_node by real questions, what follows for each method, and the model for pictures."""
    settings, problem = _planner_settings()
    if problem:
        return [Finding("language model", "failed", problem, "mend the file")]
    seconds = MODEL_SECONDS + float(settings.get("timeout", 0.0))
    code, out, err = run_probe("planweave.cli.model_probe", seconds, stdin=json.dumps(settings))
    found: dict[str, Any] = {} if code else json.loads(out.strip().splitlines()[-1])
    error = found.get("error") or (_last(err) if code else "")
    methods = methods_for(None if error else found)
    details = {**found, "methods": {name: asdict(verdict) for name, verdict in methods.items()}}
    if error:
        slow = "the server or this machine is too busy: try again when it is not, or take a smaller model"
        advice = f"{slow if code == _TIMED_OUT else SET_ONE}; until then only classical works"
        return [Finding("language model", "warning", error, advice, details)]
    used = found["usage"]
    questions = [row for row in found["questions"] if row["state"] != "not asked"]
    asked = f"{len(questions)} questions, {used['requests']} requests, "
    asked += f"{used['prompt_tokens'] + used['completion_tokens']} tokens, {found['seconds']:.1f} s"
    lines = [
        f"{found['model'] or 'a model'} at {found['endpoint']}; {asked}",
        *found.get("notes", ()),
    ]
    told: set[str] = set()
    for name, verdict in methods.items():
        reason = "the same" if verdict.reason in told else verdict.reason
        lines.append(": ".join(filter(None, (name, verdict.text, reason))))
        told |= {verdict.reason} - {""}
    if reading := found.get("reading"):
        right = sum(row["state"] == "right" for row in reading)
        gets_none = (
            "the planner gives it none, so that only what the grammar reads is done (planner_node's reader: model)"
        )
        who = "it reads every sentence" if right == len(reading) else gets_none
        lines.append(f"sentences: {right} of {len(reading)} read rightly; {who}")
    good = all(verdict.state.startswith("works") for verdict in methods.values())
    advice = "" if good or not found["capabilities"]["only_steps"] else SET_ONE
    findings = [Finding("language model", "ok" if good else "warning", "\n".join(lines), advice, details)]
    for row in found["questions"]:
        if row["kind"] == "picture":
            findings.append(_of_pictures(row))
    return findings


def _of_pictures(row: dict[str, Any]) -> Finding:
    model = os.environ.get("PLANWEAVE_VISION_MODEL", "")
    text = {
        "right": f"{model} named a red thing: {row['text']}",
        "wrong": f"{model} named a red thing wrongly: {row['text']}",
    }
    good = row["state"] == "right"
    advice = "" if good else "set PLANWEAVE_VISION_MODEL to a model that takes pictures"
    return Finding("vision model", "ok" if good else "warning", text.get(row["state"], row["text"]), advice, row)


@dataclass(frozen=True)
class Verdict:
    """Whether a method works with a model. state: "works", "works without" (something), "wrong" (replies are read, and
    were not right) or "not"; text: the same in words; reason: why not.
    """

    state: str
    text: str
    reason: str = ""


def methods_for(found: dict[str, Any] | None) -> dict[str, Verdict]:
    """Verdict of a probe on each planning method, ours and installed ones; None: no model answers."""
    from planweave.methods import METHODS, asks_model

    if found is None:
        alone = Verdict("works without", "works, without goals that the grammar cannot read")
        return {n: Verdict("not", "not without a model") if asks_model(n) else alone for n in METHODS.working()}
    return {name: _verdict(name, found) for name in METHODS.working()}


def _verdict(name: str, found: dict[str, Any]) -> Verdict:
    from planweave.methods import METHODS
    from planweave.methods.running.options import options_of

    can, own = found["capabilities"], [row for row in found["questions"] if row["method"] == name]
    if can["only_steps"] and any(row["state"] == "right" for row in own):
        return Verdict("works without", "works for moves of one or two things on a table; classical plans all else")
    for row in own:
        if row["code"] == "no_model":
            return Verdict("not", "not", "the model is too weak for it, and is not asked")
        if row["state"] in ("failed", "unread", "not asked"):
            said = "the answer was not read: " if row["state"] == "unread" else ""
            return Verdict("not", f"not ({row['kind']})", f"{said}{row['text']}")
    if wrong := [f"{row['kind']}: {row['text'][:120]}" for row in own if row["state"] == "wrong"]:
        return Verdict("wrong", "answers, but not rightly", f"{'; '.join(wrong)}; take a more capable model")
    without = []
    goals = [*found.get("reading", ()), *(row for row in found["questions"] if row["kind"] == "goal")]
    if any(row["state"] != "right" for row in goals):
        without.append("goals that the grammar cannot read")
    asked = getattr(METHODS[name], "questions", None)
    if asked and "samples" in options_of(name):
        without += ["several replies at once (one request per sample, so more tokens)"] if can["n"] is False else []
        by = "match" if asked.propose else "number of samples"
        without += [f"log-probabilities (ranked by {by} alone)"] if can["logprobs"] is False else []
    if asked and (asked.sample or name == "iterative") and can["json_schema"] is False:
        without.append("replies by schema (read tolerantly)")
    if without:
        return Verdict("works without", f"works, without {', without '.join(without)}")
    return Verdict("works", "works" if own else "works, with a model for goals that the grammar cannot read")


def run_probe(
    module: str, seconds: float, environment: dict[str, str] | None = None, stdin: str = ""
) -> tuple[int, str, str]:
    """Exit code, output and errors of a probe; one that hangs is terminated and counts as failed."""
    settings = {**ros_environment(os.environ, Path(sys.prefix)), **(environment or {})}
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=stdin,
            capture_output=True,
            text=True,
            env=settings,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _TIMED_OUT, "", f"no answer in {seconds:g} s"
    died = f"ended by signal {-done.returncode}" if done.returncode < 0 else ""
    return done.returncode, done.stdout, done.stderr or died


def _planner_settings() -> tuple[dict[str, Any], str]:
    """The parameters of planner_node's file, or the error in it."""
    from planweave.launcher.systems import load_system, parameters_of

    try:
        node = next(node for node in load_system("tabletop").nodes if node.name == "planner_node")
        return parameters_of(node), ""
    except PlanweaveError as error:
        return {}, str(error)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no reason given"


def _show(finding: Finding) -> None:
    mark = {"ok": "✓", "warning": "!", "failed": "✗"}[finding.state]
    lines = finding.text.splitlines()
    print(f"{mark} {finding.name:<15} {lines[0]}", flush=True)
    for line in lines[1:]:
        print(f"  {'':<15} {line}")
    if finding.advice:
        print(f"  {'':<15} → {finding.advice}", flush=True)
