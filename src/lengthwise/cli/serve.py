"""lengthwise serve: the web page."""

import os
import socket
import sys
import threading
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from lengthwise.cli.parsing import Flag, parse
from lengthwise.device import pick_device
from lengthwise.errors import InputError
from lengthwise.web.limits import Limits


@dataclass(frozen=True)
class _Serve:
    places: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="FOLDER", help="run folders, model folders, grid files, or folders with such in them"),
    ] = ()
    host: Annotated[str, arg(help="the address to answer at; 0.0.0.0 lets other machines in")] = "127.0.0.1"
    port: Annotated[int, arg(help="the port to answer at; 0 takes any that is free")] = 8421
    no_open: Annotated[Flag, arg(help="do not open the page in a browser")] = False
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "cpu"
    limits: Annotated[Limits, OmitArgPrefixes] = field(default_factory=Limits)


def run(arguments: list[str]) -> None:
    """Serve the page until Ctrl-C."""
    options = parse(_Serve, "serve", arguments)
    if not 0 <= options.port <= 65_535:
        raise InputError(f"--port must be from 0 to 65535, not {options.port}.")
    import torch  # noqa: PLC0415  # what is slow to load comes after the options are understood

    from lengthwise.web import Catalogue, create_app  # noqa: PLC0415
    from lengthwise.web.protection import loopback_names  # noqa: PLC0415
    from lengthwise.web.server import serve  # noqa: PLC0415

    catalogue = Catalogue.of(options.places, device=str(pick_device(options.device)))
    for place in catalogue.empty:
        print(f"lengthwise: there is neither a model nor a grid in {str(place)!r}.", file=sys.stderr, flush=True)
    listening = _listen(options.host, options.port)
    # Models here are small: several side by side, a thread or so each, are faster than one after another on all cores.
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // options.limits.at_once))
    app = create_app(catalogue, options.limits, hosts=loopback_names(options.host))
    host = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{'localhost' if options.host in ('0.0.0.0', '::') else host}:{listening.getsockname()[1]}/"
    print(f"lengthwise: the page is at {address}   (Ctrl-C ends it)", flush=True)
    if options.host in ("0.0.0.0", "::"):
        print("lengthwise: other machines can reach it, and nothing asks who they are.", file=sys.stderr, flush=True)
    if not options.no_open and _has_browser():
        threading.Timer(0.5, webbrowser.open, [address]).start()
    serve(app, listening)
    print("lengthwise: the page is closed.", flush=True)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence why not."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(512)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"Nothing can be served at {host}:{port} ({reason}): give another --host or --port, 0 for any free one."
        ) from error
    return listening


def _has_browser() -> bool:
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and sys.stdout.isatty()
