"""Render one small picture with MuJoCo, in a separate process: a broken OpenGL may crash it.

Usage: MUJOCO_GL=egl python -m planweave.cli.gl_probe; prints the seconds taken, or ends with an error.
"""

import time

MODEL = """
<mujoco><worldbody><light pos="0 0 2"/><camera name="c" pos="0 0 1"/><geom type="sphere" size=".3" rgba="1 0 0 1"/>
</worldbody></mujoco>"""


def main() -> None:
    """Render and check the picture: the ball must be red."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    begun = time.perf_counter()
    renderer = mujoco.Renderer(model, 48, 64)
    renderer.update_scene(data, "c")
    red, green, _ = renderer.render()[24, 32]
    if red < 50 or green > red / 2:
        raise SystemExit(f"the picture is wrong: the middle of a red ball has red {red}, green {green}")
    print(f"{time.perf_counter() - begun:.2f}")


if __name__ == "__main__":
    main()
