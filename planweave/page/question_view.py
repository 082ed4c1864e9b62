"""A question on the page: its choices as pictures, buttons, and marks in the 3D scene that answer when clicked."""

from __future__ import annotations

import base64
import io
import threading
import time
from collections.abc import Callable, Mapping
from html import escape
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from viser import Icon

from planweave.core.symbolic.world import World, WorldObject
from planweave.core.workflow.question import UserQuestion

if TYPE_CHECKING:
    import viser

Box = tuple[int, int, int, int]  # left, top, right, bottom in an image, pixels
MARK = (156, 54, 181)
_AROUND = 0.7  # of an object's larger side in the image, shown around it
_SMALLEST = 24  # pixels around an object at least
_SIDE = 160  # pixels of a shown picture
_LARGER, _MARGIN = 1.1, 0.012  # a mark's size: times the object's, plus so many metres
_ABOVE = 0.07  # m from an object's top to the number of its choice
_RENEWED = 2.0  # s between two pictures of the same object
_WORDS_ORDER = 100.0  # in the folder, after all choices


class QuestionView:
    """answer(question, choice, text): called with the number of a choice, from 1, or 0 and words. Its methods may be
    called from any thread.
    """

    def __init__(self, server: viser.ViserServer, answer: Callable[[UserQuestion, int, str], None]):
        self._server, self._answer = server, answer
        self._lock = threading.RLock()
        self._question: UserQuestion | None = None
        self._world = World("")
        self._boxes: Mapping[str, Box] = {}
        self._pictures: dict[str, str] = {}  # of objects, as URLs that hold them
        self._pictured = 0.0  # when they were made (time.monotonic())
        self._buttons: list[Any] = []
        self._marks: dict[int, tuple[Any, Any]] = {}  # by the number of their choice
        self._names = count()  # of marks; no two have one
        gui = server.gui
        with gui.add_folder("What is meant?", visible=False) as self._folder:
            self._shown = gui.add_html("", order=0.0)
            self._words = gui.add_text("In words", "", hint='"the left one", or the task anew', order=_WORDS_ORDER)
            send = gui.add_button("Answer in words", icon=Icon.SEND, order=_WORDS_ORDER + 1)
        send.on_click(lambda _: self._said())

    def show(self, question: UserQuestion | None) -> None:
        """Show a question; None: none waits."""
        with self._lock:
            if (question and question.id) == (self._question and self._question.id):
                return
            self._question, self._pictures, self._pictured = question, {}, 0.0
            for button in self._buttons:
                button.remove()
            self._buttons = []
            if question is not None:
                self._words.value = ""  # type: ignore[misc]  # viser defines its setter by a descriptor
                with self._folder:
                    self._buttons = [self._button(n, c.label) for n, c in enumerate(question.choices, 1)]
            for number in list(self._marks):
                for node in self._marks.pop(number):
                    node.remove()
            self._tell()
            self._mark()
            self._folder.visible = question is not None

    def world(self, world: World) -> None:
        """Update the positions of objects."""
        with self._lock:
            self._world = world
            self._mark()

    def seen(self, boxes: Mapping[str, Box]) -> None:
        """Update the boxes of objects in the camera's image."""
        with self._lock:
            self._boxes = boxes

    def picture(self, image: NDArray[np.uint8]) -> None:
        """The camera's image now, (height, width, 3) RGB."""
        with self._lock:
            if self._question is None or (self._pictures and time.monotonic() - self._pictured < _RENEWED):
                return
            names = {name for choice in self._question.choices for name in choice.objects}
            self._pictures = {
                n: _url(cut) for n in names if n in self._boxes and (cut := cut_out(image, self._boxes[n])).size
            }
            self._pictured = time.monotonic()
            self._tell()

    # ---- shown

    def _button(self, number: int, label: str) -> Any:
        button = self._server.gui.add_button(f"{number}. {label}", color=MARK, order=float(number))
        button.on_click(lambda _: self._choose(number))
        return button

    def _tell(self) -> None:
        self._shown.content = question_html(self._question, self._pictures) if self._question else ""

    def _mark(self) -> None:
        """Put a mark with its number around each object that is a choice of its own; marks that are there move."""
        things = {
            number: thing
            for number, choice in enumerate(self._question.choices if self._question else (), 1)
            if len(choice.objects) == 1
            and (thing := self._world.by_name.get(choice.objects[0])) is not None
            and thing.position is not None
            and thing.size is not None
        }
        with self._server.atomic():
            for number in [n for n in self._marks if n not in things]:
                for node in self._marks.pop(number):
                    node.remove()
            for number, thing in things.items():
                if number not in self._marks:
                    self._marks[number] = self._marks_of(number, thing)
                self._place(*self._marks[number], thing)

    def _marks_of(self, number: int, thing: WorldObject) -> tuple[Any, Any]:
        assert thing.size is not None
        larger = tuple(_LARGER * side + _MARGIN for side in thing.size)
        scene, name = self._server.scene, f"/question/{next(self._names):08d}"
        box = scene.add_box(name, MARK, (larger[0], larger[1], larger[2]), opacity=0.45, cast_shadow=False)
        box.on_click(lambda _: self._choose(number))
        return box, scene.add_label(f"{name}_number", f"{number}?", anchor="bottom-center")

    @staticmethod
    def _place(box: Any, label: Any, thing: WorldObject) -> None:
        assert thing.position is not None and thing.size is not None
        x, y, z, w = thing.orientation or (0.0, 0.0, 0.0, 1.0)
        box.position, box.wxyz = thing.position, (w, x, y, z)
        label.position = (*thing.position[:2], thing.position[2] + thing.size[2] / 2 + _ABOVE)

    # ---- from a person

    def _choose(self, number: int) -> None:
        question = self._question
        if question is not None:
            self._answer(question, number, "")

    def _said(self) -> None:
        question, text = self._question, self._words.value.strip()
        if question is not None and text:
            self._answer(question, 0, text)


