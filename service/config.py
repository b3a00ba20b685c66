"""Settings, read from the environment by the outermost code only."""

from __future__ import annotations

import socket
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="BENCHGATE_", extra="ignore")

    home: Path = Field(Path("var"), description="where data of this machine is kept")
    redis_url: str = Field("", description="the broker; empty: `benchgate up` starts one")
    git_url: str = Field("", description="where a project is cloned from, with {project} in it")
    artifacts: Path | None = Field(None, description="artifact directory; by default below home")

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
    reconcile_seconds: float = 60.0

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
    sandbox: str = Field("bubblewrap", pattern="^(bubblewrap|none)$")
