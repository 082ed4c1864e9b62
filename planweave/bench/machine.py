"""Description of the machine that figures were measured on."""

from __future__ import annotations

import os
import platform


def machine() -> str:
    """The machine in a few words: processor, cores, Python."""
    name = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"
