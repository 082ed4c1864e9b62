"""A chat endpoint on loopback that behaves as told, well or badly. A real HTTP server; not a model."""

import contextlib
import http.server
import itertools
import json
import socket
import threading


def completion(texts, usage=None, logprob=None):
    """The JSON of a chat completion with these replies; logprob: of each of two tokens per reply."""
    choices = [
        {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(texts)
    ]
    if logprob is not None:
        for choice in choices:
            choice["logprobs"] = {"content": [{"token": "t", "logprob": logprob}] * 2}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "fake",
        "choices": choices,
        "usage": usage
        or {"prompt_tokens": 100, "completion_tokens": 10 * len(texts), "prompt_tokens_details": {"cached_tokens": 40}},
    }


class FakeOpenAI:
    """Serves ``url``; every chat request's body is in ``requests``.

    behave(fake, body, number) gives what to answer: (status, JSON value), (status, JSON value, headers), or a
    callable that gets the handler and writes to the socket itself.
    """

    def __init__(self, behave, models=("fake",)):
        fake = self
        self.requests, self.headers, self.paths, self.models = [], [], [], models
        self.stop = threading.Event()  # lets stalling behaviours end with the server
        self.lock, self.numbers = threading.Lock(), itertools.count(1)
        self.most_at_once, self._now = 0, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body comes 40 ms after its headers

            def log_message(self, *_):
                pass

            def reply(self, status, value, headers=()):
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, text in dict(headers).items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.reply(200, {"object": "list", "data": [{"id": m, "object": "model"} for m in fake.models]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with fake.lock:
                    fake.requests.append(body)
                    fake.headers.append(dict(self.headers))
                    fake.paths.append(self.path)
                    number = next(fake.numbers)
                    fake._now += 1
                    fake.most_at_once = max(fake.most_at_once, fake._now)
                try:
                    answer = behave(fake, body, number)
                    if callable(answer):
                        answer(self)
                    else:
                        self.reply(*answer)
                finally:
                    with fake.lock:
                        fake._now -= 1

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the client went away, which is what many tests are about

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def encrypt(self, context):
        """Serve https with an ssl.SSLContext; to be called before the server starts."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def answers(*texts):
    """Well-behaved: n replies, taken from texts in turn."""

    def behave(fake, body, number):
        chosen = list(itertools.islice(itertools.cycle(texts), body.get("n") or 1))
        return 200, completion(chosen, logprob=-0.5 if body.get("logprobs") else None)

    return behave


def ignores_n(text="hello"):
    """One reply, whatever n says."""
    return lambda fake, body, number: (200, completion([text]))


def rejects(option, message, status=400, text="hello"):
    """Rejects requests that carry an option, otherwise answers."""

    def behave(fake, body, number):
        if option in body and not (option == "n" and body["n"] == 1):
            return status, {"error": {"message": message, "type": "invalid_request_error"}}
        return 200, completion([text] * (body.get("n") or 1))

    return behave


def fails(status, message="no", headers=(), times=10**9, text="hello"):
    """Fails a number of times, then answers."""

    def behave(fake, body, number):
        if number <= times:
            return status, {"error": {"message": message}}, headers
        return 200, completion([text] * (body.get("n") or 1))

    return behave


def stalls(fake, body, number):
    """Says nothing at all until the server is stopped."""
    return lambda handler: fake.stop.wait(60)


def dribbles(fake, body, number):
    """Sends a byte now and then, for ever: no read ever times out."""

    def write(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while not fake.stop.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return write


def floods(fake, body, number):
    """Sends without end, as fast as it can."""

    def write(handler):
        handler.send_response(200)
        handler.end_headers()
        chunk = b'{"choices": "' + b"x" * 1_000_000
        while not fake.stop.is_set():
            handler.wfile.write(chunk)

    return write


def dies(fake, body, number):
    """Breaks the connection in the middle of a reply."""

    def write(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices": [')
        handler.wfile.flush()
        with contextlib.suppress(OSError):
            handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    return write


def says(data, status=200):
    """Answers with these bytes."""
    return lambda fake, body, number: (status, data)


def slow(seconds, text="hello"):
    """Answers after a while, or when the server is stopped."""

    def behave(fake, body, number):
        fake.stop.wait(seconds)
        return 200, completion([text] * (body.get("n") or 1))

    return behave


def unused_port():
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
