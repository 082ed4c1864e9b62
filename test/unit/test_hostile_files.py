"""Broken and hostile files: every one is a ConfigError that names the file, and is refused soon."""

import random
import shutil
import time

import pytest
import yaml

from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.home.graph import load_graph
from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.paths import config_dir
from planweave.core.base.yaml_files import parse_yaml, read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.robots.camera_file import load_camera
from planweave.simulation.scene import load_scene

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi")
)
READERS = {
    "workspaces/tabletop.yaml": load_workspace,
    "scenes/blocks.yaml": load_scene,
    "cameras/overhead.yaml": load_camera,
    "domains/tabletop.pddl": Domain.load,
    "domains/tabletop.yaml": lambda path: Domain.load(path[:-4] + "pddl"),
}


def read(tmp_path, name, text, number=0):
    """Read a file of this content as the file `name` is read; the beside files of a domain are as they were."""
    folder = tmp_path / f"{number}"
    folder.mkdir()
    kind, file = name.split("/")
    if kind == "domains":
        for suffix in (".pddl", ".yaml"):
            shutil.copy(config_dir() / "domains" / f"tabletop{suffix}", folder)
    path = folder / file
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return READERS[name](str(path))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 2000,
        BOMB,
        b"\xff\xfe\x00",
        "a: !!python/object:os.system x",
        "? [a, b]\n: 1\n",
        "a: 2024-99-99",
        "a: " + "9" * 5000,
        "x" * 3_000_000,
        "- " * 5000,
        "(" * 100_000,
        "\x00",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_a_hostile_file_is_refused_soon(tmp_path, name, text):
    begin = time.process_time()
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, name, text)
    assert name.split("/")[1].split(".")[0] in str(refused.value)
    assert time.process_time() - begin < 5.0


ODD = [
    "[]",
    "{}",
    "null",
    "-1",
    "1e400",
    "nan",
    "'x y'",
    "[1, 2]",
    "{a: 1}",
    "!!int x",
    "*a",
    "&a 1",
    "\t",
    "?",
    ":",
    "(",
    ")",
    "9" * 400,
    "true",
    "~",
    "\ud800",
    "\x00",
    "- ",
    "2024-99-99",
    "''",
]


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("workspaces/tabletop.yaml", 150),
        ("scenes/blocks.yaml", 200),
        ("cameras/overhead.yaml", 100),
        ("domains/tabletop.pddl", 25),
        ("domains/tabletop.yaml", 25),
    ],
)
def test_mutated_files_are_read_or_refused(tmp_path, name, times):
    chance, good = random.Random(name), (config_dir() / name).read_text()
    for number in range(times):
        words = good.split(" ")
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(words))
            words[at : at + chance.randint(0, 3)] = [chance.choice(ODD)] * chance.randint(0, 2)
        text = " ".join(words)
        try:
            read(tmp_path, name, text, number)
        except ConfigError as error:
            assert "tabletop" in str(error) or "blocks" in str(error) or "overhead" in str(error), str(error)


@pytest.mark.parametrize(
    "name",
    ["x" * 300, "x" * 300 + ".yaml", "x" * 300 + ".json", "../" * 200, "a\x00b", "a\nb", "", ".", "/", "/dev/zero"],
)
def test_a_name_that_no_file_can_have_is_unknown(name):
    for load in (load_scene, load_workspace, load_camera, load_graph, Domain.load):
        with pytest.raises(PlanweaveError) as error:
            load(name)
        assert isinstance(error.value, (UnknownNameError, ConfigError)) and len(str(error.value)) < 2500


@pytest.mark.parametrize("name", [name for name in READERS if not name.startswith("domains/")])
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path, name):
    """As editors of other systems write it, also where the file has no comment first."""
    text = (config_dir() / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith(("#", ";"))]
    assert read(tmp_path, name, b"\xef\xbb\xbf" + "".join(lines).encode())


def test_few_aliases_are_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: &a [1, 2]\nb: *a\n")
    assert read_yaml(path) == {"a": [1, 2], "b": [1, 2]}


def test_values_are_those_of_yaml():
    text = (
        "a: [1, -2.5e3, .inf, null, yes, 'yes', 2026-11-29]\nb: &b {c: two words, d: \"\\u00e9\"}\n"
        "e: é  # a comment\nf: *b\ng: |\n  two\n  lines\n"
    )
    assert parse_yaml(text, "text") == yaml.safe_load(text)
    assert parse_yaml("[8e-06, 1E3, -2e+1, 1e, e1, 1e-x]", "text") == [8e-06, 1e3, -20.0, "1e", "e1", "1e-x"]
