"""Package `planweave`: an ament_python package for colcon and an ordinary one for pip."""

import ast
import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

HERE = Path(__file__).resolve().parent
ROOMS = [
    "planweave",
    "planweave_ros",
    "planner_node",
    "feedback_node",
    "perception_node",
    "executor_node",
    "simulation_node",
    "virtualhome_node",
    "body_node",
    "web_node",
    "libero_node",
]


def built_in_skills() -> tuple[str, ...]:
    """BUILT_IN of planweave/bodies/arm/skills/planned.py, which cannot be imported before it is installed."""
    tree = ast.parse((HERE / "planweave" / "bodies" / "arm" / "skills" / "planned.py").read_text(encoding="utf-8"))
    named = (n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "BUILT_IN")
    return tuple(ast.literal_eval(next(named).value))


METHODS = {
    "tree_planner": "TreePlanner",
    "progprompt": "ProgPrompt",
    "brainbody": "BrainBody",
    "blocking": "Blocking",
    "scene_aware": "SceneAware",
    "zero_shot": "ZeroShot",
    "iterative": "Iterative",
    "base_llm": "BaseLLM",
    "lang_prompt": "LangPrompt",
    "classical": "Classical",
}
#: Our own parts, through the same entry points as those of other packages (docs/extending.md).
DOORS = {
    "methods": {name: f"planweave.methods.{name}:{cls}" for name, cls in METHODS.items()},
    "suites": {
        "home": "planweave.bench.suites.home:HomeSuite",
        "eai": "planweave.bench.suites.eai:EaiSuite",
        "faults": "planweave.bench.suites.faulty:FaultSuite",
        "libero": "planweave.bench.suites.libero:LiberoSuite",
        "tabletop": "planweave_ros.tabletop_suite:TabletopSuite",
    },
    "bodies": {
        "home": "planweave.bodies.home.port:HomeBody",
        "ros": "planweave_ros.robot:Robot",
    },
    "skills": {
        **{name: f"planweave.bodies.arm.skills.planned:{name}" for name in built_in_skills()},
        "policy": "planweave.bodies.arm.policy.skill:PolicySkill",
        "person": "planweave.bodies.arm.skills.person:AskPerson",
    },
    "detectors": {
        "attributes": "planweave.perception.detectors.attributes:by_attributes",
        "region_head": "planweave.perception.detectors.by_head:ByHead",
        "vlm": "planweave.perception.detectors.vlm:Vlm",
        "vild": "planweave.perception.detectors.vild:Vild",
        "owlv2": "planweave.perception.detectors.owlv2:Owlv2",
        "grounding_dino": "planweave.perception.detectors.grounding_dino:GroundingDino",
    },
    "clients": {
        "openai": "planweave.llm.clients.openai_client:from_environment",
        "embedded": "planweave.llm.clients.embedded:from_environment",
        "replay": "planweave.llm.clients.recording:from_settings",
        "none": "planweave.llm.clients.none:from_settings",
    },
}


def share_files(folder: str) -> list[tuple[str, list[str]]]:
    """Every file below ``folder``, grouped by the share folder that it is installed to."""
    groups: dict[str, list[str]] = {}
    for path in sorted((HERE / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            where = path.relative_to(HERE)
            groups.setdefault(f"share/planweave/{where.parent.as_posix()}", []).append(where.as_posix())
    return list(groups.items())


# Folders of data alone count as packages, too: else setuptools warns of each for a screen
packages = find_namespace_packages(include=ROOMS + [f"{room}.*" for room in ROOMS], exclude=["*.__pycache__"])
nodes = [room for room in ROOMS if room.endswith("_node") and (HERE / room / "node.py").is_file()]
version = re.search(r'__version__ = "(.+?)"', (HERE / "planweave" / "__init__.py").read_text())

setup(
    name="planweave",
    python_requires=">=3.10",
    version=version.group(1) if version else "0",
    packages=packages,
    package_dir={"": "."},
    package_data={"": ["py.typed", "*.html", "*.npz", "*.txt", "*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/planweave"]),
        ("share/planweave", ["package.xml"]),
        *share_files("config"),
        *share_files("launch"),
    ],
    # `colcon test` runs pytest where it stands here, and runs nothing else; the same as in pyproject.toml, which it
    # cannot read.
    extras_require={"test": ["hypothesis>=6.100,<7", "pytest>=8,<10", "pytest-timeout>=2.3,<3"]},
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "planweave = planweave.cli.main:main",
            *(f"{node} = planweave_ros.node_main:main" for node in nodes),
        ],
        **{f"planweave.{door}": [f"{name} = {part}" for name, part in parts.items()] for door, parts in DOORS.items()},
    },
)
