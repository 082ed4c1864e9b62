"""Write docs/messages.md: every message of an error or a failed action with its code and where it is made.

python tools/messages.py
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "messages.md"
FOLDERS = (
    "planweave",
    "planweave_ros",
    "body_node",
    "executor_node",
    "feedback_node",
    "libero_node",
    "perception_node",
    "planner_node",
    "simulation_node",
    "virtualhome_node",
    "web_node",
)
_HEAD = """# Messages

Every message of an error, a failed action or the end of a task, and every question to a person, in one table, to be
searched for what was said: `…` stands for what differs, and a message often quotes another. The code tells its kind
([codes.md](codes.md); in capitals: [failure codes](codes.md#table); `message` of a task that goes on or failed; `part`:
why something is not so, within other messages), the last column the module and function that make it.
`planweave/tasks` and `planweave/methods` run in feedback_node, `planweave/bodies/arm` in executor_node,
`planweave/bodies/home` in virtualhome_node, `planweave/goals` and `planweave/llm` in planner_node. Left out: log lines,
and texts of other functions that a message is made of. Made by `python tools/messages.py`; a test compares it, so that
no text changes unseen. What to do on a Franka: [franka.md](franka.md#messages).

| message | code | made in |
|---|---|---|
"""
_LONGEST = 160
_FEW = 3  # words that a part has at most that is left out
_SAID = (
    *("planweave/bodies/arm", "planweave/core/workflow", "planweave/launcher", "planweave/tasks", "planweave_ros"),
    "executor_node",
)
"""Where all that functions of texts say may be part of a message."""
_WHY = ("problem", "fault", "why", "whereabouts", "conflict", "refus", "no_detections", "no_fresh_look")


class Message(NamedTuple):
    """A text with … for what differs, its code, and where it is made."""

    text: str
    code: str
    place: str


def messages() -> list[Message]:
    """All of them, sorted by their texts."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    codes = _codes(item for tree in trees.values() for item in tree.body if isinstance(item, ast.ClassDef))
    named = {
        target.id: _text(item.value)
        for tree in trees.values()
        for item in tree.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    found = set()
    for path, tree in trees.items():
        place = path.relative_to(ROOT).with_suffix("").as_posix()
        found |= {
            Message(text, "part", f"`{place}` {function}") for function, text in _parts(tree, place.startswith(_SAID))
        }
        for call, function, kind in _calls(tree, None, None):
            for text, code in _made(call, function, kind, codes, named):
                found.add(Message(_shortened(text), code, f"`{place}` {function.name if function else ''}".strip()))
    return sorted(found, key=lambda m: (m.text.lstrip("… ").lower(), m))


def _codes(classes: Iterator[ast.ClassDef]) -> dict[str, str]:
    """Codes of the classes of errors by their names, inherited ones as well."""
    own: dict[str, str] = {}
    bases: dict[str, str] = {}
    for item in classes:
        bases[item.name] = next((b.id for b in item.bases if isinstance(b, ast.Name)), "")
        for line in item.body:
            target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
            value = getattr(line, "value", None)
            if isinstance(target, ast.Name) and target.id == "code" and isinstance(value, ast.Constant):
                own[item.name] = str(value.value)
    found = {}
    for name in bases:
        above = name
        while above and above not in own:
            above = bases.get(above, "")
        if above:
            found[name] = own[above]
    return found


def _calls(
    node: ast.AST, function: ast.FunctionDef | None, kind: ast.ClassDef | None
) -> Iterator[tuple[ast.Call, ast.FunctionDef | None, ast.ClassDef | None]]:
    """Calls with the function and the class that they stand in."""
    for child in ast.iter_child_nodes(node):
        inner = child if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call):
            yield child, inner, kind
        yield from _calls(child, inner, child if isinstance(child, ast.ClassDef) else kind)


def _values(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What a function assigns to a variable."""
    for line in (node for node in ast.walk(function) if isinstance(node, ast.Assign)):
        for target in line.targets:
            pairs = [(target, line.value)]
            if isinstance(target, ast.Tuple) and isinstance(line.value, ast.Tuple):
                pairs = list(zip(target.elts, line.value.elts))
            yield from (value for each, value in pairs if isinstance(each, ast.Name) and each.id == name)


def _parts(tree: ast.Module, said: bool) -> Iterator[tuple[str, str]]:
    """What functions say that tell why something is not so, with their names: parts of messages made elsewhere; said:
    what all functions do.
    """
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if getattr(function.returns, "id", "") != "str" or (not said and not any(w in function.name for w in _WHY)):
            continue
        for end in (node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None):
            for text in _texts(end.value):
                if len(text.split()) > _FEW:
                    yield function.name, _shortened(text)


def _texts(node: ast.AST | None) -> Iterator[str]:
    """The literal texts in an expression."""
    if isinstance(node, (ast.JoinedStr, ast.Constant)):
        yield _text(node)
        return
    for child in ast.iter_child_nodes(node) if node is not None else ():
        yield from _texts(child)


def _made(
    call: ast.Call,
    function: ast.FunctionDef | None,
    kind: ast.ClassDef | None,
    codes: dict[str, str],
    named: dict[str, str],
) -> Iterator[tuple[str, str]]:
    """Texts and code of a call that makes an error, a failed outcome or a question. function, kind: where it stands;
    named: texts of constants.
    """
    name = made = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if kind is not None and ast.unparse(call.func) == "super().__init__":
        name, made = kind.name, ast.unparse(kind.bases[0]) if kind.bases else ""
    if len(call.args) > 1 and (code := _failure(call.args[0])):
        said = call.args[1]
    elif call.args and name in codes:
        code, said = codes[name], call.args[0]
    elif name == "refused" and len(call.args) > 2:
        code, said = getattr(call.args[2], "value", "message"), call.args[1]
    elif name == "UserQuestion" and call.args:
        code, said = "ambiguous", call.args[0]
    elif name == "tell" and (told := [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "message")]):
        code, said = "message", told[0]
    elif name == "end" and len(call.args) > 2:
        code, said = _end_code(call.args), call.args[2]
    else:
        return
    text = f"unknown {_text(said, named)} '…'" if made == "UnknownNameError" else _text(said, named)
    if any(map(str.isalpha, text)):
        yield text, code
    else:
        values = list(_values(function, said.id)) if function and isinstance(said, ast.Name) else [said]
        texts = (each for value in values for each in _texts(value))
        yield from ((each, code) for each in texts if len(each.split()) > _FEW and any(map(str.isalpha, each)))


def _shortened(text: str) -> str:
    """The text in one line, as long as a row may be."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _end_code(args: Sequence[ast.expr]) -> str:
    """The code of the end of a task, or its state."""
    if len(args) > 3 and isinstance(args[3], ast.Constant):
        return str(args[3].value)
    return args[1].attr if isinstance(args[1], ast.Attribute) else "message"


def _failure(arg: ast.expr) -> str:
    if isinstance(arg, ast.Attribute) and isinstance(arg.value, ast.Name) and arg.value.id == "Code":
        return arg.attr
    return ""


def _text(arg: ast.expr, named: Mapping[str, str] = MappingProxyType({})) -> str:
    """A literal text, or that of a constant, with … for what is put into it, and for what is neither."""
    if isinstance(arg, ast.Name):
        return named.get(arg.id, "…")
    if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
        return arg.value
    if isinstance(arg, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in arg.values)
    if isinstance(arg, ast.BinOp) and isinstance(arg.op, ast.Add):
        return _text(arg.left, named) + _text(arg.right, named)
    return "…"


def page() -> str:
    rows = (f"| {m.text.replace('|', chr(92) + '|')} | `{m.code}` | {m.place} |\n" for m in messages())
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
