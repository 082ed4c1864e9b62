"""What a browser gets of the page before viser's client has run, and who gets it."""

import gzip
import re
import urllib.error
import urllib.request

import pytest

viser = pytest.importorskip("viser")

from planweave.page import server  # noqa: E402
from planweave.page.gate import Gate  # noqa: E402
from planweave.page.server import FirstScreen  # noqa: E402

TOKEN = "0123456789abcdef"
PACKED = (
    '<html><head><script data-p="a&amp;b\\c" data-ss="1" data-cs="2">(async()=>{const d=document.currentScript.dataset;'
    'go(d.p)})();</script></head><body><div id="root"></div></body></html>'
)


def get(address, **headers):
    """Status, headers and body of an answer; of a refusal, too."""
    request = urllib.request.Request(address, headers={k.replace("_", "-"): v for k, v in headers.items()})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


@pytest.fixture
def page():
    """page(gate): the address of a page behind a gate."""
    made = []

    def start(gate=None):
        made.append(server.open_page(gate or Gate("127.0.0.1"), 0))
        return f"http://127.0.0.1:{made[-1].get_port()}"

    yield start
    for each in made:
        each.stop()


def test_a_browser_gets_words_at_once_and_the_client_behind_them(page):
    address = page()
    status, headers, html = get(address)
    assert status == 200 and len(html) < 4000 and headers["Cache-Control"] == "no-cache"
    assert b"connecting" in html and b"prefers-color-scheme: dark" in html and b"<title>Planweave" in html
    assert html.index(b"connecting") < html.index(b"<script"), "words are there before any script runs"
    (name,) = set(re.findall(rb"client-[0-9a-f]+\.js", html))
    status, headers, script = get(f"{address}/{name.decode()}", Accept_Encoding="gzip")
    assert status == 200 and headers["Content-Encoding"] == "gzip" and "immutable" in headers["Cache-Control"]
    plain = get(f"{address}/{name.decode()}")[2]
    assert gzip.decompress(script) == plain and len(script) < len(plain)
    assert len(plain) > 100_000 and b"currentScript" not in plain


def test_the_client_needs_the_token_as_the_page_does(page):
    address = page(Gate("127.0.0.1", TOKEN))
    (name,) = FirstScreen.of_client(server._CLIENT.read_text(encoding="utf-8")).files.keys() - {"", "index.html"}
    for path in ("", "/index.html", f"/{name}"):
        assert get(address + path)[0] == 401
        assert get(address + path, Cookie=f"planweave={TOKEN}")[0] == 200
        assert get(address + path, Cookie=f"planweave={TOKEN}", Origin="http://evil.example")[0] == 403


def test_what_is_packed_reaches_the_script_as_it_was():
    made = FirstScreen.of_client(PACKED)
    (script,) = (file.text for name, file in made.files.items() if name.endswith(".js"))
    assert script == '(async()=>{const d={"p": "a&b\\\\c", "ss": "1", "cs": "2"};go(d.p)})();'
    assert made.file("/?token=x") is made.files[""] and made.file("/other.js") is None


@pytest.mark.parametrize(
    "client",
    [
        "<html><body>another client</body></html>",
        PACKED.replace("document.currentScript.dataset", "window.data"),
        PACKED.replace('<div id="root"></div>', '<div id="app"></div>'),
    ],
)
def test_a_client_that_is_packed_otherwise_is_served_as_it_is(client, page, monkeypatch, tmp_path):
    assert not FirstScreen.of_client(client).files
    other = tmp_path / "index.html"
    other.write_text(client)
    monkeypatch.setattr(server, "_CLIENT", other)
    assert b'data-p="' in get(page())[2], "viser's own file"
