"""Offscreen rendering of a MuJoCo model; colour and depth come from one pass.

A GL context belongs to the thread that created it: create, use and close an OffscreenView in one thread. The thread
keeps its context for the next view: a software renderer compiles its code once for each context, which takes longer
than all else that a new view needs. A thread that ends calls `free_contexts` first.
"""

from __future__ import annotations

import atexit
import ctypes.util
import importlib
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.simulation.fixtures import BURNER, KNOB, TURNED_ON

if TYPE_CHECKING:
    import mujoco

GL_PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"


def choose_gl() -> None:
    """Select software GL before MuJoCo is imported, unless MUJOCO_GL is set; raises ConfigError where there is none."""
    if os.environ.get("MUJOCO_GL"):
        return
    if ctypes.util.find_library("EGL"):
        os.environ["MUJOCO_GL"] = "egl"
    elif ctypes.util.find_library("OSMesa"):
        os.environ["MUJOCO_GL"] = "osmesa"
    else:
        raise ConfigError(
            f"no OpenGL for rendering without a display: run  sudo apt install {GL_PACKAGES}  (or libosmesa6)"
        )


_GLOW = (1.0, 0.25, 0.05)  # of a burner that is on
_MODEL = threading.Lock()  # a context takes the sizes of its buffers from the model, which views share


class _Kept(threading.local):
    """The GL contexts of a thread, by library and size."""

    def __init__(self) -> None:
        self.contexts: dict[tuple[str, int, int], Any] = {}


_KEPT = _Kept()


def _gl_context(width: int, height: int) -> Any:
    """This thread's GL context for images of a size, current in it."""
    # mujoco.gl_context chose when MuJoCo was first imported, which may have been before choose_gl.
    library = os.environ["MUJOCO_GL"].lower()
    kept = _KEPT.contexts
    if (library, width, height) not in kept:
        kept[library, width, height] = importlib.import_module(f"mujoco.{library}").GLContext(width, height)
        if threading.current_thread() is threading.main_thread() and len(kept) == 1:
            atexit.register(free_contexts)  # before that of MuJoCo's, which ends all of EGL
    kept[library, width, height].make_current()
    return kept[library, width, height]


def free_contexts() -> None:
    """Free the GL contexts of this thread; its views must be closed before."""
    while _KEPT.contexts:
        _KEPT.contexts.popitem()[1].free()


def _context(model: mujoco.MjModel, width: int, height: int, shadows: bool) -> mujoco.MjrContext:
    """A context with buffers of exactly the image size; shadows have a buffer of their own."""
    import mujoco

    with _MODEL:
        whole, quality = model.vis.global_, model.vis.quality
        before = whole.offwidth, whole.offheight, quality.shadowsize
        try:
            whole.offwidth, whole.offheight = width, height
            if not shadows:
                quality.shadowsize = 0
            return mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        finally:
            whole.offwidth, whole.offheight, quality.shadowsize = before


class OffscreenView:
    """Offscreen view of one camera of one model."""

    def __init__(self, model: mujoco.MjModel, camera: str, width: int, height: int, *, shadows: bool = False):
        """Raise ConfigError that says what to install where GL does not work."""
        choose_gl()
        import mujoco

        self.model = model
        self._size = (width, height)
        self._data = mujoco.MjData(model)
        try:
            self._gl = _gl_context(width, height)
            self._finish = importlib.import_module("OpenGL.platform").PLATFORM.GL.glFinish  # OpenGL.GL takes 8 MB
            self._context = _context(model, width, height, shadows)
        except Exception as error:  # each GL library fails in its own way
            raise ConfigError(
                f"cannot render without a display (MUJOCO_GL={os.environ.get('MUJOCO_GL')}): {error}; "
                f"run  sudo apt install {GL_PACKAGES}  (or libosmesa6 and set MUJOCO_GL=osmesa)"
            ) from error
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
        self._camera.fixedcamid = model.camera(camera).id
        names = [model.geom(k).name for k in range(model.ngeom)]
        self._burners = {
            k: int(model.joint(name.removesuffix(BURNER) + KNOB).qposadr[0])
            for k, name in enumerate(names)
            if name.endswith(BURNER)
        }

    def render(self, qpos: np.ndarray, *, depth: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
        """Colour (h, w, 3) uint8 and, if requested, depth (h, w) float32 in m along the optical axis, at the joint
        positions ``qpos``.
        """
        import mujoco

        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_comPos(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        mujoco.mjv_updateScene(
            self.model,
            self._data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        if any(qpos[knob] > TURNED_ON for knob in self._burners.values()):
            self._light(qpos)
        width, height = self._size
        rgb = np.empty((height, width, 3), np.uint8)
        z = np.empty((height, width), np.float32) if depth else None
        self._gl.make_current()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        # Waiting here leaves other Python threads running; reading the pixels would wait with the
        # interpreter locked.
        self._finish()
        mujoco.mjr_readPixels(rgb, z, self._rect, self._context)
        return np.flipud(rgb), None if z is None else self._metres(np.flipud(z))

    def _light(self, qpos: np.ndarray) -> None:
        """Light burners that are on."""
        import mujoco

        for geom in self._scene.geoms[: self._scene.ngeom]:
            knob = self._burners.get(geom.objid) if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM.value else None
            if knob is not None and qpos[knob] > TURNED_ON:
                geom.rgba[:3], geom.emission = _GLOW, 1.0

    def _metres(self, buffer: np.ndarray) -> np.ndarray:
        """Depth buffer, 1 at the near plane and 0 at the far plane -> m: the inverse of the perspective projection."""
        extent = self.model.stat.extent
        near, far = self.model.vis.map.znear * extent, self.model.vis.map.zfar * extent
        metres: np.ndarray = (near * far / (near + buffer.astype(np.float64) * (far - near))).astype(np.float32)
        return metres

    def close(self) -> None:
        """Free the buffers and what was uploaded; call in the thread that created it."""
        self._gl.make_current()
        self._context.free()
