"""Send notices to the incoming webhooks of chats, in the form that Slack and Mattermost take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx
from typing_extensions import override

from service.adapters.system.json_client import fault
from service.domain.values.errors import NotFound, Permanent, Transient
from service.domain.wording.regressions import chat_of
from service.ports.trunk import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.wording.regressions import MergedSlowdown
    from service.ports.trunk import DueNotice

_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_NAME: Final = "the chat"
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
OTHERS: Final = "*"  # stands for the projects without an entry


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
    def send(self, notice: DueNotice, found: MergedSlowdown, begin: Callable[[], bool]) -> None:
        url = self._urls.get(notice.project) or self._urls.get(OTHERS)
        if url is None:
            raise NotFound("the project has no chat")
        if not begin():
            return
        # A client for each notice, because a fork must not share a socket, and there are a few a day.
        with httpx.Client(timeout=_TIMEOUT, transport=self._transport, follow_redirects=False) as client:
            try:
                with client.stream("POST", url, json={"text": chat_of(found)}) as response:
                    is_taken = response.is_success
            except _UNSENT as error:
                raise Transient(f"{_NAME} cannot be reached: {type(error).__name__}") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise Permanent(f"{_NAME} may have taken it: {type(error).__name__}") from None
        if not is_taken:
            raise fault(response, _NAME, "", is_own=True)
