"""Settings, read from the environment by the outermost code only."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from service.domain.errors import BadInput

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_PREFIX: Final = "BENCHGATE_"
_SHORTEST_SECRET: Final = 16  # what a person may type by hand is too easily guessed


class _Settings(BaseSettings):
    """Settings that say in one line each which variables cannot be used.

    Raises:
        BadInput: a variable cannot be used. What it holds is not repeated: it may be a secret.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="ignore")

    home: Path = Field(Path("var"), description="where data of this machine is kept")
    redis_url: str = Field("", description="the broker; empty: `benchgate up` starts one")
    git_url: str = Field("", description="where a project is cloned from, with {project} in it")
    artifacts: Path | None = Field(None, description="artifact directory; by default below home")

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - whatever the fields take
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise BadInput("\n".join(_line(each) for each in error.errors())) from None
        except SettingsError as error:
            field = re.search(r'field "(\w+)"', str(error))
            name = _PREFIX + field[1].upper() if field else "settings"
            raise BadInput("is not JSON; a list is written as '[\"a\", \"b\"]' or '[2, 3]'", name) from None

    @property
    def artifacts_path(self) -> Path:
        """Where artifacts are kept."""
        return self.artifacts or self.home / "artifacts"

    def remote(self, project: str) -> str:
        """Where a project is cloned from."""
        return self.git_url.replace("{project}", project)


class ControlSettings(_Settings):
    """Of web, the control worker and the schedule."""

    database_url: str = Field("", description="the owner's; empty: `benchgate up` starts a server")
    base_url: str = Field("http://127.0.0.1:8080", description="how people reach the pages")
    instance: str = Field("console", description="the name of the review server")
    webhook_secrets: list[SecretStr] = Field(
        default_factory=list, description="the accepted secrets in the webhook's path; two during rotation"
    )
    gerrit_url: str = Field("", description="Gerrit's address; empty: the console review server")
    gerrit_user: str = Field("", description="the account that asks and posts")
    gerrit_password: SecretStr = Field(SecretStr(""), description="its HTTP password or auth token")
    gerrit_bearer: SecretStr = Field(SecretStr(""), description="a bearer token in place of both")
    gerrit_projects: list[str] = Field(default_factory=list, description="empty: all that the account sees")
    gerrit_ssh_host: str = Field("", description="where events are streamed from; empty: nowhere")
    gerrit_ssh_port: int = Field(29418, ge=1, le=65535)
    gerrit_ssh_user: str = Field("", description="empty: as gerrit_user")
    gerrit_ssh_key: Path | None = Field(None, description="its private key, without a passphrase")
    gerrit_known_hosts: Path | None = Field(None, description="the file that holds the server's host key")
    reconcile_seconds: float = Field(60.0, gt=0.0, description="between two looks at the changes that moved")

    @field_validator("webhook_secrets")
    @classmethod
    def _refuse_guessable(cls, secrets: list[SecretStr]) -> list[SecretStr]:
        if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
            raise ValueError(f"each secret needs at least {_SHORTEST_SECRET} characters")
        return secrets

    @property
    def review_path(self) -> Path:
        """The state of the console review server."""
        return self.home / "review.sqlite"


class MachineSettings(_Settings):
    """Of a machine worker: it never sees the owner's database URL nor a review server's credential."""

    machine_database_url: str = Field("", description="with the role benchgate_machine")
    pool: str = Field("perf", description="of machines whose results may be compared with each other")
    machine_name: str = Field(default_factory=socket.gethostname)
    lease_seconds: float = Field(15.0, gt=0.5, description="silence after which a build is taken over")
    cpus: list[int] = Field(default_factory=list, description="the measured set; empty: all")
    waits_for_quiet: bool = Field(default=True, description="take no build while others use the CPUs")
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"


def _line(error: ErrorDetails) -> str:
    name, *place = (str(part) for part in error["loc"])
    where = "".join(f"[{part}]" for part in place)
    return f"{_PREFIX}{name.upper()}{where}: {error['msg'].removeprefix('Value error, ')}"
