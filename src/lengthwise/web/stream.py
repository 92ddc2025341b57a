"""Server-sent events: text that a browser reads while it is being written."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

Events = AsyncGenerator[tuple[str, dict[str, Any]], None]
"""Each has a name and says something."""


class EventStream(StreamingResponse):
    """Sends events as they come, and lets go of them the moment nobody listens."""

    def __init__(self, events: Events) -> None:
        super().__init__(
            content=(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            ends = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._events.aclose()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _send(self, send: Send) -> None:
        begun = False
        async for name, data in self._events:
            if not begun:  # only now: closing events that have not begun would run none of their own code
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                begun = True
            text = f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
