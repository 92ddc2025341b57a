"""The command `lengthwise`: one file a command, called by `command.py`."""

from lengthwise.cli.command import main

__all__ = ["main"]
