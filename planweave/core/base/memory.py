"""Returning freed memory to the operating system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # parameters of mallopt
_LARGE = 4 << 20  # bytes; arrays of this size and more are mapped on their own, and given back when they are freed


def use_one_heap() -> None:
    """Make the C library use one heap for all threads, without large blocks in it.

    Otherwise memory freed by a thread stays reserved for it, and a simulator that loads scene after scene grows by 45
    MB with each. Call before threads are started; does nothing where the C library is not GNU's.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _LARGE)


def give_back_memory() -> None:
    """Collect garbage and return free heap pages to the operating system.

    Takes some milliseconds; call after start-up and after finished work.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU C library
    if trim is not None:
        trim(0)


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
