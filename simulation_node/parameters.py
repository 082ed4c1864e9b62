"""Parameters of simulation_node."""

from planweave.core.base.parameter import Parameter
from planweave.robots import DEFAULT

PARAMETERS = [
    Parameter("scene", "blocks", "scene under config/scenes, or the path of a scene file"),
    Parameter("frame_prefix", "", "before the name of every frame, e.g. arm1/, as robot_state_publisher has it"),
    Parameter("camera", "overhead", "camera under config/cameras, or the path of a camera file"),
    Parameter("cameras", [""], "further ones, whose images are on NAME/color/image_raw and so on"),
    Parameter("robot_type", DEFAULT, "description of the robot: an installed name, or the path of a YAML file"),
    Parameter("robot_model", "", "MJCF file of arm and hand; empty: what the robot's description says"),
    Parameter(
        "real_time_factor",
        0.0,
        "simulated seconds per second; 0: as fast as possible in motion, else 1",
        0.0,
        100.0,
    ),
    Parameter("seed", 0, "seed of the depth noise", 0, 2**31 - 1),
    Parameter("joint_state_rate", 30.0, "joint states per second of wall time", 20.0, 500.0),
    Parameter("rest_rate", 2.5, "joint states per second of wall time while nothing moves", 2.0, 500.0),
    Parameter("image_rate", 4.0, "image pairs per second of wall time while someone subscribes", 0.5, 30.0),
    Parameter("image_shadows", False, "shadows in the camera's images; rendering then takes twice as long"),
    Parameter(
        "depth_noise.sigma",
        0.002,
        "standard deviation of depth at 1 m, growing with its square, m",
        0.0,
        0.05,
    ),
    Parameter("depth_noise.edge", 0.4, "share of pixels at depth steps that are lost or float in between", 0.0, 1.0),
    Parameter("depth_noise.holes", 0.002, "share of pixels without depth", 0.0, 0.5),
    Parameter("video.width", 800, "pixels", 160, 1280),
    Parameter("video.height", 450, "pixels", 120, 960),
    Parameter("video.max_frames", 160, "frames of a video at most; a long one runs faster", 10, 5000),
    Parameter(
        "video.patience",
        6.0,
        "seconds that writing a video may wait for rendering; then it is coarser",
        0.0,
        600.0,
    ),
]
