"""``python -m bench.artifacts``: measure how quickly artifacts of programs travel, beside ``cp``."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import httpx

from bench.logs import database
from bench.timing import CAVEAT, quantile, say, say_load
from bench.webhooks import serving
from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.adapters.building.object_store import open_bucket
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.store import PostgresStore
from service.ports.building import ArtifactKind
from service.steps.access.manage_tokens import TokenRequest, create_token_by_command
from tests.support.building.s3_server import BUCKET, s3_server
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from service.ports.building import Artifacts

MACHINE: Final = "bench"
UPLOADS: Final = 2  # at once, while pages are read


@click.command()
@click.option("--mebibytes", default=256, show_default=True, help="Of the artifact.")
def main(*, mebibytes: int) -> None:
    """Send shared objects of this host to a web part with its own PostgreSQL, and to S3; get them back."""
    say(CAVEAT)
    say_load("before")
    with (
        tempfile.TemporaryDirectory(prefix="benchgate-bench-") as name,
        database(Path(name)) as (url, engine),
    ):
        home = Path(name)
        programs = collect(home / "programs", mebibytes << 20)
        queue(PostgresStore(engine))
        directory = DirectoryArtifacts(home / "direct")
        worklist = MachineWorklist(engine, MachineIdentity(MACHINE, MACHINE, "perf"), directory)
        worklist.register("fingerprint", {})
        request = TokenRequest(MACHINE, [f"machine:{MACHINE}"])
        _, token = create_token_by_command(PostgresTokens(engine), request, "bench")
        (home / "token").write_text(token)
        build = worklist.claim()
        if build is None:
            raise SystemExit("no build is queued")
        with serving(home, url) as port, closing(build):
            address = f"http://127.0.0.1:{port}"
            over_http = HttpArtifacts(
                address, MachineToken(MACHINE, home / "token"), ArtifactKind.BUILDS, home / "transfers"
            )
            with closing(over_http), bucket(home) as s3:
                compare(programs, home, {"directory": directory, "HTTP": over_http, "S3": s3})
                read_pages(programs, address, over_http)
    say_load("after")


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Make a directory that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-") as name:
        yield Path(name)


def collect(path: Path, size: int) -> Path:
    """Write that many bytes of this host's shared objects to a file."""
    left = size
    with path.open("wb") as file:
        for each in sorted(Path("/usr/lib").rglob("*.so*")):
            if left > 0 and each.is_file() and not each.is_symlink():
                left -= file.write(each.read_bytes()[:left])
    return path


@contextmanager
def bucket(home: Path) -> Iterator[Artifacts]:
    """Start S3Proxy on loopback, over a directory."""
    (home / "s3").mkdir()
    with s3_server(home / "s3") as server:
        os.environ.update(server.env)
        yield open_bucket(f"s3://{BUCKET}", home / "transfers", may_use_http=True)


def compare(programs: Path, home: Path, stores: Mapping[str, Artifacts]) -> None:
    """Print the seconds of each way to put and to get the file, and their ratio to ``cp``."""
    size = programs.stat().st_size
    copied = timed(lambda: copy(programs, home / "copy"))
    say(f"cp and fsync of {size >> 20} MiB: {copied:.2f} s")
    for name, artifacts in stores.items():
        keys: list[str] = []
        put = timed(lambda store=artifacts, keys=keys: keys.append(store.put_file(programs)))  # type: ignore[misc]
        got = timed(lambda store=artifacts, keys=keys: store.get_file(keys[0], home / "out"))  # type: ignore[misc]
        (home / "out").unlink()
        for what, seconds in (("put", put), ("get", got)):
            rate = size / seconds / (1 << 20)
            say(f"{name}, {what}: {seconds:.2f} s, {rate:.0f} MiB/s, {seconds / copied:.1f} times cp")


def read_pages(programs: Path, address: str, over_http: Artifacts) -> None:
    """Print how long the first page takes, alone and while machines send artifacts."""
    with httpx.Client(base_url=address, timeout=60) as client, ThreadPoolExecutor(UPLOADS) as pool:
        client.get("/")
        alone = [timed(lambda: client.get("/")) for _ in range(40)]
        sent = [pool.submit(over_http.put_file, programs) for _ in range(UPLOADS)]
        beside: list[float] = []
        while not all(each.done() for each in sent):
            beside.append(timed(lambda: client.get("/")))
            time.sleep(0.05)
    for what, seconds in (("alone", alone), (f"beside {UPLOADS} uploads", beside)):
        say(f"first page, {what}: p50 {quantile(seconds, 0.5):.3f} s, p95 {quantile(seconds, 0.95):.3f} s")


def copy(source: Path, target: Path) -> None:
    """Copy a file so that it survives a power failure."""
    subprocess.run(["cp", source, target], check=True)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
