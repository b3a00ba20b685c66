"""Read settings from environment variables; only the outermost code does."""

from __future__ import annotations

import os
import re
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from service.domain.runs.retention import policy_with
from service.domain.values.errors import BadInput
from service.domain.values.loopback import is_loopback
from service.domain.values.text import MAIL_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_core import ErrorDetails

_PREFIX: Final = "BENCHGATE_"
_LONGEST_LOOKBACK: Final = 36_500.0  # days; a look-back must not go beyond the year 1, where dates begin
_SHORTEST_SECRET: Final = 16  # a shorter secret is too easy to guess
# A part of addresses (``core~123``), of heartbeats and of paths.
_INSTANCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_Value = TypeVar("_Value")


def _long_enough(secrets: list[SecretStr]) -> list[SecretStr]:
    if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(f"each secret needs at least {_SHORTEST_SECRET} characters")
    return secrets


def _checked_names(values: dict[str, _Value]) -> dict[str, _Value]:
    for name in values:
        if not _INSTANCE.fullmatch(name):
            raise ValueError(
                f"{name[:50]!r} cannot be the name of an instance: use up to 40 letters, digits, '.', '_' "
                "and '-', and begin with a letter or digit"
            )
    return values


def _protected(url: str) -> str:
    if url and not _is_protected(url):
        raise ValueError("must begin with https://, or with http:// and a host of this machine")
    return url


_Secrets = Annotated[list[SecretStr], AfterValidator(_long_enough)]
_ByInstance = Annotated[dict[str, _Value], AfterValidator(_checked_names)]
_ProtectedUrl = Annotated[str, AfterValidator(_protected)]


class _Settings(BaseSettings):
    """Settings from environment variables; the error has one line for each bad variable.

    Raises:
        BadInput: a variable cannot be used. The message does not repeat its value, which may be a secret.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="ignore")

    home: Path = Field(Path("var"), description="data directory on this machine")
    redis_url: str = Field("", description="the broker; empty: `benchgate up` starts one")
    git_url: str = Field("", description="URL to clone a project from; {project} stands for its name")
    git_urls: _ByInstance[str] = Field(
        default_factory=dict, description="that URL by the instance, with several Gerrits (a JSON object)"
    )
    artifacts: str = Field(
        "",
        description="artifact directory, by default `artifacts` below home; or, for a machine without one, "
        "the https:// address of the pages",
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
            name = _PREFIX + field[1].upper() if field else "settings"
            raise BadInput(
                'is not JSON; a list is written as \'["a", "b"]\' or \'[2, 3]\', an object as \'{"a": "b"}\'',
                name,
            ) from None

    @field_validator("redis_url")
    @classmethod
    def _check_certificate(cls, url: str) -> str:
        """Ask for the broker's certificate, which Kombu does not check unless the address says so."""
        address = urlsplit(url)
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
            what = "must be a directory here; only a machine without it gets artifacts over HTTP"
            raise BadInput(what, f"{_PREFIX}ARTIFACTS")
        return Path(self.artifacts) if self.artifacts else self.home / "artifacts"

    def remote(self, project: str) -> str:
        """Return the URL to clone a project from."""
        return self.git_url.replace("{project}", project)

    @property
    def remotes(self) -> Mapping[str, Callable[[str], str]]:
        """The functions that return the URL of a project, by the instances that have their own."""
        return {name: partial(url.replace, "{project}") for name, url in self.git_urls.items()}


