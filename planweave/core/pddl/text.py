"""PDDL text as nested expressions whose words know their places."""

from __future__ import annotations

import re

from planweave.core.base.errors import PddlError

MAX_DEPTH = 100
"""Brackets within each other."""
_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")


class Word(str):
    """A name, keyword or number as it was written. at: its offset in the text."""

    __slots__ = ("at",)
    at: int


class Expression(list["Word | Expression"]):
    """A bracketed list. at: the offset of its opening bracket in the text."""

    __slots__ = ("at", "end")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = self.end = at

    @property
    def head(self) -> str:
        """Its first word in lower case; empty where it does not start with a word."""
        return self[0].lower() if self and isinstance(self[0], Word) else ""


class PddlText:
    """A text with the name that messages use for it."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text.removeprefix("\ufeff")

    def place(self, at: int) -> str:
        """``file:line:column`` of an offset."""
        return f"{self.name}:{self._line(at)}:{self._column(at)}"

    def error(self, at: int, code: str, message: str) -> PddlError:
        return PddlError(f"{self.place(at)}: {message}", code, self._line(at), self._column(at))

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def _column(self, at: int) -> int:
        return at - self.text.rfind("\n", 0, at)

    def definition(self, kind: str) -> tuple[Word, list[Expression]]:
        """Name and sections of ``(define (KIND name) section …)``; raises PddlError."""
        whole = self.expression()
        form = f"expected (define ({kind} NAME) …)"
        if whole.head != "define" or len(whole) < 2:
            raise self.error(whole.at, "syntax", form)
        title, *sections = whole[1:]
        if not isinstance(title, Expression) or title.head != kind or len(title) != 2:
            raise self.error(title.at, "syntax", form)
        name = title[1]
        if not isinstance(name, Word):
            raise self.error(name.at, "syntax", form)
        found = []
        for section in sections:
            if not isinstance(section, Expression) or not section.head.startswith(":"):
                raise self.error(section.at, "syntax", "expected a section such as (:predicates …)")
            found.append(section)
        return name, found

    def expression(self) -> Expression:
        text = self.text
        if "\0" in text:
            raise self.error(text.index("\0"), "syntax", "a NUL character; save the file as plain text")
        outer = Expression(0)
        open_ones = [outer]
        top = outer
        for match in _TOKEN.finditer(text):
            token = match.group()
            first = token[0]
            if first == "(":
                inner = Expression(match.start())
                top.append(inner)
                open_ones.append(inner)
                top = inner
                if len(open_ones) > MAX_DEPTH + 1:
                    raise self.error(inner.at, "too_deep", f"brackets nested more than {MAX_DEPTH} deep")
            elif first == ")":
                if top is outer:
                    raise self.error(match.start(), "syntax", "a closing bracket without its opening one")
                open_ones.pop().end = match.end()
                top = open_ones[-1]
            elif first != ";":
                word = Word(token)
                word.at = match.start()
                top.append(word)
        if top is not outer:
            raise self.error(len(text), "syntax", f"the bracket opened at {self.place(top.at)} is never closed")
        if not outer:
            raise self.error(0, "syntax", "the text is empty; expected an expression in brackets")
        if not isinstance(outer[0], Expression):
            raise self.error(outer[0].at, "syntax", "expected an expression in brackets")
        if len(outer) > 1:
            raise self.error(outer[1].at, "syntax", "expected nothing after the closing bracket")
        return outer[0]
