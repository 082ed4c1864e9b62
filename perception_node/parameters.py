"""Parameters of perception_node."""

from planweave.core.base.parameter import AUTOSTART, Parameter
from planweave.perception.cameras import SOURCES
from planweave.perception.detectors import DETECTORS, models
from planweave.perception.detectors.options import Options
from planweave.robots import DEFAULT

PARAMETERS = [
    Parameter(
        "source",
        "topics",
        "where images come from: a driver, a RealSense in this process, a recording",
        choices=SOURCES,
    ),
    Parameter(
        "camera",
        "overhead",
        "pose of the camera: a name under config/cameras, the path of a camera or easy_handeye2 file, or tf2:FRAME",
    ),
    Parameter(
        "cameras",
        [""],
        "camera files of further cameras: source topics has NAME's images on NAME/color/image_raw and so on, source "
        "realsense takes the camera with the file's serial; all look for furniture and things",
    ),
    Parameter(
        "realsense.serial", "", "serial number of the RealSense camera; empty: what the camera file says, else any"
    ),
    Parameter("realsense.width", 640, "pixels of colour and depth", 320, 1920),
    Parameter("realsense.height", 480, "pixels of colour and depth", 180, 1080),
    Parameter("realsense.fps", 15, "images a second", 5, 90),
    Parameter("bag.path", "", "recording that source bag plays: of ROS 2 (folder or file), ROS 1 or RealSense"),
    Parameter("bag.loop", False, "whether the recording is played in a loop"),
    Parameter(
        "detector",
        "attributes",
        "how objects get their names: attributes, region_head, vlm, vild, owlv2, grounding_dino, or an installed one",
        choices=tuple(DETECTORS),
    ),
    Parameter("domain", "tabletop", "planning domain under config/domains: which classes are receptacles"),
    Parameter("look_for", [""], "noun phrases that open-vocabulary detectors always look for"),
    Parameter("look_for_timeout", 15.0, "seconds perception/look_for waits for images seen with new names", 0.0, 600.0),
    *(
        Parameter(f"models.{name}", model, "name on the Hugging Face hub (name@revision), or a folder with the weights")
        for name, model in models().items()
    ),
    Parameter(
        "naming_timeout", Options.timeout, "seconds for a reply of the model that detector vlm asks", 0.1, 3600.0
    ),
    Parameter("min_score", Options.min_score, "least confidence of an open-vocabulary detector in a name", 0.0, 1.0),
    Parameter("topics.colour", "camera/color/image_raw", "colour images; …/compressed for compressed ones"),
    Parameter(
        "topics.depth",
        "camera/aligned_depth_to_color/image_raw",
        "depth images aligned to colour, with equal stamps; …/compressedDepth for compressed ones",
    ),
    Parameter("topics.info", "camera/color/camera_info", "camera info of the colour images"),
    Parameter(
        "reliable_images",
        True,
        "take images reliably (best effort loses many, as each is larger than a packet); false for "
        "a camera driver that publishes best effort only",
    ),
    Parameter("robot_type", DEFAULT, "description of the robot: an installed name, or the path of a YAML file"),
    Parameter("base_frame", "", "robot's base frame, of all poses; empty: the description's"),
    Parameter("camera_frame", "", "name of the camera's optical frame; empty: what the camera file says"),
    Parameter("silent_after", 5.0, "seconds of wall time without images before the log says so", 0.1, 3600.0),
    Parameter("robot_filter", True, "leave out what joint_states says is the robot; false where none is in view"),
    Parameter(
        "table",
        [0.12, 1.0, -0.72, 0.72],
        "x_min, x_max, y_min, y_max in the base frame within which objects are looked for, metres",
    ),
    Parameter(
        "plane_offset", 0.02, "largest distance in metres of the table as seen from where it should be", 0.001, 0.1
    ),
    Parameter("plane_tilt", 2.0, "largest tilt of the table as seen, degrees", 0.1, 20.0),
    Parameter(
        "glowing_burners",
        False,
        "whether the burner of a stove that is on glows red, so that a dark one is off; else only detector vlm tells",
    ),
    Parameter("tracking.confirm", 2, "frames in a row that make an object real", 1, 100),
    Parameter("tracking.clear_views", 4, "views of its empty place after which an object is gone", 1, 1000),
    Parameter("changes.distance", 0.02, "metres beyond which an object has moved", 0.002, 1.0),
    AUTOSTART,
]
