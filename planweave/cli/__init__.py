"""People's way in: the command `planweave`."""
