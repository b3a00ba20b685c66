"""Send notices by e-mail."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from service.domain.values.errors import Permanent, Refused, Transient
from service.domain.values.loopback import is_loopback
from service.domain.values.text import plain
from service.domain.wording.regressions import mail_of
from service.ports.trunk import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.domain.wording.regressions import Mail, MergedSlowdown
    from service.ports.trunk import DueNotice

_SECONDS: Final = 30.0  # for a connection, and for each answer
_OK: Final = 250  # SMTP's own numbers, here and below
_FAILED_FOR_GOOD: Final = 500


class MailServer(Notifier):
    """An SMTP server.

    Args:
        url: ``smtp://`` or ``smtps://``, perhaps with user and password. What leaves this machine is
            encrypted: ``smtp://`` needs a server with STARTTLS.
        sender: the address that notices come from.
    """

    def __init__(self, url: str, sender: str) -> None:
        self._url = urlsplit(url)
        self._sender = sender

    @override
    def send(self, notice: DueNotice, found: MergedSlowdown, begin: Callable[[], bool]) -> None:
        message = self._message(notice, mail_of(found)).as_bytes(policy=SMTP)
        with self._server() as server:
            _require(server.mail(self._sender))
            _require(server.rcpt(notice.recipient.address))
            if not begin():
                return
            try:
                answer = server.data(message)
            except smtplib.SMTPDataError as error:
                _require((error.smtp_code, error.smtp_error))
            except (OSError, smtplib.SMTPException) as error:
                raise Permanent(f"the mail server may have taken it: {plain(str(error))}") from error
            else:
                _require(answer)

    def _message(self, notice: DueNotice, mail: Mail) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = notice.recipient.address
        message["Subject"] = mail.title
        message["Date"] = formatdate()
        domain = self._sender.rpartition("@")[2]
        message["Message-ID"] = f"<regression-{notice.regression_id}-{notice.id}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        return message

    @contextmanager
    def _server(self) -> Iterator[smtplib.SMTP]:
        """Connect and sign in; a server that fails before it has the message has certainly not taken it."""
        host, context = self._url.hostname or "", ssl.create_default_context()
        port = self._url.port or 0
        try:
            if self._url.scheme == "smtps":
                server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=context)
            else:
                server = smtplib.SMTP(host, port, timeout=_SECONDS)
        except (OSError, smtplib.SMTPException) as error:
            raise Transient(f"the mail server cannot be reached: {plain(str(error))}") from error
        with server:
            try:
                if self._url.scheme == "smtp" and not is_loopback(host):
                    server.starttls(context=context)
                server.ehlo_or_helo_if_needed()
                if self._url.username:
                    server.login(unquote(self._url.username), unquote(self._url.password or ""))
            except smtplib.SMTPAuthenticationError as error:
                raise Refused(
                    "the mail server rejects user and password; check BENCHGATE_SMTP_URL"
                ) from error
            except (OSError, smtplib.SMTPException) as error:
                raise Transient(
                    f"the mail server does not answer as expected: {plain(str(error))}"
                ) from error
            try:
                yield server
            except (OSError, smtplib.SMTPException) as error:
                raise Transient(f"the mail server ended the connection: {plain(str(error))}") from error


def _require(answer: tuple[int, bytes | str]) -> None:
    """Raise the error of an answer that is no success."""
    code, said = answer
    if _OK <= code < _OK + 50:
        return
    text = said if isinstance(said, str) else said.decode(errors="replace")
    reason = f"the mail server answers {code}: {plain(text)}"
    raise Permanent(reason) if code >= _FAILED_FOR_GOOD else Transient(reason)
