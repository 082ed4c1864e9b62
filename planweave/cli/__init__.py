"""The command `planweave`: one verb a file."""
