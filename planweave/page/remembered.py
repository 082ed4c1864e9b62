"""The page's tab of what people have said that holds again, to be read and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from viser import Icon

from planweave.core.workflow.remembered import Remembered
from planweave.page import words

if TYPE_CHECKING:
    import viser

_NONE = "–"


class MemoryDoor(Protocol):
    """What a person at the page may do; raises PlanweaveError with a message for the person."""

    def remembered(self, forget: Sequence[int] = (), forget_all: bool = False) -> tuple[list[Remembered], list[int]]:
        """The entries that are left, oldest first, and the ids of those that were forgotten."""


class RememberedAnswers:
    """A list of the entries, one of which can be forgotten. do(act): calls act and shows its message."""

    def __init__(self, gui: viser.GuiApi, door: MemoryDoor, do: Callable[[Callable[[], str]], None]):
        self._door = door
        self._renew = gui.add_button("What is remembered", icon=Icon.REFRESH)
        self._chosen = gui.add_dropdown("Entry", (_NONE,))
        self._forget = gui.add_button("Forget it", color="orange", icon=Icon.X, hint="the person is asked again")
        self._list = gui.add_html(words.remembered_html(()))
        self._renew.on_click(lambda _: do(self._look))
        self._forget.on_click(lambda _: do(self._forgotten))

    def _look(self) -> str:
        self._show(self._door.remembered()[0])
        return ""

    def _forgotten(self) -> str:
        if self._chosen.value == _NONE:
            return "choose first what is to be forgotten"
        left, gone = self._door.remembered([int(words.id_of(self._chosen.value))])
        self._show(left)
        return f"forgotten: {', '.join(map(str, gone))}"

    def _show(self, entries: Sequence[Remembered]) -> None:
        self._chosen.options = (_NONE, *(f"{entry.text} [{entry.id}]" for entry in reversed(entries)))
        self._list.content = words.remembered_html(entries)
