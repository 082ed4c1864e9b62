"""What the documents say about the repository: files that exist, the size of the examples, one version of ruff."""

import re
import runpy
from pathlib import Path

import pytest
import yaml

from planweave.launcher.environment import TOO_OLD
from planweave.methods import METHODS

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
ROOT = Path(__file__).resolve().parents[2]
DOCS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
    *sorted((ROOT / "integrations").glob("*/README.md")),
]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
DOORS = {f"planweave.{door}" for door in ("methods", "suites", "domains", "bodies", "skills", "detectors", "clients")}
#: Made while one works; NAME and such are places to fill in
MADE = {"build/", "install/", "out/", "out/docs/", "config/cameras/hand_eye.yaml"}
_PATH = re.compile(r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|yaml|json|txt|toml|xml|pddl|html|npz))?)`")
_MODULE = re.compile(r"`((?:planweave(?:_ros)?|benchmarks|\w+_node)/[a-z_/]*[a-z_])`")  # without .py
_ROW = re.compile(r"(?m)^\| \[`(\w+)`\]\(\.\./examples/\1/README\.md\) \| ((?:`[\w.]+`(?:, )?)+) \|")


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_names_files_and_folders_that_exist(document):
    text = document.read_text(encoding="utf-8")
    named = set(_PATH.findall(text)) - MADE
    places = [ROOT, document.parent]
    missing = {n for n in named if not re.search(r"\b[A-Z]{2,}\b", n) and not any((p / n).exists() for p in places)}
    missing |= {n for n in _MODULE.findall(text) if not any((ROOT / f"{n}{end}").exists() for end in ("", ".py"))}
    assert not missing


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_links_to_what_the_site_has(document):
    patterns = runpy.run_path(str(ROOT / "tools" / "build_docs.py"))["PAGES"]
    on_the_site = {path.resolve() for pattern in patterns for path in ROOT.glob(pattern)}
    targets = re.findall(r"\]\(([^)#:]+)[^):]*\)", document.read_text(encoding="utf-8"))
    assert not {t for t in targets if (document.parent / t).resolve() not in on_the_site}


def listings(document):
    """Folder and file of every line of a listing: a folder alone in a line, its files indented below it."""
    for language, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```", document.read_text(encoding="utf-8")):
        folder = None
        if language:
            continue
        for line in block.splitlines():
            heading, entry = re.match(r"([\w/]+/)(\s|$)", line), re.match(r"  (\w[\w.]*/?)\s", line)
            folder = heading.group(1) if heading else folder if line.startswith("  ") else None
            if folder:
                yield folder, entry.group(1) if entry else ""


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_named_without_their_folder_exist_where_they_are_said_to_be(document):
    missing = [f"{folder}{file}" for folder, file in listings(document) if not (ROOT / folder / file).exists()]
    text = document.read_text(encoding="utf-8")
    for folder, names in re.findall(r"`([\w/]+/)` \(((?:`\w+\.py`(?:, )?\s*)+)\)", text):
        missing += [
            f"{folder}{name}" for name in re.findall(r"`(\w+\.py)`", names) if not (ROOT / folder / name).exists()
        ]
    assert not missing


def test_the_listings_of_the_documents_are_found():
    assert {("planweave/bodies/home/", "graph.py"), ("virtualhome_node/", "node.py"), ("planweave/", "core/")} <= {
        row for document in DOCS for row in listings(document)
    }


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_names_modules_that_exist(document):
    named = set(re.findall(r"`(planweave(?:_ros)?(?:\.\w+)+)", document.read_text(encoding="utf-8"))) - {"planweave.sh"}
    missing = set()
    for name in named:
        parts = name.split(".")
        if name in DOORS | {"planweave.domains", "planweave.bodies", "planweave.robots"}:
            continue
        places = [ROOT.joinpath(*parts[:length]) for length in range(len(parts), 1, -1)]
        if not any(place.with_suffix(".py").is_file() or (place / "__init__.py").is_file() for place in places):
            missing.add(name)
    assert not missing


def entry_points(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]


def test_there_is_an_example_for_each_door():
    assert {group for folder in EXAMPLES for group in entry_points(folder)} >= DOORS


def test_the_table_of_examples_names_their_doors():
    rows = _ROW.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))
    for name, groups in rows:
        assert [f"`{group}`" for group in entry_points(ROOT / "examples" / name)] == groups.split(", "), name
    assert {name for name, _ in rows} == {folder.name for folder in EXAMPLES}


