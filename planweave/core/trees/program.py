"""Programs in ProgPrompt's format, parsed into a small syntax tree; nothing is ever evaluated.

ProgPrompt (Singh et al., ICRA 2023), Section III. Both forms of an assertion are accepted: the paper's, which is not
Python (``assert('close' to 'mug')`` with ``else: find('mug')`` lines), and Python's (``assert close('mug')``).
"""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

from planweave.core.base.errors import ParseError

MAX_CHARACTERS = 100_000
MAX_STATEMENTS = 1_000
MAX_ITERATIONS = 100
MAX_DEPTH = 20
MAX_LINE = 1_000  # characters
MAX_NAME = 100
MAX_CONDITION = 300
"""Characters of a condition."""
RELATIONS = (
    "next to",
    "close to",
    "left of",
    "right of",
    "on top of",
    "in front of",
    "inside of",
    "out of",
    "part of",
    "to",
    "in",
    "is",
    "on",
    "at",
    "near",
    "inside",
    "with",
    "by",
    "beside",
    "under",
    "above",
    "below",
    "behind",
    "between",
)
"""Words between the two sides of a condition, the longer ones first; before them may stand is, not or is not."""
RELATION = rf"(?:is\s+not\s+|is\s+|not\s+)?(?:{'|'.join(r.replace(' ', chr(92) + 's+') for r in RELATIONS)})|is\s+not"
_ASSERT = re.compile(
    rf"""assert\s*\(?\s*(['"]?)([^'"]{{1,80}}?)\1\s+({RELATION})\s+(['"]?)([^'"]{{1,80}}?)\4\s*\)?\s*$"""
)
_STATED = re.compile(r"assert\b\s*(.*)")
_SIDE_BY_SIDE = re.compile(r"""['"]\s+['"]""")  # texts that Python would join to one
_HEAD = re.compile(r"\s*(?:async\s+)?def\s")
_UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


