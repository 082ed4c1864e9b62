"""Giving memory back to the system that is free, but kept for later."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
