"""Giving memory back to the system that is free, but kept for later."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # parameters of mallopt
_LARGE = 4 << 20  # bytes; arrays of this size and more are mapped on their own, and given back when they are freed


def use_one_heap() -> None:
    """Have the C library keep one heap for all threads, not one for each, and no large blocks in it.

    Else what a thread frees is kept for that thread, and a simulator that loads scene after scene grows by 45 MB with
    each. To be called before threads are started; does nothing where the C library is not GNU's.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _LARGE)


def give_back_memory() -> None:
    """Let go of what start-up, or work that has ended, left behind: unreachable objects and the free pages of the C
    library's heaps. Takes some milliseconds; worth it before a long rest.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU C library
    if trim is not None:
        trim(0)


@contextmanager
def no_mesh_cache() -> Iterator[None]:
    """Compile MuJoCo models without keeping their meshes for the next one: with the Franka's, 90 MB."""
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