@dataclass(frozen=True, slots=True)
class Call:
    """An action with its arguments as texts; line counts from 1."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class ProgramCondition:
    """A condition: the two words and "to" of ``'close' to 'mug'``, or a predicate and its arguments without a relation.

    text: the condition as written, where it has no such form; then only a model can evaluate it.
    """

    words: tuple[str, ...]
    relation: str = ""
    negated: bool = False
    text: str = ""

    def __str__(self) -> str:
        if self.text:
            return self.text
        first, *rest = self.words
        text = f"'{first}' {self.relation} '{rest[0]}'" if self.relation else f"{first}({', '.join(rest)})"
        return f"not {text}" if self.negated else text


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition; where it does not hold, the calls of recovery are executed in order."""

    condition: ProgramCondition
    recovery: tuple[Call, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Branch:
    """``if condition: … else: …``."""

    condition: ProgramCondition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own: the sub-goal of the following lines."""

    text: str
    line: int


Statement = Call | Assertion | Branch | Comment


@dataclass(frozen=True, slots=True)
class Program:
    """A plan function. objects: its list of objects (tabletop), where it has one."""

    name: str
    body: tuple[Statement, ...]
    objects: tuple[str, ...] = ()


def read_program(text: str, actions: Mapping[str, int]) -> Program:
    """Read the first function of a reply. actions: name -> number of arguments, of all that may be called.

    Raises ParseError that names the line for whatever is not a call of an action, an assertion, a condition, a loop
    over at most 100 items, or an assignment of texts. A condition of unknown form is kept as text.
    """
    if len(text) > MAX_CHARACTERS:
        raise ParseError(f"the program has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    lines = _function_lines(text)
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise ParseError(f"line {number} has {len(line)} characters; at most {MAX_LINE} are read")
        depth = sum(line.count(c) for c in "([{")
        if depth > MAX_DEPTH:
            raise ParseError(f"line {number}: more than {MAX_DEPTH} brackets")
        if (len(line) - len(line.lstrip())) > 8 * MAX_DEPTH:
            raise ParseError(f"line {number}: nested more than {MAX_DEPTH} deep")
    rewritten = _rewrite(lines)
    try:
        tree = _parsed("\n".join(rewritten))
    except _UNREADABLE as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ParseError(f"{where}{reason}") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise ParseError("line 1: no function; expected def <task>(): and indented calls")
    comments = [(n, line.strip().lstrip("# \t")) for n, line in enumerate(lines, 1) if line.lstrip().startswith("#")]
    converter = _ProgramConverter(actions, comments)
    body = converter.block(functions[0].body, {}, 0)
    return Program(functions[0].name, body, converter.objects)


def _function_lines(text: str) -> list[str]:
    """The lines of the first function, without code fences, prose before it and what follows it."""
    lines = [line.rstrip().expandtabs(4) for line in text.replace("\r\n", "\n").split("\n")]
    lines = [line for line in lines if not line.strip().startswith("```")]
    start = next((i for i, line in enumerate(lines) if _HEAD.match(line)), None)
    if start is None:
        if not any(line.strip() for line in lines):
            raise ParseError("line 1: the reply is empty; expected def <task>(): and indented calls")
        return lines
    margin = len(lines[start]) - len(lines[start].lstrip())
    kept = [lines[start][margin:]]
    for line in lines[start + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= margin:
            break
        kept.append(line[margin:])
    return kept


def _rewrite(lines: list[str]) -> list[str]:
    """The paper's assertions as Python: ``__assert__(…)`` and ``if __otherwise__:``; line numbers stay."""
    result: list[str] = []
    after_assert: dict[int, bool] = {}  # indentation -> the last statement there was an assertion or its else
    for line in lines:
        body = line.lstrip()
        indent = len(line) - len(body)
        if not body or body.startswith("#"):
            result.append(line)
            continue
        after_assert = {i: v for i, v in after_assert.items() if i <= indent}
        said = " ".join(body.split("#")[0].split())
        match = _ASSERT.match(said)
        if match:
            left, relation, right = match.group(2).strip(), match.group(3), match.group(5).strip()
            line = " " * indent + f"__assert__({left!r}, {relation!r}, {right!r})"
            after_assert[indent] = True
        elif stated := _STATED.match(said):
            if not _is_python(body) or _SIDE_BY_SIDE.search(said):
                line = " " * indent + f"__assert__({_unbracketed(stated.group(1))!r})"
            after_assert[indent] = True
        elif body.startswith("else") and after_assert.get(indent):
            line = " " * indent + "if __otherwise__" + body[4:]
        else:
            after_assert[indent] = False
        result.append(line)
    return result


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():  # of what a model wrote nobody at the terminal wants to hear
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _is_python(statement: str) -> bool:
    with contextlib.suppress(*_UNREADABLE):
        return bool(_parsed(statement))
    return False


def _unbracketed(text: str) -> str:
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


class _ProgramConverter:
    """Turns Python's tree into ours; loops are unrolled, names of texts replaced by the texts."""

    def __init__(self, actions: Mapping[str, int], comments: list[tuple[int, str]]):
        self.actions, self.comments = actions, comments
        self.told = 0  # comments that have been told
        self.objects: tuple[str, ...] = ()
        self.count = 0

    def block(self, nodes: list[ast.stmt], names: dict[str, str], depth: int) -> tuple[Statement, ...]:
        if depth > MAX_DEPTH:
            raise ParseError(f"line {nodes[0].lineno}: nested more than {MAX_DEPTH} deep")
        result: list[Statement] = []
        for node in nodes:
            self._comments_before(node.lineno, result)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "__otherwise__":
                self._recovery(node, names, result)
            else:
                result.extend(self._statement(node, names, depth))
            self._counted(node.lineno, 1)
        return tuple(result)

    def _counted(self, line: int, statements: int) -> None:
        self.count += statements
        if self.count > MAX_STATEMENTS:
            raise ParseError(f"line {line}: more than {MAX_STATEMENTS} statements")

    def _comments_before(self, line: int, result: list[Statement]) -> None:
        while self.told < len(self.comments) and self.comments[self.told][0] < line:
            number, text = self.comments[self.told]
            result.append(Comment(text, number))
            self.told += 1

    def _recovery(self, node: ast.If, names: dict[str, str], result: list[Statement]) -> None:
        last = result[-1] if result else None
        if not isinstance(last, Assertion):
            raise ParseError(f"line {node.lineno}: else without an assertion before it")
        self._counted(node.lineno, len(node.body))
        calls = tuple(self._call(self._expression(n), names) for n in node.body if not isinstance(n, ast.Pass))
        result[-1] = Assertion(last.condition, last.recovery + calls, last.line)

    @staticmethod
    def _expression(node: ast.stmt) -> ast.expr:
        if isinstance(node, ast.Expr):
            return node.value
        raise ParseError(f"line {node.lineno}: a recovery may only call actions")

    def _statement(self, node: ast.stmt, names: dict[str, str], depth: int) -> tuple[Statement, ...]:
        if isinstance(node, ast.Expr):
            value = node.value
            if isinstance(value, ast.Constant):  # a docstring
                return ()
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "__assert__":
                if len(value.args) == 1 and isinstance(value.args[0], ast.Constant):
                    return (Assertion(self._as_written(str(value.args[0].value), names, node.lineno), (), node.lineno),)
                left, relation, right = (self._text(a, names) for a in value.args)
                return (Assertion(_condition(left, relation, right), (), node.lineno),)
            return (self._call(value, names),)
        if isinstance(node, ast.Assert):
            return (Assertion(self._condition(node.test, names), (), node.lineno),)
        if isinstance(node, ast.If):
            condition = self._condition(node.test, names)
            then = self.block(node.body, dict(names), depth + 1)
            return (Branch(condition, then, self.block(node.orelse, dict(names), depth + 1), node.lineno),)
        if isinstance(node, ast.For):
            return self._loop(node, names, depth)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, (ast.List, ast.Tuple)):
                items = tuple(self._text(e, names) for e in node.value.elts)
                self.objects = items if node.targets[0].id == "objects" else self.objects
                names[node.targets[0].id] = "\n".join(items)
            else:
                names[node.targets[0].id] = self._text(node.value, names)
            return ()
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Return) and node.value is None):
            return ()
        kind = type(node).__name__.lower()
        raise ParseError(
            f"line {node.lineno}: {kind} is not allowed; only calls of actions, assert, if, and for over a list"
        )

    def _loop(self, node: ast.For, names: dict[str, str], depth: int) -> tuple[Statement, ...]:
        if not isinstance(node.target, ast.Name) or node.orelse:
            raise ParseError(f"line {node.lineno}: a loop must have the form for name in [...]")
        items = self._items(node.iter, names)
        if len(items) > MAX_ITERATIONS:
            raise ParseError(f"line {node.lineno}: a loop over {len(items)} items; at most {MAX_ITERATIONS}")
        result: list[Statement] = []
        for item in items:
            result.extend(self.block(node.body, {**names, node.target.id: item}, depth + 1))
        return tuple(result)

    def _items(self, node: ast.expr, names: dict[str, str]) -> list[str]:
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._text(e, names) for e in node.elts]
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id].split("\n")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            bounds = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
            if len(bounds) == len(node.args) in (1, 2) and max(bounds) - min([0, *bounds]) <= MAX_ITERATIONS:
                return [str(i) for i in range(*bounds)]
            raise ParseError(f"line {node.lineno}: range needs whole numbers and at most {MAX_ITERATIONS} turns")
        raise ParseError(f"line {node.lineno}: a loop must go over a list of texts or a range")

    def _call(self, node: ast.expr, names: dict[str, str]) -> Call:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            example = next(iter(self.actions), "grasp")
            raise ParseError(f"line {node.lineno}: expected a call of an action, e.g. {example}(…)")
        name = node.func.id
        if name not in self.actions:
            raise ParseError(f"line {node.lineno}: unknown action {name!r} (known: {', '.join(sorted(self.actions))})")
        if node.keywords or len(node.args) != self.actions[name]:
            raise ParseError(f"line {node.lineno}: {name} takes {self.actions[name]} argument(s) by position")
        return Call(name, tuple(self._text(a, names) for a in node.args), node.lineno)

    def _text(self, node: ast.expr, names: dict[str, str]) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= MAX_NAME:
            return node.value
        if isinstance(node, ast.Name):
            text = names.get(node.id, node.id)  # find(salmon), as in the paper's text, means find('salmon')
            if len(text) <= MAX_NAME and "\n" not in text:
                return text
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            items = names.get(node.value.id, "").split("\n")
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(index, int) and -len(items) <= index < len(items):
                return items[index]
        raise ParseError(f"line {node.lineno}: expected the name of an object as a text")

    def _condition(self, node: ast.expr, names: dict[str, str]) -> ProgramCondition:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._condition(node.operand, names)
            if not inner.text:
                return replace(inner, negated=not inner.negated)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return ProgramCondition((node.func.id, *(self._text(a, names) for a in node.args)))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            relation = {
                ast.In: "in",
                ast.Is: "is",
                ast.Eq: "is",
                ast.NotIn: "not in",
                ast.IsNot: "is not",
                ast.NotEq: "is not",
            }.get(type(node.ops[0]))
            if relation:
                return _condition(self._text(node.left, names), relation, self._text(node.comparators[0], names))
        return self._as_written(ast.unparse(node), names, node.lineno)

    def _as_written(self, text: str, names: dict[str, str], line: int) -> ProgramCondition:
        """A condition of unknown form, with the names of texts replaced by the texts."""
        if not any(c.isalpha() for c in text) or len(text) > MAX_CONDITION:
            raise ParseError(f"line {line}: cannot read this condition; write e.g. assert('close' to 'mug')")
        known = {name: said for name, said in names.items() if "\n" not in said}
        words = re.sub(r"[A-Za-z_]\w*", lambda m: repr(known[m.group()]) if m.group() in known else m.group(), text)
        return ProgramCondition((), text=" ".join(words.split())[:MAX_CONDITION])


def _condition(left: str, relation: str, right: str) -> ProgramCondition:
    plain, negated = plain_relation(relation)
    return ProgramCondition((left, right), plain, negated)


def plain_relation(text: str) -> tuple[str, bool]:
    """A relation without is and not, and whether it is negated: "is not next to" is "next to", negated."""
    words = [w for w in text.split() if w != "not"]
    plain = words[1:] if words[0] == "is" and len(words) > 1 else words
    return " ".join(plain), "not" in text.split()
