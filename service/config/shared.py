"""Settings that both planes share."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from service.domain.values.errors import BadInput
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_core import ErrorDetails

PREFIX: Final = "BENCHGATE_"
# A part of addresses (``core~123``), of heartbeats and of paths.
_INSTANCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_Value = TypeVar("_Value")


def _checked_names(values: dict[str, _Value]) -> dict[str, _Value]:
    for name in values:
        if not _INSTANCE.fullmatch(name):
            raise ValueError(
                f"{name[:50]!r} cannot be the name of an instance: use up to 40 letters, digits, '.', '_' "
                "and '-', and begin with a letter or digit"
            )
    return values


ByInstance = Annotated[dict[str, _Value], AfterValidator(_checked_names)]


class Settings(BaseSettings):
    """Settings from environment variables; the error has one line for each bad variable.

    Raises:
        BadInput: a variable cannot be used. The message does not repeat its value, which may be a secret.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    home: Path = Field(Path("var"), description="data directory on this machine")
    redis_url: str = Field("", description="the broker; empty: `benchgate up` starts one")
    git_url: str = Field("", description="URL to clone a project from; {project} stands for its name")
    git_urls: ByInstance[str] = Field(
        default_factory=dict, description="that URL by the instance, with several Gerrits (a JSON object)"
    )
    artifacts: str = Field(
        "",
        description="artifact directory, by default `artifacts` below home; or, for the control plane, "
        "s3://bucket/prefix; or, for a machine without the directory, the https:// address of the pages",
    )
    fetch_from: list[str] = Field(
        default_factory=list,
        description="hosts, or beginnings of URLs, of sources besides a project's repository; empty: none",
    )

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - whatever the fields take
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise BadInput("\n".join(map(_line, error.errors()))) from None
        except SettingsError as error:
            field = re.search(r'field "(\w+)"', str(error))
            name = PREFIX + field[1].upper() if field else "settings"
            raise BadInput(
                'is not JSON; a list is written as \'["a", "b"]\' or \'[2, 3]\', an object as \'{"a": "b"}\'',
                name,
            ) from None

    @field_validator("redis_url")
    @classmethod
    def _check_certificate(cls, url: str) -> str:
        """Ask for the broker's certificate, which Kombu does not check unless the address says so."""
        try:
            address = urlsplit(url)
        except ValueError:  # it may repeat the password
            raise ValueError("is no URL; percent-encode special characters of the password") from None
        if address.scheme != "rediss":
            return url
        options = parse_qs(address.query, keep_blank_values=True)
        checks = options.get("ssl_cert_reqs", ["required"])
        if checks != ["required"] or "ssl_check_hostname" in options:
            raise ValueError(
                "`rediss://` always checks the server's certificate and name; name the file of a private "
                "authority with `?ssl_ca_certs=/path`"
            )
        joined = f"{address.query}&ssl_cert_reqs=required".lstrip("&")
        return url if "ssl_cert_reqs" in options else address._replace(query=joined).geturl()

    @property
    def artifacts_path(self) -> Path:
        """The artifact directory; raises BadInput if the setting is an address."""
        if "://" in self.artifacts:
            what = (
                "must be a directory here; a bucket (s3://) is for the control plane only, and `benchgate "
                "up` also runs machines; only a machine gets artifacts over HTTP"
            )
            raise BadInput(what, f"{PREFIX}ARTIFACTS")
        return Path(self.artifacts) if self.artifacts else self.home / "artifacts"

    def remote(self, project: str) -> str:
        """Return the URL to clone a project from."""
        return self.git_url.replace("{project}", project)

    @property
    def remotes(self) -> Mapping[str, Callable[[str], str]]:
        """The functions that return the URL of a project, by the instances that have their own."""
        return {name: partial(url.replace, "{project}") for name, url in self.git_urls.items()}


def require(value: str, name: str, otherwise: str = "`benchgate up` starts a server and sets it") -> None:
    """Raise BadInput if a setting has no value; ``otherwise`` is the advice in the message."""
    if not value:
        raise BadInput(f"{name} is not set; {otherwise}", "settings")


def is_protected(url: str) -> bool:
    """Return whether nobody on the way can read the requests to a URL."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def _line(error: ErrorDetails) -> str:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return message  # of several variables, which it names
    name, *place = (str(part) for part in error["loc"])
    where = "".join(f"[{part}]" for part in place)
    return f"{PREFIX}{name.upper()}{where}: {message}"
