"""Send notices by e-mail."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from socket import SHUT_RDWR
from threading import Timer
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from service.domain.values.errors import Permanent, Refused, Transient
from service.domain.values.loopback import is_loopback
from service.domain.values.text import plain
from service.domain.wording.digest import mail_about
from service.ports.trunk import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.domain.wording.digest import Told
    from service.domain.wording.regressions import Mail
    from service.ports.trunk import DueNotice

_SILENCE: Final = 20.0  # seconds for a connection, and for each answer
_WHOLE: Final = 60.0  # seconds for all of it
_SUCCESS: Final = range(200, 300)  # SMTP's own numbers, here and below
_LATER: Final = range(400, 500)
_TAKEN_OR_NOT: Final = "the mail server may have taken it"


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
    def send(self, notice: DueNotice, told: Told, begin: Callable[[], bool]) -> bool:
        message = self._message(notice, mail_about(told)).as_bytes(policy=SMTP)
        with self._server() as server:
            _require(server.rcpt(notice.recipient.address))
            if not begin():
                return False
            answer: tuple[int, bytes | str]
            try:
                answer = server.data(message)
            except smtplib.SMTPDataError as error:
                answer = (error.smtp_code, error.smtp_error)
            except (OSError, smtplib.SMTPException) as error:
                raise Permanent(f"{_TAKEN_OR_NOT}: {plain(str(error))}") from error
            _require(answer)
        return True

    def _message(self, notice: DueNotice, mail: Mail) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = notice.recipient.address
        message["Subject"] = mail.title
        message["Date"] = formatdate()
        domain = self._sender.rpartition("@")[2]
        about = f"week-{notice.week}" if notice.week else f"regression-{notice.regression_id}"
        message["Message-ID"] = f"<{about}-{notice.id}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        return message

    @contextmanager
    def _server(self) -> Iterator[smtplib.SMTP]:
        """Connect, sign in and name the sender.

        A server that fails before it has the message has certainly not taken it.
        """
        host, context = self._url.hostname or "", ssl.create_default_context()
        is_wrapped = self._url.scheme == "smtps"
        server = (
            smtplib.SMTP_SSL(timeout=_SILENCE, context=context)
            if is_wrapped
            else smtplib.SMTP(timeout=_SILENCE)
        )
        server._host = host  # type: ignore[attr-defined]  # noqa: SLF001 - the certificate's name; only the constructor sets it
        with _ending(server):
            try:
                server.connect(host, self._url.port or 0)
                if not is_wrapped and not is_loopback(host):
                    server.starttls(context=context)
                server.ehlo_or_helo_if_needed()
                if self._url.username:
                    server.login(unquote(self._url.username), unquote(self._url.password or ""))
                code, said = server.mail(self._sender)
            except smtplib.SMTPAuthenticationError as error:
                raise Refused(
                    "the mail server rejects user and password; check BENCHGATE_SMTP_URL"
                ) from error
            except (OSError, smtplib.SMTPException) as error:
                raise Transient(f"the mail server cannot be reached: {plain(str(error))}") from error
            if code not in _SUCCESS:
                raise Refused(f"the mail server refuses the sender: {_text(said)}; check BENCHGATE_MAIL_FROM")
            try:
                yield server
            except (OSError, smtplib.SMTPException) as error:
                raise Transient(f"the mail server ended the connection: {plain(str(error))}") from error


@contextmanager
def _ending(server: smtplib.SMTP) -> Iterator[None]:
    """Shut the connection down if it takes too long, and close it in any case."""

    def shut() -> None:
        with suppress(OSError):  # it has ended by itself
            if server.sock is not None:
                server.sock.shutdown(SHUT_RDWR)

    timer = Timer(_WHOLE, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
        with suppress(OSError, smtplib.SMTPException):  # the message is taken, whatever it says now
            server.quit()
    finally:
        timer.cancel()
        server.close()


def _require(answer: tuple[int, bytes | str]) -> None:
    """Raise the error of an answer that is no success."""
    code, said = answer
    if code in _SUCCESS:
        return
    if code in _LATER:
        raise Transient(f"the mail server answers {code}: {_text(said)}")
    if code < 0:
        raise Permanent(_TAKEN_OR_NOT)
    raise Permanent(f"the mail server answers {code}: {_text(said)}")


def _text(said: bytes | str) -> str:
    return plain(said if isinstance(said, str) else said.decode(errors="replace"))
