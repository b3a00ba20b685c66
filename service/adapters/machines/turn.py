"""Let local gates take turns: side by side, they would spoil each other's measurements."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from service.adapters.system.locking import locked
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def own_turn(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process with the same ``home`` is in this block, and keep others out.

    The kernel ends the turn of a process that is killed.

    Args:
        home: the directory of this user's gates; created if it is missing.
        on_wait: called once if another process has its turn.

    Raises:
        BadInput: ``home`` cannot be written.
    """
    with ExitStack() as turn:
        try:
            home.mkdir(parents=True, exist_ok=True)
            turn.enter_context(locked(home / "gate", watch=on_wait))
        except OSError as error:
            raise BadInput(error.strerror or str(error), str(home)) from None
        yield
