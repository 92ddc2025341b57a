"""The command: it parses, calls the library and prints. One file a command; `--json` prints one object, no more.

Bad input is one sentence on stderr and exit code 2; Ctrl-C leaves what can be resumed, and exit code 130.
"""

import importlib
import io
import os
import sys
from collections.abc import Sequence

from lengthwise.errors import InputError, instead
from lengthwise.version import __version__

COMMANDS = {
    "demo": "the main job in small: train a model, watch it solve, measure it, draw its heatmap",
    "show": "write a problem as the model sees it, with its position ids in colour",
    "solve": "a model writes its scratchpad and the answer, token by token; Python's integers check it",
    "train": "train a model by a preset, with progress and exact resume",
    "evaluate": "measure a model on a grid of sizes, and draw the heatmap; resumes cell by cell",
    "mistakes": "where a model goes wrong first, and what that foretells of longer problems",
    "attention": "where the heads of a model look, averaged over many problems",
    "reproduce": "a figure of the paper end to end: trained, measured, drawn, compared; resumes",
    "sweep": "a preset with settings varied and several seeds, on this machine or on a cluster; resumes",
    "construct": "the theorem's model, built and at work",
    "figure": "draw saved results: heatmaps, curves, attention maps, training",
    "serve": "the web page: watch models write, look inside, explore grids",
    "list": "what there is: tasks, models in the box, position encodings, presets, stress suites, figures",
}
"""Each is the function `run` of the module of that name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code: 0, or 2 for a request that cannot be met."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × and ─ shows question marks, not a traceback
    try:
        _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except InputError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:  # the reader had enough: nothing to report, and nothing left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_complain(f"The output cannot be written: {error.strerror or error}."))
    except KeyboardInterrupt as stop:
        _complain(str(stop) or "stopped.", "\n")
        sys.exit(130)


def _complain(sentence: str, before: str = "") -> int:
    if os.environ.get("RANK", "0") == "0":  # of several processes that share their work, the first speaks
        print(f"{before}lengthwise: {sentence}", file=sys.stderr)
    return 2


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_overview()
    elif arguments[0] == "--version":
        print(f"lengthwise {__version__}")
    elif arguments[0] in COMMANDS:
        # Imported when it is run: only some commands need torch and matplotlib at once.
        module = importlib.import_module(f"lengthwise.cli.{arguments[0]}")
        module.run(arguments[1:])
    else:
        raise InputError(f"There is no command {arguments[0]!r}: {instead(arguments[0], COMMANDS)}")


def _print_overview() -> None:
    print("usage: lengthwise COMMAND …   (lengthwise COMMAND --help explains each)\n")
    for name, summary in COMMANDS.items():
        print(f"  {name:11}{summary}")
