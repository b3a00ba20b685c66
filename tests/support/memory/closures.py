"""Closures of hosts in memory: each machine is a host of its own."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from service.domain.machines.closures import Closure
from service.domain.values.errors import NotFound
from service.ports.machines import Closures
from tests.support.memory.state import InMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.machines.closures import Closing


class MemoryClosures(InMemory, Closures):
    def close(self, host: str, closing: Closing) -> None:
        self._require(host)
        begins_at = closing.begins_at or self._m.now
        self._m.closures.append((host, Closure(**{**asdict(closing), "begins_at": begins_at})))

    def reopen(self, host: str) -> bool:
        self._require(host)
        now = self._m.now
        own = [(each, shut) for each, shut in self._m.closures if each == host and not shut.is_over(now)]
        own.sort(key=lambda pair: pair[1].begins_at)
        ended = [pair for pair in own if pair[1].is_current(now)] or own[:1]
        self._m.closures = [
            (each, replace(shut, ends_at=now)) if (each, shut) in ended else (each, shut)
            for each, shut in self._m.closures
        ]
        return bool(ended)

    def hosts(self, pool: str) -> Sequence[str]:
        return sorted(name for name, each in self._m.machines.items() if each.pool == pool)

    def _require(self, host: str) -> None:
        if host not in self._m.machines:
            raise NotFound(f"no machine of a host {host} has ever registered")
