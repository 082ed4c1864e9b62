"""Returning freed memory to the operating system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # parameters of mallopt
_LARGE = 4 << 20  # bytes; arrays of this size and more are mapped on their own, and given back when they are freed
_MAPS, _DONTNEED = Path("/proc/self/smaps"), 4  # of Linux; an advice of its madvise


def use_one_heap() -> None:
    """Make the C library use one heap for all threads, without large blocks in it.

    Otherwise memory freed by a thread stays reserved for it, and a simulator that loads scene after scene grows by 45
    MB with each. Call before threads are started; does nothing where the C library is not GNU's.
    """
    _set(_ARENA_MAX, 1)
    _set(_MMAP_THRESHOLD, _LARGE)


def keep_free_heap(size: int) -> None:
    """Keep so many bytes of free heap until `give_back_memory`: what an image needs, the next one needs, too."""
    _set(_TRIM_THRESHOLD, size)


def _set(parameter: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(parameter, value)


def give_back_memory(thorough: bool = True) -> None:
    """Return free heap pages to the operating system; thorough: collect garbage before, and map what libraries are made
    of anew.

    Most of a library's code is needed once, as that of a compiler of shaders; what is needed again is read from the
    system's cache. Takes some milliseconds, thorough some 50; a node calls it when it rests after work.
    """
    library = ctypes.CDLL(None)
    if thorough:
        gc.collect()
    trim = getattr(library, "malloc_trim", None)  # of the GNU C library
    if trim is not None:
        trim(0)
    if thorough and _MAPS.exists():
        library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, end in _as_in_files(_MAPS.read_text(encoding="utf-8", errors="replace")):
            library.madvise(start, end - start, _DONTNEED)


def _as_in_files(maps: str) -> Iterator[tuple[int, int]]:
    """Addresses of what this process has as it is in files: it cannot be written, and no page of it is its own."""
    place, of_file = "", False
    for line in maps.splitlines():
        key, *values = line.split(maxsplit=5)
        if not key.endswith(":"):
            place, of_file = key, len(values) > 4 and values[4].startswith("/") and values[0] in ("r-xp", "r--p")
        elif key == "Anonymous:" and of_file and values[0] == "0":
            start, end = (int(number, 16) for number in place.split("-"))
            yield start, end


@contextmanager
def no_mesh_cache() -> Iterator[None]:
    """Disable MuJoCo's mesh cache between compilations: 90 MB with one arm's meshes."""
    import mujoco

    if not hasattr(mujoco, "mj_setCacheCapacity"):  # an older MuJoCo has no cache
        yield
        return
    cache = mujoco.mj_getCache()
    capacity = mujoco.mj_getCacheCapacity(cache)
    mujoco.mj_setCacheCapacity(cache, 0)
    try:
        yield
    finally:
        mujoco.mj_setCacheCapacity(cache, capacity)
