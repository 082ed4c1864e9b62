"""The command `planweave`: one subcommand per file."""
