"""A stand-in for LIBERO's simulator process: it answers as the command line says."""

import json
import sys
import time

MANNER = sys.argv[1]

for line in sys.stdin.buffer:
    command = json.loads(line)
    if MANNER == "dies":
        print("out of memory", file=sys.stderr, flush=True)
        raise SystemExit(1)
    if MANNER == "hangs":
        time.sleep(60)
    if MANNER == "babbles":
        sys.stdout.write("this is no JSON\n")
    elif MANNER == "refuses":
        sys.stdout.write(json.dumps({"error": "ValueError: no such thing"}) + "\n")
    elif command["do"] == "render":
        size = command["width"] * command["height"]
        sys.stdout.write(json.dumps({"bytes": 7 * size}) + "\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(range(3)) * size + b"\x00\x00\x80?" * size)
    else:
        sys.stdout.write(json.dumps({"suites": {"libero_goal": 10}, "steps": 2, "success": True, "state": {}}) + "\n")
    sys.stdout.flush()