class GerritSettings(BaseModel):
    """The settings of one Gerrit; ``ControlSettings`` describes the variable ``gerrit_…`` of each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1)
    user: str = ""
    password: SecretStr = SecretStr("")
    bearer: SecretStr = SecretStr("")
    projects: list[str] = Field(default_factory=list)
    ssh_host: str = ""
    ssh_port: int = Field(29418, ge=1, le=65535)
    ssh_user: str = ""
    ssh_key: Path | None = None
    known_hosts: Path | None = None
    webhook_secrets: _Secrets = Field(default_factory=list)


class ControlSettings(_Settings):
    """Settings of the web server, the control worker and the schedule."""

    database_url: str = Field(
        "", description="URL with the owner role; empty: `benchgate up` starts a server"
    )
    base_url: str = Field("http://127.0.0.1:8080", description="address of the pages")
    instance: str = Field("console", description="name of the review server; part of the home")
    webhook_secrets: _Secrets = Field(
        default_factory=list, description="secrets accepted in the webhook's path; two during rotation"
    )
    failure_patterns: Path | None = Field(
        None, description="YAML file with patterns of failures in logs, by name"
    )
    gerrit_url: str = Field("", description="Gerrit's address; empty: the console review server")
    gerrit_user: str = Field("", description="the account that reads changes and posts reviews")
    gerrit_password: SecretStr = Field(SecretStr(""), description="its HTTP password or auth token")
    gerrit_bearer: SecretStr = Field(
        SecretStr(""), description="a bearer token, instead of user and password"
    )
    gerrit_projects: list[str] = Field(
        default_factory=list, description="projects to serve; empty: all that the account can see"
    )
    gerrit_ssh_host: str = Field("", description="host of the event stream; empty: no event stream")
    gerrit_ssh_port: int = Field(29418, ge=1, le=65535)
    gerrit_ssh_user: str = Field("", description="empty: the same as gerrit_user")
    gerrit_ssh_key: Path | None = Field(None, description="private key of that user, without a passphrase")
    gerrit_known_hosts: Path | None = Field(None, description="the file that holds the server's host key")
    first_contact_days: float = Field(
        7.0,
        ge=0.0,
        le=_LONGEST_LOOKBACK,
        allow_inf_nan=False,
        description="at first contact, run open changes that were updated within so many days",
    )
    retention: dict[str, int] = Field(
        default_factory=dict, description="days for which records are kept, by kind (a JSON object)"
    )
    reconcile_seconds: float = Field(
        60.0, gt=0.0, description="seconds between two checks for updated changes"
    )
    oidc_issuer: _ProtectedUrl = Field(
        "", description="the identity provider's issuer URL; empty: no provider"
    )
    oidc_client_id: str = Field("", description="the client ID under which it knows Benchgate")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), validate_default=True, description="the secret of this client"
    )
    role_groups: dict[Literal["reader", "reviewer", "operator"], list[str]] = Field(
        default_factory=dict, description="the provider's groups that give each role"
    )
    read: Literal["public", "signed-in"] = Field("public", description="who may read the pages and the API")
    bugs_url: _ProtectedUrl = Field("", description="Jira's address; empty: no bug tracker is asked")
    bugs_user: str = Field("", description="the account of that token; empty: the token names it")
    bugs_token: SecretStr = Field(SecretStr(""), description="an API token; empty: nobody signs in")
    bugs_post: bool = Field(
        default=False, validate_default=True, description="Benchgate may add comments to bugs"
    )
    smtp_url: SecretStr = Field(
        SecretStr(""),
        description="smtp:// (with STARTTLS) or smtps:// URL of the mail server; empty: no e-mail",
    )
    mail_from: str = Field(
        "", validate_default=True, description="the address that e-mail about regressions comes from"
    )
    chat_urls: dict[str, SecretStr] = Field(
        default_factory=dict,
        description="incoming webhooks of Slack or Mattermost by project (a JSON object); `*`: all others",
    )
    # The last field, since it is checked with the others.
    gerrits: _ByInstance[GerritSettings] = Field(
        default_factory=dict,
        description="several Gerrits by instance (a JSON object), instead of the variables of one",
    )

    @field_validator("retention")
    @classmethod
    def _check_retention(cls, days: dict[str, int]) -> dict[str, int]:
        try:
            policy_with(days)
        except BadInput as error:
            raise ValueError(str(error)) from None
        return days

    @field_validator("oidc_issuer")
    @classmethod
    def _require_encryption(cls, issuer: str, info: ValidationInfo) -> str:
        if issuer and not _is_protected(info.data.get("base_url", "")):
            raise ValueError(
                "needs a BENCHGATE_BASE_URL that begins with https://, or others could read the cookies of "
                "sessions on their way; http:// is accepted for 127.0.0.1 and localhost"
            )
        return issuer

    @field_validator("oidc_client_secret")
    @classmethod
    def _require_client(cls, secret: SecretStr, info: ValidationInfo) -> SecretStr:
        if info.data.get("oidc_issuer") and not (info.data.get("oidc_client_id") and secret):
            raise ValueError("BENCHGATE_OIDC_ISSUER also needs this and BENCHGATE_OIDC_CLIENT_ID")
        return secret

    @field_validator("smtp_url")
    @classmethod
    def _require_mail_server(cls, url: SecretStr) -> SecretStr:
        if url and not _is_mail_server(url.get_secret_value()):
            raise ValueError(
                "must be like smtps://user:password@mail.example.com, or smtp:// with STARTTLS; other "
                "characters than letters, digits and . _ ~ - of user and password are written like %2F"
            )
        return url

    @field_validator("mail_from")
    @classmethod
    def _require_sender(cls, address: str, info: ValidationInfo) -> str:
        if info.data.get("smtp_url") and not re.fullmatch(MAIL_ADDRESS, address):
            raise ValueError("BENCHGATE_SMTP_URL also needs this: an address such as benchgate@example.com")
        return address

    @field_validator("chat_urls")
    @classmethod
    def _require_protected(cls, urls: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for project, url in urls.items():
            if not _is_protected(url.get_secret_value()):
                raise ValueError(f"the URL of {project[:50]} must begin with https://")
        return urls

    @field_validator("bugs_post")
    @classmethod
    def _require_account(cls, may_post: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - by Pydantic
        if may_post and not (info.data.get("bugs_url") and info.data.get("bugs_token")):
            raise ValueError("also needs BENCHGATE_BUGS_URL and BENCHGATE_BUGS_TOKEN")
        return may_post

    @model_validator(mode="after")
    def _require_way_in(self) -> Self:
        if self.read != "public" and not self.oidc_issuer and not self.has_local_identity:
            raise ValueError("BENCHGATE_READ: signed-in needs BENCHGATE_OIDC_ISSUER; nobody could sign in")
        return self

    @field_validator("gerrits")
    @classmethod
    def _refuse_two_ways(
        cls, gerrits: dict[str, GerritSettings], info: ValidationInfo
    ) -> dict[str, GerritSettings]:
        fields = cls.model_fields
        of_one = ("instance", "webhook_secrets", *(each for each in fields if each.startswith("gerrit_")))
        for field in of_one if gerrits else ():
            default = fields[field].get_default(call_default_factory=True)
            if info.data.get(field, default) != default:
                raise ValueError(f"also {_PREFIX}{field.upper()} is set: unset it, and write its value here")
        _refuse_shared("url", ((name, each.url.rstrip("/")) for name, each in gerrits.items()))
        secrets = ((name, secret) for name, each in gerrits.items() for secret in each.webhook_secrets)
        _refuse_shared("webhook secret", ((name, each.get_secret_value()) for name, each in secrets))
        return gerrits

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of the review servers, in alphabetical order."""
        return tuple(sorted(self.gerrits)) or (self.instance,)

    @property
    def gerrit_servers(self) -> Mapping[str, GerritSettings]:
        """The Gerrits by instance, however they were given; none for the console review server."""
        if self.gerrits or not self.gerrit_url:
            return self.gerrits
        names = GerritSettings.model_fields.keys() - {"webhook_secrets"}
        given = {name: getattr(self, f"gerrit_{name}") for name in names}
        secrets = self.webhook_secrets
        return {self.instance: GerritSettings.model_construct(**given, webhook_secrets=secrets)}

    @property
    def private_keys(self) -> tuple[Path, ...]:
        """The files with keys of the accounts at the Gerrits."""
        return tuple(each.ssh_key for each in self.gerrit_servers.values() if each.ssh_key)

    @property
    def webhook_secrets_by_instance(self) -> Mapping[str, list[str]]:
        """The secrets of the webhook's path."""
        secrets = {name: each.webhook_secrets for name, each in self.gerrits.items()}
        secrets = secrets or {self.instance: self.webhook_secrets}
        return {name: [each.get_secret_value() for each in own] for name, own in secrets.items()}

    @property
    def event_streams(self) -> tuple[str, ...]:
        """The names of the Gerrits that have an event stream."""
        return tuple(sorted(name for name, each in self.gerrit_servers.items() if each.ssh_host))

    def git_url_of(self, instance: str) -> tuple[str, str]:
        """Return the URL to clone a project of an instance from, and the variable that sets it."""
        if instance in self.git_urls:
            return self.git_urls[instance], f"{_PREFIX}GIT_URLS[{instance}]"
        return self.git_url, f"{_PREFIX}GIT_URL"

    @property
    def has_gerrit(self) -> bool:
        """The review servers are Gerrits, not the console review server."""
        return bool(self.gerrit_servers)

    @property
    def has_local_identity(self) -> bool:
        """The user of this machine, which alone can reach the pages, may sign in without a provider."""
        is_local = is_loopback(urlsplit(self.base_url).hostname or "")
        return is_local and not self.oidc_issuer and not self.has_gerrit

    @property
    def review_path(self) -> Path:
        """The state of the console review server."""
        return self.home / "review.sqlite"


