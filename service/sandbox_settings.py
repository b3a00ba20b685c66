"""Settings of what the programs of patch sets can reach on a machine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class SandboxSettings(BaseModel):
    """The part of a machine's settings that says what builds can reach."""

    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    mounts: list[str] = Field(
        default_factory=list,
        description="directories of tool chains and libraries that builds and launches see, read-only",
    )
