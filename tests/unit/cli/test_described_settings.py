"""Settings in the audit log, which nobody can delete a secret from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pydantic import BaseModel, SecretStr

from service.cli.services.described_settings import describe_settings
from service.config.control import ControlSettings, GerritSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET: Final = "correct-horse/battery@staple"
ADDRESS: Final = f"https://bot:{SECRET}@git.example.com/{{project}}"
TOKEN_ADDRESS: Final = "https://git.example.com/{project}?private_token=horse-staple"


class Server(BaseModel):
    """A part of a setting."""

    url: str
    password: SecretStr = SecretStr("")


def with_secrets() -> ControlSettings:
    """Settings with the secret in every field that may have one, by the field's type."""
    values: dict[str, Any] = {
        "database_url": f"postgresql://benchgate:{SECRET}@db/benchgate?password={SECRET}"
    }
    values["redis_url"] = f"redis://:{SECRET}@broker/0"
    for name, field in ControlSettings.model_fields.items():
        if field.annotation is SecretStr:
            values[name] = SecretStr(SECRET)
        elif field.annotation == list[SecretStr]:
            values[name] = [SecretStr(SECRET), SecretStr(SECRET)]
        elif field.annotation is str and name.endswith("_url") and name not in values:
            values[name] = ADDRESS
    values["git_urls"] = {"core": ADDRESS, "edge": TOKEN_ADDRESS}
    password = SecretStr(SECRET)
    values["gerrits"] = {
        "core": GerritSettings(url=ADDRESS, password=password, bearer=password, webhook_secrets=[password])
    }
    return ControlSettings.model_construct(**values)


def test_no_secret_is_recorded() -> None:
    described = describe_settings(with_secrets())
    assert [name for name, text in described.items() if "horse" in text or "staple" in text] == []
    assert described["BENCHGATE_GERRIT_PASSWORD"] == "set"
    assert described["BENCHGATE_WEBHOOK_SECRETS"] == '["set", "set"]'
    assert described["BENCHGATE_DATABASE_URL"] == described["BENCHGATE_REDIS_URL"] == "set"
    assert described["BENCHGATE_GIT_URL"] == "https://…@git.example.com/{project}"
    assert described["BENCHGATE_GIT_URLS"] == (
        '{"core": "https://…@git.example.com/{project}", "edge": "https://git.example.com/{project}?…"}'
    )
    gerrit = json.loads(described["BENCHGATE_GERRITS"])["core"]
    assert (gerrit["url"], gerrit["user"]) == ("https://…@git.example.com/{project}", "")
    assert (gerrit["password"], gerrit["bearer"], gerrit["webhook_secrets"]) == ("set", "set", ["set"])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (TOKEN_ADDRESS, "https://git.example.com/{project}?…"),
        (f"{ADDRESS}?depth=1", "https://…@git.example.com/{project}?…"),
        ("https://git.example.com/{project}#token=x", "https://git.example.com/{project}?…"),
        # Which part is the host is not certain, so that no part is shown.
        ("https://git.example.com/{project}?private_token=horse@staple", "https://…"),
        ("https://bot:horse?staple@git.example.com/{project}", "https://…"),
        ("ssh://bot@git.example.com:29418/{project}", "ssh://…@git.example.com:29418/{project}"),
        ("https://git.example.com/{project}", "https://git.example.com/{project}"),
        ("/srv/git/{project}?.git", "/srv/git/{project}?.git"),
    ],
)
def test_the_credentials_and_the_query_of_an_address_are_not_recorded(url: str, shown: str) -> None:
    described = describe_settings(ControlSettings.model_construct(git_url=url, git_urls={"core": url}))
    assert described["BENCHGATE_GIT_URL"] == shown
    assert json.loads(described["BENCHGATE_GIT_URLS"]) == {"core": shown}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"gerrit_bearer": SecretStr("")}, "not set"),
        ({"webhook_secrets": []}, "[]"),
        ({"gerrit_projects": ["kv", "é"]}, '["kv", "é"]'),
        ({"gerrit_ssh_key": None}, ""),
        ({"gerrit_ssh_key": Path("/run/key")}, "/run/key"),
        ({"first_contact_days": 7.0}, "7.0"),
        ({"gerrit_url": "https://gerrit.example.com"}, "https://gerrit.example.com"),
    ],
)
def test_each_other_setting_is_recorded_as_a_text(values: Mapping[str, Any], text: str) -> None:
    [field] = values
    settings = ControlSettings.model_construct(**values)
    assert describe_settings(settings)[f"BENCHGATE_{field.upper()}"] == text


def test_secrets_within_a_setting_of_several_parts_are_not_recorded() -> None:
    parts: Any = {"core": Server(url=ADDRESS, password=SecretStr(SECRET)), "docs": Server(url="https://docs")}
    described = describe_settings(ControlSettings.model_construct(gerrit_projects=[parts]))
    assert json.loads(described["BENCHGATE_GERRIT_PROJECTS"]) == [
        {
            "core": {"url": "https://…@git.example.com/{project}", "password": "set"},
            "docs": {"url": "https://docs", "password": "not set"},
        }
    ]


def test_every_setting_is_recorded() -> None:
    names = {f"BENCHGATE_{name.upper()}" for name in ControlSettings.model_fields}
    assert describe_settings(ControlSettings()).keys() == names
