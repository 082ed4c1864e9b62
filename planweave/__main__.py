"""`python -m planweave` is the command `planweave`, found as it is installed."""

from importlib.metadata import entry_points

(command,) = entry_points(group="console_scripts", name="planweave")
raise SystemExit(command.load()())
