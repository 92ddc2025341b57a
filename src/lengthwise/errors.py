"""The one exception users meet: what they asked for cannot be done, and why."""


class InputError(ValueError):
    """A request that cannot be met. Its message is one sentence: what was wrong and what would be right.

    The command prints it and exits with 2; anything else that escapes is a bug and keeps its traceback.
    """
