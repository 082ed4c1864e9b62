"""Messages of ROS packages that are not installed here, after ros_messages.yaml: a wrong name or type fails.

What is not a basic type must be a message of that type: of a package listed in the file, or a real one.
"""

import importlib
import re
import sys
import types
from pathlib import Path

import yaml

TABLE = yaml.safe_load(Path(__file__).with_name("ros_messages.yaml").read_text())
BASIC = {"bool": bool, "string": str, "float32": float, "float64": float, "byte": bytes}
EMPTY = {bool: False, str: "", float: 0.0, bytes: b"\x00", int: 0}


def python_type(kind, package):
    """The Python type of a field's type without brackets; None where its package is neither here nor in the file."""
    if kind in BASIC:
        return BASIC[kind]
    if re.match(r"u?int\d+$", kind):
        return int
    home, _, name = kind.rpartition("/")
    home = home or package
    try:
        return getattr(importlib.import_module(f"{home}.msg"), name)
    except (ImportError, AttributeError):
        return None


def message_class(package, name, fields):
    """A class with these fields and constants; anything else is refused."""
    constants = {key: kind for key, kind in fields.items() if re.search(r"=-?\d+$", kind)}
    plain = {key: kind for key, kind in fields.items() if key not in constants}

    def check(key, value):
        assert key in plain, f"{package}/{name} has no field {key!r} (it has {', '.join(plain)})"
        kind = plain[key]
        if kind.endswith("]"):
            assert not isinstance(value, (str, bytes, set, frozenset)), (key, value)  # sets: refused after Lyrical
            items, wanted = list(value), python_type(kind.partition("[")[0], package)
        else:
            items, wanted = [value], python_type(kind, package)
        assert wanted is None or all(type(item) is wanted for item in items), f"{package}/{name}.{key}: {value!r}"

    class Message:
        def __init__(self, **given):
            for key, kind in plain.items():
                wanted = python_type(kind.partition("[")[0], package)
                empty = [] if kind.endswith("]") else EMPTY[wanted] if wanted in EMPTY else wanted and wanted()
                self.__dict__[key] = empty
            for key, value in given.items():
                setattr(self, key, value)

        def __setattr__(self, key, value):
            check(key, value)
            self.__dict__[key] = value

    for key, kind in constants.items():
        kind, _, value = kind.partition("=")
        setattr(Message, key, bytes([int(value)]) if kind == "byte" else int(value))
    Message.__name__ = Message.__qualname__ = name
    return Message


def modules():
    """The packages as modules by dotted name, to be put into sys.modules."""
    made = {}
    for package, interfaces in TABLE.items():
        made[package] = types.ModuleType(package)
        for interface, parts in interfaces.items():
            kind, name = interface.split("/")
            module = made.setdefault(f"{package}.{kind}", types.ModuleType(f"{package}.{kind}"))
            if kind == "msg":
                setattr(module, name, message_class(package, name, parts["Message"]))
            else:
                whole = types.SimpleNamespace(
                    **{part: message_class(package, f"{name}.{part}", fields) for part, fields in parts.items()}
                )
                setattr(module, name, whole)
    return made


def install(patch=sys.modules.__setitem__):
    """Put the packages where imports find them; `patch` is a monkeypatch's setitem for sys.modules."""
    for name, module in modules().items():
        patch(name, module)
