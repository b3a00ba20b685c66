"""Take artifacts from machines and give them back, so that these need no directory in common."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import ScopeKind, TokenScope, cover_machine
from service.domain.values.errors import NotAllowed, TooMany
from service.domain.values.text import plain
from service.ports.building import LARGEST_ARTIFACT, ArtifactKind
from service.web.access.authenticate import known_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from service.ports.building import ArtifactStore, IncomingArtifact

MOST_UPLOADS: Final = 4  # of a machine at once; a worker sends a program and its log
_UNPACKING: Final = 2  # pieces at once, of all machines: pages need threads and CPUs too
_CHUNK_BYTES: Final = 1 << 20
_RETRY_SECONDS: Final = 2.0
_MACHINE: Final = Query(min_length=1, max_length=300)


def create_artifacts(
    stores: Mapping[ArtifactKind, ArtifactStore], holds_lease: Callable[[str], bool]
) -> APIRouter:
    """Create the routes that send and get artifacts. None deletes, lists or overwrites.

    Args:
        stores: where the artifacts are.
        holds_lease: returns whether a machine holds a build now; called in a thread.
    """
    # Not described in the OpenAPI document: only machines of this version use them.
    router = APIRouter(prefix="/api/v1/artifacts", include_in_schema=False)
    uploads: Counter[str] = Counter()  # by machine
    unpacking = asyncio.Semaphore(_UNPACKING)

    def require_lease(request: Request, machine: str) -> None:
        _require_token(request, machine)
        if not holds_lease(machine):
            # Another status than a refused token: nothing is wrong with the machine's settings.
            raise HTTPException(409, f"the machine {plain(machine, 100)} has no build now")

    async def take(incoming: IncomingArtifact, waiting: bytearray) -> None:
        async with unpacking:
            await run_in_threadpool(incoming.take, bytes(waiting))
        waiting.clear()

    @router.put("/{kind}/{key}", status_code=204)
    async def store(
        request: Request, kind: ArtifactKind, key: str, machine: Annotated[str, _MACHINE]
    ) -> Response:
        await run_in_threadpool(require_lease, request, machine)
        _check_length(request)
        with _counted(uploads, machine):
            incoming = await run_in_threadpool(stores[kind].receive, key)
            try:
                waiting = bytearray()
                async for piece in request.stream():
                    waiting += piece
                    if len(waiting) >= _CHUNK_BYTES:
                        await take(incoming, waiting)
                await take(incoming, waiting)
                await run_in_threadpool(incoming.publish)
            finally:
                await run_in_threadpool(incoming.close)
        return Response(status_code=204)

    @router.get("/{kind}/{key}")
    def give(request: Request, kind: ArtifactKind, key: str, machine: Annotated[str, _MACHINE]) -> Response:
        require_lease(request, machine)
        file = stores[kind].packed(key)
        headers = {"Content-Length": str(file.seek(0, 2)), "Cache-Control": "no-store"}
        file.seek(0)
        if request.state.is_head:
            file.close()
            return Response(headers=headers)
        return StreamingResponse(_pieces(file), headers=headers, media_type="application/gzip")

    return router


def _require_token(request: Request, machine: str) -> None:
    """Raise NotAllowed unless the caller has the token of the machine."""
    caller = known_caller(request)
    if not isinstance(caller, TokenHolder) or not cover_machine(caller.scopes, machine):
        raise NotAllowed(
            f"this needs a token with the scope {TokenScope(ScopeKind.MACHINE, machine=machine)}"
        )


def _check_length(request: Request) -> None:
    announced = request.headers.get("content-length", "")
    if not announced.isdigit():
        raise HTTPException(411, "an artifact is sent with its length")
    if int(announced[:20]) > LARGEST_ARTIFACT:
        raise HTTPException(413, f"an artifact has at most {LARGEST_ARTIFACT >> 30} GiB")


@contextmanager
def _counted(uploads: Counter[str], machine: str) -> Iterator[None]:
    """Count an upload until it ends; raises TooMany if there are too many already."""
    if uploads[machine] >= MOST_UPLOADS:
        raise TooMany(f"a machine sends at most {MOST_UPLOADS} artifacts at once", _RETRY_SECONDS)
    uploads[machine] += 1
    try:
        yield
    finally:
        uploads[machine] -= 1
        uploads += Counter()  # forget the machines that have none


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK_BYTES):
            yield piece
