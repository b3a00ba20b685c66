"""Serve scripts and styles under names that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Mapping

from fastapi import Request

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file with its media type, plain and compressed."""

    media_type: str
    data: bytes
    compressed: bytes


def create_assets() -> APIRouter:
    """Create the route of all files under ``/static``."""
    router = APIRouter(include_in_schema=False)

    @router.get("/static/{name}")
    def get_asset(name: str, request: Request) -> Response:
        asset = dict(_files().values()).get(name)
        if asset is None:
            raise HTTPException(404, "there is no such file")
        headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(asset.compressed, media_type=asset.media_type, headers=headers)
        return Response(asset.data, media_type=asset.media_type, headers=headers)

    return router


def asset_path(name: str) -> str:
    """Return the path of a file, with its content's digest in the name."""
    return f"/static/{_files()[name][0]}"


@cache
def _files() -> Mapping[str, tuple[str, Asset]]:
    """Return each file and the name under which it is served, by its own name."""
    found = {}
    for file in resources.files("dashboards").joinpath("static").iterdir():
        stem, _, kind = file.name.rpartition(".")
        if kind in _TYPES:
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()[:12]
            asset = Asset(f"{_TYPES[kind]}; charset=utf-8", data, gzip.compress(data, mtime=0))
            found[file.name] = (f"{stem}-{digest}.{kind}", asset)
    return found
