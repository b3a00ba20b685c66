"""Answer Gerrit's Checks tab with the names and values of Gerrit's Checks API."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads the annotation
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MAX_SUMMARY = 80  # more is cut off by Gerrit


class RunStatus(StrEnum):
    """The progress of an attempt."""

    RUNNABLE = "RUNNABLE"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"


class Category(StrEnum):
    """The weight of a result for somebody who wants to submit; an error prevents it."""

    SUCCESS = "SUCCESS"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Tag(_Shape):
    """A short label beside a result."""

    name: str
    tooltip: str | None = None
    color: Literal["gray", "yellow", "pink", "purple", "cyan", "brown"] = "gray"


class Link(_Shape):
    """An icon that links to one of Benchgate's pages."""

    url: str
    tooltip: str
    primary: bool = False
    icon: Literal["external", "view_timeline", "file_present"]


class CheckResult(_Shape):
    """The result of a finished build. ``message`` is plain text, with one cause per paragraph."""

    external_id: str
    category: Category
    summary: Annotated[str, Field(max_length=MAX_SUMMARY)]
    message: str | None = None
    tags: tuple[Tag, ...]
    links: tuple[Link, ...]


class CheckRun(_Shape):
    """A build: one attempt of a job at a patch set."""

    change: int | None = None
    patchset: int | None = None
    attempt: Annotated[int, Field(ge=1, description="the oldest is 1")]
    external_id: Annotated[str, Field(examples=["kv-engine-cv-perf/5904"])]
    check_name: Annotated[str, Field(description="the job")]
    check_link: str
    status: RunStatus
    status_description: str
    label_name: Annotated[str | None, Field(description="the label that the build votes on")] = None
    scheduled_timestamp: datetime
    started_timestamp: datetime | None = None
    finished_timestamp: datetime | None = None
    results: tuple[CheckResult, ...]


class FetchResponse(_Shape):
    """The builds of a patch set; times are texts, which the plugin turns into dates."""

    response_code: Literal["OK"] = "OK"
    runs: tuple[CheckRun, ...]
