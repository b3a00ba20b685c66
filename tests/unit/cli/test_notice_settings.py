"""Settings of the mail server and the chats for notices."""

from __future__ import annotations

import pytest

from service.config.control import ControlSettings
from service.domain.values.errors import BadInput

URL = "smtps://user:hidden@mail.example.com"


def test_a_mail_server_needs_the_address_that_notices_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_SMTP_URL", URL)
    with pytest.raises(BadInput, match=r"^BENCHGATE_MAIL_FROM: BENCHGATE_SMTP_URL also needs this") as error:
        ControlSettings()
    assert "hidden" not in str(error.value)
    monkeypatch.setenv("BENCHGATE_MAIL_FROM", "benchgate@example.com")
    settings = ControlSettings()
    assert settings.smtp_url.get_secret_value() == URL
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com",
        "http://mail.example.com",
        "smtp://",
        "smtps:mail",
        "smtps://AKIA:pa/ss@mail.example.com",
        "smtps://mail.example.com:99999",
        "smtps://mail.example.com?x=1",
        "smtps://ä@mail.example.com",
    ],
)
def test_what_is_no_mail_server_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BENCHGATE_SMTP_URL", url)
    with pytest.raises(BadInput, match=r"^BENCHGATE_SMTP_URL: must be like smtps://") as error:
        ControlSettings()
    assert "AKIA" not in str(error.value)


def test_chats_are_reached_by_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_CHAT_URLS", '{"kv": "http://hooks.example.com/hidden"}')
    with pytest.raises(BadInput, match="the URL of kv must begin with https://") as error:
        ControlSettings()
    assert "hidden" not in str(error.value)
    monkeypatch.setenv("BENCHGATE_CHAT_URLS", '{"*": "https://hooks.example.com/hidden"}')
    assert "hidden" not in repr(ControlSettings())
