"""Parts of the pages' addresses."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

JobName = Annotated[str, Path(max_length=100)]
Number = Annotated[int, Path(ge=1, le=(1 << 31) - 1)]
Search = Annotated[str, Query(max_length=200)]
Show = Annotated[str, Query(max_length=20)]
