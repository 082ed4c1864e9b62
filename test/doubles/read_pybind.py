"""Reads what moveit_py offers out of MoveIt's pybind11 sources: `python test/doubles/read_pybind.py MOVEIT2 COMMIT`.

MOVEIT2 is a checkout of github.com/moveit/moveit2. Prints test/doubles/moveit_api.yaml: by module and class, each
property (those that can be set first) and, for each overload of a method, its argument names; a name with "?" may be
left out, "*" stands for a positional one without a name. The class's own object is not among them.
"""

import re
import subprocess
import sys
from pathlib import Path

SOURCES = "moveit_py/src/moveit"
MODULES = {
    "moveit.planning": [
        "moveit_ros/moveit_cpp/moveit_cpp.cpp",
        "moveit_ros/moveit_cpp/planning_component.cpp",
        "moveit_ros/planning_scene_monitor/planning_scene_monitor.cpp",
        "moveit_ros/trajectory_execution_manager/trajectory_execution_manager.cpp",
    ],
    "moveit.core.collision_detection": ["moveit_core/collision_detection/collision_matrix.cpp"],
    "moveit.core.controller_manager": ["moveit_core/controller_manager/controller_manager.cpp"],
    "moveit.core.planning_interface": ["moveit_core/planning_interface/planning_response.cpp"],
    "moveit.core.planning_scene": ["moveit_core/planning_scene/planning_scene.cpp"],
    "moveit.core.robot_state": ["moveit_core/robot_state/robot_state.cpp"],
    "moveit.core.robot_trajectory": ["moveit_core/robot_trajectory/robot_trajectory.cpp"],
}


def balanced(text, at):
    """The text between the bracket that opens at `at` and the one that closes it."""
    depth, start = 0, at
    while True:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
        at += 1


def classes(text):
    """Name, properties and methods of each class bound in one source file."""
    text = re.sub(r'R"\(.*?\)"', '""', text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    pieces = re.split(r"py::class_<", text)[1:]
    for piece in pieces:
        name = re.search(r'>\s*\(\s*\w+,\s*"(\w+)"', piece).group(1)
        writable, fixed, methods = [], [], {}
        for found in re.finditer(r"\.(def\w*)\(", piece):
            body = balanced(piece, found.end() - 1)
            if found.group(1) == "def":
                named = re.match(r'\s*"(\w+)"', body)
                method = named.group(1) if named else "__init__"
                methods.setdefault(method, []).append(arguments(body))
            else:
                kept = "readonly" in found.group(1) or re.search(r",\s*nullptr", body)
                (fixed if kept else writable).append(re.match(r'\s*"(\w+)"', body).group(1))
        yield name, sorted(writable), sorted(fixed), methods


def arguments(body):
    """Argument names of one overload."""
    names = [name + ("?" if default else "") for name, default in re.findall(r'py::arg\("(\w+)"\)(\s*=)?', body)]
    if names or not body.lstrip().startswith("py::init"):
        return names
    types = re.match(r"\s*py::init<(.*)>\(", body)
    if types:
        return ["*"] * (1 + len(re.findall(r",(?![^<]*>)", types.group(1)))) if types.group(1) else []
    parameters = balanced(body, body.index("(", body.index("[]")))
    return ["*"] * (1 + len(re.findall(r",(?![^<]*>)", parameters))) if parameters.strip() else []


def main(checkout, commit):
    """Print the file."""

    def show(path):
        return subprocess.run(
            ["git", "-C", checkout, "show", f"{commit}:{path}"], capture_output=True, text=True, check=True
        ).stdout

    version = re.search(r"<version>(.*?)</version>", show("moveit_py/package.xml")).group(1)
    print(f"# moveit_py {version}, moveit2 at {commit}; made by {Path(__file__).name}")
    for module, files in MODULES.items():
        print(f"{module}:")
        for file in files:
            for name, writable, fixed, methods in classes(show(f"{SOURCES}/{file}")):
                print(f"  {name}:\n    writable: [{', '.join(writable)}]\n    fixed: [{', '.join(fixed)}]")
                print("    methods:")
                for method, overloads in methods.items():
                    listed = ", ".join("[" + ", ".join(f'"{a}"' for a in o) + "]" for o in overloads)
                    print(f"      {method}: [{listed}]")


if __name__ == "__main__":
    main(*sys.argv[1:])
