"""Settings of a machine worker."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from service.config.shared import Settings, is_protected


class MachineSettings(Settings):
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
        if "://" in place and not is_protected(place):
            raise ValueError(
                "must be a directory or the address of the control plane, which begins with https:// (or "
                "http:// and a host of this machine); a bucket (s3://) is for the control plane only, and "
                "`benchgate up` also runs machines, so it needs a directory"
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
