"""The application at a socket of this machine, until it is told to end."""

import contextlib
import signal
import socket
import sys
import threading

import uvicorn
from starlette.applications import Starlette

GRACE_SECONDS = 2
"""How long requests may take to end after that."""
SWITCH_SECONDS = 0.0005
"""How soon a thread that computes lets another one go on. At Python's own 0.005 the page, which is a hundred such
switches, takes twenty times as long to load while models write; models lose nothing by it."""


class Server(uvicorn.Server):
    """Serves; told to end, it first sends away all who watch a model write."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="critical",  # what fails in the application is logged there, with its traceback
                access_log=False,
                server_header=False,
                proxy_headers=False,  # X-Forwarded-For would let everyone choose an address, and with it a share
                date_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.close()
        await super().shutdown(sockets)


def serve(app: Starlette, listening: socket.socket) -> None:
    """Serve until Ctrl-C, or until the process is asked to end."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.setswitchinterval(SWITCH_SECONDS)
    with contextlib.suppress(KeyboardInterrupt):
        Server(app).run(sockets=[listening])
