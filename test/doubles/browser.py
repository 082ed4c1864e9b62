"""A real Chromium without a screen, driven over its own protocol: for tests of the page."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*", "--no-first-run", "--disable-gpu-sandbox"),
)
BETWEEN = 0.2  # s between two looks at the page
START = 120.0  # s of wall time for the browser, and for one of its answers


def found():
    """The path of a browser on this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. A context manager; deadlines end what hangs. What is tested goes before its drawing without a GPU."""

    def __init__(self, width=1280, height=800):
        self._folder = tempfile.TemporaryDirectory(prefix="planweave-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                "nice",
                found(),
                *FLAGS,
                f"--window-size={width},{height}",
                f"--user-data-dir={self._folder.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self._socket = connect(self._address(), max_size=None, open_timeout=START)

    def _address(self):
        """The address of the page's own socket."""
        file = Path(self._folder.name) / "DevToolsActivePort"
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError, LookupError, StopIteration):
                port = int(file.read_text().splitlines()[0])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=START) as answer:
                    return next(t["webSocketDebuggerUrl"] for t in json.load(answer) if t["type"] == "page")
            time.sleep(0.05)
        raise TimeoutError("the browser did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self._socket.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def call(self, method, **parameters):
        """One call of the protocol; its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=START))
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, address):
        """Go to an address."""
        self.call("Page.navigate", url=address)

    def run(self, script):
        """The value of a piece of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    @property
    def text(self):
        """All text that is on the page; asked for without a pause it would take a core."""
        time.sleep(BETWEEN)
        return self.run("document.body ? document.body.innerText : ''") or ""

    def click(self, label):
        """Click with the mouse on the button, or the tab, of that label; whether there is one in sight."""
        place = self.run(
            "(() => { const b = [...document.querySelectorAll('button, [role=tab]')].find(b => b.offsetParent && "
            f"b.innerText.trim() === {json.dumps(label)}); if (!b) return null; b.scrollIntoView({{block: 'center'}}); "
            "const r = b.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return self._press(place)

    def unfold(self, label):
        """Click with the mouse on the head of the folder of that label; whether there is one in sight."""
        place = self.run(
            f"(() => {{ const f = [...document.querySelectorAll('*')].filter(e => e.offsetParent && "
            f"e.innerText && e.innerText.trim() === {json.dumps(label)}).pop(); if (!f) return null; "
            "f.scrollIntoView({block: 'center'}); "
            "const r = f.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return self._press(place)

    def _press(self, place):
        for kind in ("mousePressed", "mouseReleased") if place else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        return place is not None

    def point(self, x, y):
        """Click with the mouse on a place of the page, pixels from its left and upper edge."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=float(x), y=float(y), **button)

    def write(self, text):
        """Write into the first empty text box that is seen; whether there is one."""
        there = self.run(
            "(() => { const i = [...document.querySelectorAll('input, textarea')].find(i => i.offsetParent && !i.value "
            "&& !i.readOnly && (i.type === 'text' || i.tagName === 'TEXTAREA')); if (i) i.focus(); return !!i; })()"
        )
        if there:
            self.call("Input.insertText", text=text)
        return there

    def choose(self, text):
        """Choose in the last drop-down list that is in sight the option with that text; whether there is one."""
        self.run(
            "(() => { const i = [...document.querySelectorAll('input')].filter(i => i.offsetParent && i.value === '–');"
            " if (i.length) { i[i.length - 1].scrollIntoView({block: 'center'}); i[i.length - 1].click(); } })()"
        )
        return self.run(
            f"(() => {{ const o = [...document.querySelectorAll('[role=option]')].filter(o => "
            f"o.innerText.includes({json.dumps(text)})); if (o.length) o[o.length - 1].click(); "
            "return !!o.length; })()"
        )

    def slide_back(self, steps):
        """Move the last slider that is in sight by key, to the left."""
        self.run(
            "(() => { const s = [...document.querySelectorAll('[role=slider]')].filter(s => s.offsetParent); "
            "s[s.length - 1].focus(); })()"
        )
        key = {"key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37}
        for kind in ("keyDown", "keyUp") * steps:
            self.call("Input.dispatchKeyEvent", type=kind, **key)

    def frames(self):
        """The pictures that the page is drawn in, each (time of the drawing in s since 1970, JPEG in base64)."""
        self.call("Page.startScreencast", format="jpeg", quality=60, everyNthFrame=1)
        try:
            while True:
                told = json.loads(self._socket.recv(timeout=START))
                if told.get("method") == "Page.screencastFrame":
                    frame = told["params"]
                    seen = {"method": "Page.screencastFrameAck", "params": {"sessionId": frame["sessionId"]}}
                    self._socket.send(json.dumps({"id": next(self._numbers), **seen}))
                    yield frame["metadata"]["timestamp"], frame["data"]
        finally:
            self.call("Page.stopScreencast")

    def screenshot(self):
        """A picture of the page, PNG."""
        time.sleep(BETWEEN)
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