def test_examples_are_neither_collected_nor_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["test"]
    assert "examples" not in (ROOT / "setup.py").read_text()


def test_pre_commit_has_the_ruff_of_pyproject():
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert f"ruff=={repo['rev'].removeprefix('v')}" in project["project"]["optional-dependencies"]["dev"]


def test_a_bug_report_asks_for_the_doctor():
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text())
    (asked,) = [part for part in form["body"] if part.get("id") == "doctor"]
    assert "planweave doctor --json" in asked["attributes"]["label"] and asked["validations"]["required"]


def pages(nav):
    """Files that a navigation of MkDocs names; plain texts in it are those of plugins."""
    for entry in nav:
        for target in entry.values() if isinstance(entry, dict) else ():
            yield from pages(target) if isinstance(target, list) else [target]


def test_the_site_has_every_page():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    written = {path.relative_to(ROOT).as_posix() for path in DOCS}
    assert set(pages(site["nav"])) == written | {"CHANGELOG.md"}


def test_the_page_of_public_names_has_each_of_them():
    import planweave

    listed = re.findall(r"(?m)^::: planweave\.(\w+)$", (ROOT / "docs" / "api.md").read_text())
    assert sorted(listed) == sorted(planweave.__all__)


def test_the_workflow_tests_every_python_that_is_promised():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert jobs["pypi"]["strategy"]["matrix"]["python"] == promised
    oldest = re.search(r'python_requires=">=(3\.\d+)"', (ROOT / "setup.py").read_text())
    assert oldest and promised[0] == oldest.group(1)
    prepare = (ROOT / "tools" / "prepare.py").read_text()
    bounds = [re.search(rf"(?m)^{name} = \((\d+), (\d+)\)", prepare) for name in ("OLDEST", "NEWEST")]
    assert [".".join(bound.groups()) for bound in bounds] == [promised[0], promised[-1]]


def test_the_workflow_runs_targets_that_exist():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    targets = set(re.findall(r"(?m)^(\w+)(?: \w+)*:", (ROOT / "Makefile").read_text()))
    called = [
        target
        for job in jobs.values()
        for step in job["steps"]
        for target in re.findall(r"(?m)^make (\w+)", step.get("run", ""))
    ]
    assert {"lint", "docs", "wheel"} <= set(called) <= targets


def test_the_workflow_runs_on_every_distribution_that_is_promised():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    workspace = install.partition("## In a ROS 2 workspace")[2]
    distros = jobs["ros"]["strategy"]["matrix"]["distro"]
    assert distros == ["jazzy", "kilted", "lyrical"] and jobs["ros"]["container"] == "ros:${{ matrix.distro }}"
    assert all(distro.capitalize() in workspace for distro in distros) and not TOO_OLD.intersection(distros)
    system = jobs["system"]
    assert set(system["strategy"]["matrix"]["container"]) == {"debian:13", "ubuntu:26.04"}
    assert system["container"] == "${{ matrix.container }}"
    asked = re.search(r"sudo apt-get install (python3-venv [^`)]*)", readme)
    installed = next(step["run"] for step in system["steps"] if "apt-get install" in step.get("run", ""))
    assert asked and set(asked.group(1).split()) <= set(installed.split()), "what README.md asks for, and git"
    assert system["steps"][-1]["run"] == ".ci/run"


def test_what_paper_sets_stands_in_the_table_of_the_methods():
    """The table of docs/methods.md and the PAPER of each method say the same."""
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    table = text.partition("## As in the paper")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", table))
    for name, made in METHODS.items():
        told = dict(re.findall(r"`(\w+): ([^`]+)`", rows.get(name, "")))
        paper = getattr(made, "PAPER", {})  # packages of others need none
        assert told == {key: str(value).lower() for key, value in paper.items()}, name


def test_what_is_made_of_the_parameters_is_up_to_date():
    """Tables in the documents, and the comments in config/."""
    made = runpy.run_path(str(ROOT / "tools" / "parameters.py"))["pages"]()
    stale = [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    assert len(made) > 10 and not stale, "run: python tools/parameters.py"


@pytest.mark.parametrize(("name", "most"), [("docs/results.md", 300), ("CHANGELOG.md", 100)])
def test_a_page_that_grows_by_itself_stays_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def test_no_further_call_lies_between_a_task_and_the_motors():
    """test/ros/test_executor_node.py holds the table against the calls."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = page.split("## From a task to the motors")[1].split("\n## ")[0]
    assert 0 < len(re.findall(r"(?m)^\| \d+ \| `", section)) <= 25