class MachineSettings(_Settings):
    """Settings of a machine worker, without the owner's database URL and the review server's credentials."""

    machine_database_url: str = Field("", description="URL with the role benchgate_machine")
    machine_token_file: Path | None = Field(
        None,
        validate_default=True,
        description="file with the API token of this machine, for artifacts over HTTP",
    )
    pool: str = Field("perf", description="the pool: machines whose results may be compared with each other")
    machine_name: str = Field(default_factory=socket.gethostname)
    host: str = Field("", description="the host that several machines share; empty: the machine's name")
    builds_beside: int = Field(
        default_factory=lambda: max(1, len(os.sched_getaffinity(0)) // 2),
        ge=1,
        description="builds without benchmarks that may run on the host at once; by default half the CPUs",
    )
    lease_seconds: float = Field(
        15.0, gt=0.5, description="seconds without a heartbeat after which another machine may take the build"
    )
    cpus: list[int] = Field(default_factory=list, description="CPUs for measured programs; empty: all")
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    mounts: list[str] = Field(
        default_factory=list,
        description="directories of tool chains and libraries that builds and launches see, read-only",
    )
    log_bytes: int = Field(
        64 << 20,
        ge=1 << 20,
        le=1 << 30,
        description="bytes of a build's log that are kept: the first quarter, and the newest of the rest",
    )
    compiler_cache: int = Field(
        5 << 30,
        ge=0,
        description="bytes of object files that ccache keeps for each project on the host; 0: no cache",
    )
    waits_for_quiet: bool = Field(
        default=True, description="take no build while other processes use the CPUs"
    )

    @field_validator("artifacts")
    @classmethod
    def _check_artifacts(cls, place: str) -> str:
        if "://" in place and not _is_protected(place):
            raise ValueError(
                "must be a directory or the address of the control plane, which begins with https:// (or "
                "http:// and a host of this machine); only the control plane knows other stores"
            )
        return place

    @field_validator("machine_token_file")
    @classmethod
    def _require_token(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        if "artifacts" not in info.data:
            return file  # it has an error of its own
        has_address = "://" in info.data["artifacts"]
        if file is not None and not has_address:
            raise ValueError(
                "is for a machine without the artifact directory: set BENCHGATE_ARTIFACTS to the address of "
                "the control plane, or unset this"
            )
        if file is None and has_address:
            raise ValueError(
                "BENCHGATE_ARTIFACTS is an address, which also needs this; `benchgate token create NAME "
                "--scope machine:NAME` on the control plane prints a token"
            )
        return file

    @property
    def artifacts_url(self) -> str:
        """The address of the control plane; empty if this machine has the artifact directory."""
        return self.artifacts if "://" in self.artifacts else ""

    @property
    def host_name(self) -> str:
        """The name of the host."""
        return self.host or self.machine_name


def require(value: str, name: str, otherwise: str = "`benchgate up` starts a server and sets it") -> None:
    """Raise BadInput if a setting has no value; ``otherwise`` is the advice in the message."""
    if not value:
        raise BadInput(f"{name} is not set; {otherwise}", "settings")


def _is_protected(url: str) -> bool:
    """Return whether nobody on the way can read the requests to a URL."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def _is_mail_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = url.isascii() and not any((parts.path, parts.query, parts.fragment))
    return bool(is_plain and parts.scheme in {"smtp", "smtps"} and parts.hostname and has_port)


def _refuse_shared(what: str, values: Iterable[tuple[str, str]]) -> None:
    owners: dict[str, str] = {}
    for name, value in values:
        if owners.setdefault(value, name) != name:
            raise ValueError(f"{owners[value]} and {name} have the same {what}")


def _line(error: ErrorDetails) -> str:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return message  # of several variables, which it names
    name, *place = (str(part) for part in error["loc"])
    where = "".join(f"[{part}]" for part in place)
    return f"{_PREFIX}{name.upper()}{where}: {message}"
