"""A server that speaks the wire format of VirtualHome in Unity: one endpoint, one request at a time, and its moods.

The home behind it is the built-in simulator, so that what it does is right; what it says follows the script of a test.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from doubles.home_graphs import as_json, execute_line, graph_now
from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.simulator import HomeSimulator

_STATES_OF_UNITY = {"CLOSED", "OPEN", "ON", "OFF", "SITTING", "LYING", "DIRTY", "CLEAN", "PLUGGED_IN", "PLUGGED_OUT"}


class FakeUnity:
    """Serve a graph. `moods` maps an action to a list of what happens instead, each used once:

    a number: that HTTP status; "silence": no answer; "half": half an answer, then the connection breaks; "drip": a byte
    now and then; "hang up": the connection breaks; ("slow", seconds); ("say", reply); ("fail", message).
    """

    def __init__(self, graph_data):
        self.data = graph_data
        self.simulator = HomeSimulator(graph_from(graph_data))
        self.moods: dict[str, list] = {}
        self.requests: list[dict] = []
        self.characters = 0
        self.released = threading.Event()
        self._one = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, handler):
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if not self._one.acquire(blocking=False):
            return self._send(handler, 429, "Busy")
        try:
            self.requests.append(request)
            moods = self.moods.get(request["action"])
            mood = moods.pop(0) if moods else None
            if isinstance(mood, int):
                return self._send(handler, mood, {408: "Timeout", 429: "Busy"}.get(mood, "error"))
            if mood in ("silence", "drip", "half", "hang up"):
                return self._misbehave(handler, mood)
            if isinstance(mood, tuple) and mood[0] == "slow":
                self.released.wait(mood[1])
            if isinstance(mood, tuple) and mood[0] == "say":
                return self._send(handler, 200, json.dumps(mood[1]))
            if isinstance(mood, tuple) and mood[0] == "fail":
                return self._reply(handler, request, False, mood[1])
            return self._reply(handler, request, *self._do(request))
        finally:
            self._one.release()

    def _do(self, request):
        action, strings = request["action"], request.get("stringParams", [])
        if action == "clear":
            self.characters = 0
        elif action == "environment":
            self.simulator.reset()
        elif action == "add_character":
            self.characters += 1
        elif action == "environment_graph":
            data = as_json(graph_now(self.simulator))
            for node in data["nodes"]:
                node["states"] = [s for s in node["states"] if s in _STATES_OF_UNITY]
            return True, json.dumps(data)
        elif action == "render_script":
            json.loads(strings[0])
            if not self.characters:
                return False, "No character added yet!"
            step = execute_line(self.simulator, strings[1])
            if step.ok:
                return True, json.dumps({"0": {"message": "Success"}})
            word = strings[1].split("]")[0].split("[")[1].upper()
            thing = strings[1].split("<")[2].split(">")[0] if strings[1].count("<") > 1 else ""
            return False, json.dumps(
                {
                    "0": {
                        "message": (
                            f"ScriptExcutor 0: PROCESS {word}: Can not select object: {thing}. REASON: Unknown\n"
                            "EXECUTION_GENERAL: Script is impossible to execute\n\n"
                        )
                    }
                }
            )
        elif action != "idle":
            return False, f"Unknown action {action}"
        return True, ""

    def _reply(self, handler, request, success, message):
        self._send(
            handler,
            200,
            json.dumps(
                {"id": request["id"], "success": success, "message": message, "value": None, "message_list": None}
            ),
        )

    @staticmethod
    def _send(handler, status, text):
        body = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _misbehave(self, handler, mood):
        handler.close_connection = True
        if mood == "silence":
            self.released.wait(30)
        elif mood == "half":
            handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"success": tr')
        elif mood == "drip":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            end = time.monotonic() + 30
            while time.monotonic() < end and not self.released.wait(0.05):
                try:
                    handler.wfile.write(b" ")
                except OSError:
                    return
