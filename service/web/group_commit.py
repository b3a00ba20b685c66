"""Stores what arrives at the same time in one transaction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog

from service.domain.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOG = structlog.get_logger(__name__)
MOST_TOGETHER: Final = 64  # a transaction stays short, and what it holds in memory small

_Waiting: TypeAlias = tuple[bytes, "asyncio.Future[int | None]"]


class GroupCommit:
    """Lets what arrives while a transaction runs wait for it, and stores it together in the next one.

    The first to arrive waits for nobody. Used from one event loop.

    Args:
        store: stores bodies, all or none; the number of each, None where it cannot be read. Called in a
            thread, never twice at the same time.
    """

    def __init__(self, store: Callable[[Sequence[bytes]], Sequence[int | None]]) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def add(self, body: bytes) -> int | None:
        """What ``store`` returns for a body, once it is stored.

        Raises:
            Transient: it cannot be stored now, nor can anything else that waits.
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
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            if len(together) > 1 and not isinstance(error, Transient):
                # What can never be stored takes none of the others with it.
                _LOG.warning("webhook.stored_apart", events=len(together), error=repr(error))
                for each in together:
                    await self._store_all([each])
                return
            if isinstance(error, Transient):
                # Who came meanwhile would only wait for the same fault.
                together, self._waiting = [*together, *self._waiting], []
            for _, waiting in together:
                if not waiting.done():  # who waited may be gone
                    waiting.set_exception(error)
        else:
            for (_, waiting), number in zip(together, numbers, strict=True):
                if not waiting.done():
                    waiting.set_result(number)
