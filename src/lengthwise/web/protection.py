"""What holds for every request and every answer: headers, the size of bodies, the names of hosts, no tracebacks."""

import json
import logging
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("lengthwise.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class TooLargeError(Exception):
    """A body beyond what is taken."""


class UnsentError(Exception):
    """An answer that the server could not send: what came was no HTTP, or nobody is there any more."""


class Guard:
    """Stands around the application."""

    def __init__(self, app: ASGIApp, *, most: int, hosts: frozenset[str] | None) -> None:
        self._app, self._most, self._hosts = app, most, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, taken = False, 0

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers[name] = value
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-cache" if scope["path"].startswith("/static") else "no-store"
            try:
                await send(message)
            except Exception as error:
                raise UnsentError from error

        async def guarded_receive() -> Message:
            nonlocal taken
            message = await receive()
            if message["type"] == "http.request" and scope["method"] in ("GET", "HEAD"):
                return {**message, "body": b""}  # which nobody reads, however much there is
            taken += len(message.get("body", b""))
            if taken > self._most:
                raise TooLargeError
            return message

        given = Headers(scope=scope)
        if self._hosts is not None and _host(given.get("host", "")) not in self._hosts:
            await _answer(guarded_send, 421, "This page answers to its own address only.")
            return
        try:
            await self._app(scope, guarded_receive, guarded_send)
        except TooLargeError:
            await _answer(guarded_send, 413, f"The body is too large: up to {self._most:,} bytes are taken here.")
        except UnsentError:
            log.debug("%s %s could not be answered", scope["method"], scope["path"], exc_info=True)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not begun:
                await _answer(guarded_send, 500, "Something went wrong here; it is noted in the log of the server.")


def _host(header: str) -> str:
    """The name without its port."""
    name = header.rpartition(":")[0] if not header.endswith("]") and ":" in header else header
    return name.strip("[]").lower()


def loopback_names(host: str) -> frozenset[str] | None:
    """The names that a page bound to this host answers to; None, any, where others are to reach it."""
    try:
        local = ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    return frozenset({"localhost", "127.0.0.1", "::1", host.lower()}) if local else None


def client_address(request: Request) -> str:
    """Where a request comes from, as far as the connection tells: headers say what their sender likes.

    A machine has 2⁶⁴ addresses of IPv6 to choose from, so what they have in common counts.
    """
    host = "" if request.client is None else request.client.host
    try:
        address = ip_address(host)
    except ValueError:  # a socket of this machine, or a name
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
