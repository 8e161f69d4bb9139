"""A cache of answers as bytes: each is computed once, one after another, and stored up to a total size."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MAX_CACHE_BYTES = 64 * 2**20


class AnswerCache:
    """The most recently requested answers, up to a number of bytes.

    An answer takes some milliseconds, nearly all of them with Python's lock held: several threads would only wait for
    each other. One thread computes, and cached answers do not wait for it. All methods belong to the thread of
    the event loop.

    Parameters
    ----------
    max_bytes : int
        Limit beyond which the least recently used answers are dropped.
    """

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[bytes]] = {}
        self._thread: ThreadPoolExecutor | None = None

    async def get(self, key: str, compute: Callable[[], bytes]) -> bytes:
        """Return the cached answer of a key; if there is none, compute it once for all who wait."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if key not in self._under_way:
            self._thread = self._thread or ThreadPoolExecutor(1, "genlaws-answers")
            self._under_way[key] = asyncio.get_running_loop().run_in_executor(self._thread, compute)
        try:
            answer = await asyncio.shield(self._under_way[key])
        finally:
            self._under_way.pop(key, None)
        self._store(key, answer)
        return answer

    def close(self) -> None:
        """End the thread; a later request starts another one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=False, cancel_futures=True)

    def _store(self, key: str, answer: bytes) -> None:
        if key in self._answers:
            return
        self._answers[key] = answer
        self.held_bytes += len(answer)
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= len(self._answers.popitem(last=False)[1])
