"""Send notices to the incoming webhooks of chats, in the form that Slack and Mattermost take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import httpx
from typing_extensions import override

from service.adapters.system.json_client import ending
from service.domain.values.errors import NotFound, Permanent, Refused, Transient
from service.domain.wording.digest import chat_about
from service.ports.trunk import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.wording.digest import Told
    from service.ports.trunk import DueNotice

_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_WHOLE: Final = 30.0  # seconds
_NAME: Final = "the chat"
_TAKEN_OR_NOT: Final = "the chat may have taken it"
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_LATER: Final = frozenset({429, 503})  # HTTP's own numbers: too many, not available
_GONE: Final = frozenset({401, 403, 404, 410})  # its administrator deleted or replaced the webhook
OTHERS: Final = "*"  # stands for the projects without an entry, on branches that everybody may read


class Chats(Notifier):
    """Incoming webhooks by project. Their addresses are secrets: no error repeats one.

    Args:
        urls: by project; ``*``: of all others.
        transport: a replacement of the network.
    """

    def __init__(self, urls: Mapping[str, str], transport: httpx.BaseTransport | None = None) -> None:
        self._urls = urls
        self._transport = transport

    @override
    def is_open(self, project: str) -> bool:
        return project not in self._urls

    @override
    def send(self, notice: DueNotice, told: Told, begin: Callable[[], bool]) -> bool:
        url = self._urls.get(notice.project) or (self._urls.get(OTHERS) if notice.is_public else None)
        if url is None:
            raise NotFound("the project has no chat")
        if not begin():
            return False
        # A client for each notice, because a fork must not share a socket, and there are a few a day.
        with (
            ending(time.monotonic() + _WHOLE) as trace,
            httpx.Client(timeout=_TIMEOUT, transport=self._transport, follow_redirects=False) as client,
        ):
            try:
                with client.stream(
                    "POST", url, json={"text": chat_about(told)}, extensions={"trace": trace}
                ) as response:
                    status = response.status_code
            except _UNSENT as error:
                raise Transient(f"{_NAME} cannot be reached: {type(error).__name__}") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise Permanent(f"{_TAKEN_OR_NOT}: {type(error).__name__}") from None
        _require(status)
        return True


def _require(status: int) -> None:
    """Raise the error of an answer that is no success."""
    answer = f"{_NAME} answers {status}"
    if httpx.codes.is_success(status):
        return
    if status in _GONE:
        raise Refused(f"{answer}; check BENCHGATE_CHAT_URLS")
    if status in _LATER:
        raise Transient(answer)
    raise Permanent(f"{answer}: {_TAKEN_OR_NOT}" if status >= httpx.codes.INTERNAL_SERVER_ERROR else answer)
