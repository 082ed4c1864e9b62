"""The SROS 2 policies of a system in a namespace, against those of the root."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("rclpy")
ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "config" / "sros2" / "policies.xml"


def tool(*arguments):
    return subprocess.run(
        [sys.executable, "tools/policies.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names(text):
    """Fully qualified names by node and by what is done with them, as sros2's permissions.xsl resolves them."""
    found = {}
    for profile in ElementTree.fromstring(text.encode()).iter("profile"):
        for group in profile:
            inside, (way,) = profile.get("ns").rstrip("/"), group.attrib
            found[profile.get("node"), group.tag, way] = {
                e.text if e.text.startswith("/") else f"{inside}/{e.text}" for e in group
            }
    return found


def test_policies_of_a_namespace_hold_its_names_and_what_is_absolute():
    done = tool("--namespace", "/left")
    assert done.returncode == 0, done.stderr
    enclaves = [e.get("path") for e in ElementTree.fromstring(done.stdout.encode()).iter("enclave")]
    assert "/planweave/left/executor_node" in enclaves and all(p.startswith("/planweave/left/") for p in enclaves)
    root, left = names(FILE.read_text()), names(done.stdout)
    assert root.keys() == left.keys()
    outside = {"/diagnostics", "/rosout", "/parameter_events"}
    for what, allowed in root.items():
        clock = {"/clock"} & allowed
        assert left[what] == {n if n in outside else f"/left{n}" for n in allowed} | clock, what
    assert "/left/executor/recover" in left["executor_node", "services", "reply"]


def test_what_cannot_be_a_namespace_is_refused():
    done = tool("--namespace", "left arm")
    assert done.returncode == 2 and "expected letters, digits and _" in done.stderr and not done.stdout


def test_the_file_is_as_the_tool_writes_it_and_has_every_node():
    """Order and form: what was edited by hand would change when the tool writes the file anew."""
    from planweave.launcher.systems import load_system, system_names, with_page
    from planweave_ros.graph import policies, read_policies

    text = FILE.read_text()
    found = read_policies(text)
    assert policies(found) == text
    systems = [with_page(load_system(name)) for name in system_names()]
    assert {node.name for system in systems for node in system.nodes} <= found.keys()
