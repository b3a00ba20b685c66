"""Settings of the control plane: the web server, the control worker and the schedule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from service.config.shared import PREFIX, ByInstance, Settings, is_protected
from service.domain.runs.retention import policy_with
from service.domain.values.errors import BadInput
from service.domain.values.loopback import is_loopback
from service.domain.values.text import MAIL_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Nothing that could be a password or lead out of the prefix.
_BUCKET: Final = re.compile(r"(s3|gs|az)://[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_-][\w.-]*)*/?", re.ASCII)
_LONGEST_LOOKBACK: Final = 36_500.0  # days; a look-back must not go beyond the year 1, where dates begin
_SHORTEST_SECRET: Final = 16  # a shorter secret is too easy to guess


def _long_enough(secrets: list[SecretStr]) -> list[SecretStr]:
    if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(f"each secret needs at least {_SHORTEST_SECRET} characters")
    return secrets


def _protected(url: str) -> str:
    if url and not is_protected(url):
        raise ValueError("must begin with https://, or with http:// and a host of this machine")
    return url


_Secrets = Annotated[list[SecretStr], AfterValidator(_long_enough)]
_ProtectedUrl = Annotated[str, AfterValidator(_protected)]


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


class ControlSettings(Settings):
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
    gerrits: ByInstance[GerritSettings] = Field(
        default_factory=dict,
        description="several Gerrits by instance (a JSON object), instead of the variables of one",
    )

    @field_validator("artifacts")
    @classmethod
    def _check_bucket(cls, place: str) -> str:
        if re.match(r"(?i)(s3[an]?|gc?s|az|abfss?):", place) and not _BUCKET.fullmatch(place):
            raise ValueError(
                "must be like s3://bucket/prefix (or gs://, az://), with letters, digits and . _ - only; "
                "credentials have variables of their own"
            )
        return place

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
        if issuer and not is_protected(info.data.get("base_url", "")):
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
            if not is_protected(url.get_secret_value()):
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
                raise ValueError(f"also {PREFIX}{field.upper()} is set: unset it, and write its value here")
        _refuse_shared("url", ((name, each.url.rstrip("/")) for name, each in gerrits.items()))
        secrets = ((name, secret) for name, each in gerrits.items() for secret in each.webhook_secrets)
        _refuse_shared("webhook secret", ((name, each.get_secret_value()) for name, each in secrets))
        return gerrits

    @property
    def bucket_url(self) -> str:
        """The address of the bucket and prefix with the artifacts; empty if they lie in a directory."""
        return self.artifacts.rstrip("/") if _BUCKET.fullmatch(self.artifacts) else ""

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
            return self.git_urls[instance], f"{PREFIX}GIT_URLS[{instance}]"
        return self.git_url, f"{PREFIX}GIT_URL"

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
