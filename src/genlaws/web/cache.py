"""Answers as the bytes that are sent: each computed once, one after another, and kept as long as there is room."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MOST_BYTES = 64 * 2**20


class AnswerCache:
    """The answers asked for last, up to a number of bytes.

    An answer takes some milliseconds, nearly all of them with Python's lock held: several threads would only wait for
    each other. One thread computes, and what is kept does not have to wait for it. All methods belong to the thread of
    the event loop.

    Parameters
    ----------
    most_bytes : int
        Beyond which those unused longest are forgotten.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[bytes]] = {}
        self._thread: ThreadPoolExecutor | None = None

    async def get(self, key: str, compute: Callable[[], bytes]) -> bytes:
        """Return the answer kept under a key; computed now if there is none, once for all who wait for it."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._under_way:
            self._thread = self._thread or ThreadPoolExecutor(1, "genlaws-answers")
            self._under_way[key] = asyncio.get_running_loop().run_in_executor(self._thread, compute)
        try:
            answer = await asyncio.shield(self._under_way[key])
        finally:
            self._under_way.pop(key, None)
        self._keep(key, answer)
        return answer

    def close(self) -> None:
        """End the thread; another one begins if an answer is asked for after all."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=False, cancel_futures=True)

    def _keep(self, key: str, answer: bytes) -> None:
        if key in self._kept:
            return
        self._kept[key] = answer
        self.held_bytes += len(answer)
        while self.held_bytes > self.most_bytes:
            self.held_bytes -= len(self._kept.popitem(last=False)[1])
