"""Environment of programs that tests start."""

import os


def python_path(*folders):
    """PYTHONPATH with these folders first; a sourced ROS 2 has its own packages on it."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH", "")])])
