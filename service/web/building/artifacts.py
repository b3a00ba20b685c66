"""Take artifacts from machines and give them back, so that these need no directory in common."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import ScopeKind, TokenScope, cover_machine
from service.domain.values.errors import NotAllowed, NotFound, TooMany
from service.domain.values.text import plain
from service.ports.building import ARTIFACTS_HEADER, LARGEST_ARTIFACT, ArtifactKind
from service.web.access.authenticate import authenticate_again, known_caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from typing import BinaryIO

    from service.ports.building import ArtifactStore, IncomingArtifact

MOST_UPLOADS: Final = 4  # with a token at once; a worker sends a program and its log
_UNPACKING: Final = 2  # pieces at once, of all tokens: pages need threads and CPUs too
_STORE_THREADS: Final = 8  # that wait for a bucket, which may hang: pages have the others
_CHUNK_BYTES: Final = 1 << 20
_RETRY_SECONDS: Final = 2.0
_MACHINE: Final = Query(min_length=1, max_length=300)
_OWN: Final = {ARTIFACTS_HEADER: "1"}


@dataclass(slots=True)
class _Sender:
    """The uploads with one token; their pieces wait for each other before they wait for those of others."""

    uploads: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


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
    senders: dict[int, _Sender] = {}  # by the ID of the token
    unpacking, threads = asyncio.Semaphore(_UNPACKING), CapacityLimiter(_STORE_THREADS)

    def require_lease(request: Request, machine: str) -> int:
        token_id = _require_token(request, machine)
        if not holds_lease(machine):
            # Another status than a refused token: nothing is wrong with the machine's settings.
            raise HTTPException(409, f"the machine {plain(machine, 100)} has no build now", _OWN)
        return token_id

    @router.put("/{kind}/{key}", status_code=204)
    async def store(
        request: Request, kind: ArtifactKind, key: str, machine: Annotated[str, _MACHINE]
    ) -> Response:
        token_id = await run_in_threadpool(require_lease, request, machine)
        _check_length(request)
        with _counted(senders, token_id) as sender:
            incoming = await run_in_threadpool(stores[kind].receive, key)
            try:
                await _unpack_body(request, incoming, sender, unpacking)
                # A body may last for hours: the token may be revoked, and the build lost.
                await authenticate_again(request)
                await run_in_threadpool(require_lease, request, machine)
                await run_sync(incoming.publish, limiter=threads)
            finally:
                await run_in_threadpool(incoming.close)
        return Response(status_code=204, headers=_OWN)

    @router.get("/{kind}/{key}")
    async def give(
        request: Request, kind: ArtifactKind, key: str, machine: Annotated[str, _MACHINE]
    ) -> Response:
        await run_in_threadpool(require_lease, request, machine)
        try:
            file = await run_sync(stores[kind].packed, key, limiter=threads)
        except NotFound as error:
            raise HTTPException(404, str(error), _OWN) from error
        headers = {**_OWN, "Content-Length": str(file.seek(0, 2)), "Cache-Control": "no-store"}
        file.seek(0)
        if request.state.is_head:
            file.close()
            return Response(headers=headers)
        return StreamingResponse(_pieces(file, threads), headers=headers, media_type="application/gzip")

    return router


async def _unpack_body(
    request: Request, incoming: IncomingArtifact, sender: _Sender, unpacking: asyncio.Semaphore
) -> None:
    """Unpack the body piece by piece; all pieces of a sender share one turn."""
    waiting = bytearray()

    async def take() -> None:
        async with sender.turn, unpacking:
            await run_in_threadpool(incoming.take, bytes(waiting))
        waiting.clear()

    async for piece in request.stream():
        waiting += piece
        if len(waiting) >= _CHUNK_BYTES:
            await take()
    await take()


def _require_token(request: Request, machine: str) -> int:
    """Return the ID of the machine's token; raises NotAllowed if the caller has another one or none."""
    caller = known_caller(request)
    if not isinstance(caller, TokenHolder) or not cover_machine(caller.scopes, machine):
        raise NotAllowed(
            f"this needs a token with the scope {TokenScope(ScopeKind.MACHINE, machine=machine)}"
        )
    return caller.token_id


def _check_length(request: Request) -> None:
    announced = request.headers.get("content-length", "")
    if not announced.isdigit():
        raise HTTPException(411, "an artifact is sent with its length")
    if int(announced[:20]) > LARGEST_ARTIFACT:
        raise HTTPException(413, f"an artifact has at most {LARGEST_ARTIFACT >> 30} GiB")


@contextmanager
def _counted(senders: dict[int, _Sender], token_id: int) -> Iterator[_Sender]:
    """Count an upload until it ends; raises TooMany if there are too many already."""
    sender = senders.setdefault(token_id, _Sender())
    if sender.uploads >= MOST_UPLOADS:
        raise TooMany(f"a token sends at most {MOST_UPLOADS} artifacts at once", _RETRY_SECONDS)
    sender.uploads += 1
    try:
        yield sender
    finally:
        sender.uploads -= 1
        if not sender.uploads:
            del senders[token_id]


async def _pieces(file: BinaryIO, threads: CapacityLimiter) -> AsyncIterator[bytes]:
    with file:
        while piece := await run_sync(file.read, _CHUNK_BYTES, limiter=threads):
            yield piece
