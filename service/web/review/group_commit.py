"""Group commit: store bodies that arrive at the same time in one transaction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog

from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOG = structlog.get_logger(__name__)
MOST_TOGETHER: Final = 64  # a transaction stays short, and what it holds in memory small

_Waiting: TypeAlias = tuple[bytes, "asyncio.Future[int | None]"]


class GroupCommit:
    """A queue of bodies: those that arrive while a transaction runs are stored together in the next one.

    A body that arrives while none runs is stored at once. Use it from one event loop.

    Args:
        store: stores bodies, all or none, and returns the number of each, None if it cannot be read.
            Called in a thread, never twice at the same time.
    """

    def __init__(self, store: Callable[[Sequence[bytes]], Sequence[int | None]]) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def add(self, body: bytes) -> int | None:
        """Store a body, and return what ``store`` returns for it.

        Raises:
            Transient: neither it nor any other waiting body can be stored now.
        """
        number: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, number))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._work_off())
        return await number

    async def _work_off(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            await self._store_all(together)

    async def _store_all(self, together: Sequence[_Waiting]) -> None:
        try:
            numbers = await asyncio.to_thread(self._store, [body for body, _ in together])
        except Exception as error:  # noqa: BLE001 - the waiting callers receive it
            if len(together) > 1 and not isinstance(error, Transient):
                # A body that can never be stored must not fail the others.
                _LOG.warning("webhook.stored_apart", events=len(together), error=repr(error))
                for one in together:
                    await self._store_all([one])
                return
            if isinstance(error, Transient):
                # Bodies that arrived meanwhile would only wait for the same fault.
                together, self._waiting = [*together, *self._waiting], []
            for _, waiting in together:
                if not waiting.done():  # the caller may be gone
                    waiting.set_exception(error)
        else:
            for (_, waiting), number in zip(together, numbers, strict=True):
                if not waiting.done():
                    waiting.set_result(number)