def question_html(question: UserQuestion, pictures: Mapping[str, str]) -> str:
    """The question, and the pictures of the objects of its choices with their numbers. Labels are escaped."""
    figures = "".join(
        f'<figure style="margin:0;flex:1 1 40%;max-width:11em"><img alt="{escape(choice.label)}" '
        f'src="{pictures[name]}" style="width:100%;border:2px solid rgb{MARK};border-radius:4px">'
        f'<figcaption style="text-align:center">{number}</figcaption></figure>'
        for number, choice in enumerate(question.choices, 1)
        for name in choice.objects
        if name in pictures
    )
    text = question.text[:1].upper() + question.text[1:]
    row = f'<div style="display:flex;flex-wrap:wrap;gap:0.6em;margin-top:0.4em">{figures}</div>' if figures else ""
    pointed = any(len(choice.objects) == 1 for choice in question.choices)
    how = "Click on it in the scene, or choose:" if pointed else "Choose:"
    style = "padding:0.2em 1em;font-size:0.9em;line-height:1.4;overflow-wrap:anywhere"
    return f'<div style="{style}"><b>{escape(text)}</b>{row}<div style="margin-top:0.4em">{how}</div></div>'


def cut_out(image: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    """The square around an object in an image (height, width, 3), with something of what is around it; smaller at the
    image's edge, empty outside it.
    """
    left, top, right, bottom = box
    half = max(right - left, bottom - top) / 2
    half += max(_AROUND * half, _SMALLEST)
    column, row = (left + right) / 2, (top + bottom) / 2
    rows = slice(max(0, round(row - half)), max(0, round(row + half)))
    columns = slice(max(0, round(column - half)), max(0, round(column + half)))
    return image[rows, columns]


def _url(image: NDArray[np.uint8]) -> str:
    """A picture as a URL that holds it."""
    from PIL import Image

    made, written = Image.fromarray(np.ascontiguousarray(image)), io.BytesIO()
    scale = _SIDE / max(made.size)
    made = made.resize((max(1, round(made.width * scale)), max(1, round(made.height * scale))))
    made.save(written, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}"
