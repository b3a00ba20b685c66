"""A real S3 server for tests: S3Proxy over a directory, downloaded by Maven as Gerrit is."""

from __future__ import annotations

import hashlib
import socket
import subprocess
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.support.waiting import eventually
from tools.gerrit_dev.cache import cache_directory, kept
from tools.gerrit_dev.jars import COPY, POM
from tools.gerrit_dev.java import installed
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import CannotServe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION: Final = "2.6.0"  # 4.1.0 is published without one of its dependencies
# Of the lines "digest name" of all its jars: its own description fixes their versions.
JARS_SHA256: Final = "8b5e17c18f8c12ead2dcb6acbc662b60af277e4b26bbcbc417b1644d3a7e868f"
DEPENDENCY: Final = f"""
    <dependency><groupId>org.gaul</groupId><artifactId>s3proxy</artifactId><version>{VERSION}</version></dependency>"""
BUCKET: Final = "benchgate"
SECRET: Final = "only-for-tests"
_START_SECONDS: Final = 60.0


@dataclass
class S3Server:
    """A server whose bucket is a directory; it can be killed and started again."""

    root: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def files(self) -> Path:
        """The directory with the objects of the bucket."""
        return self.root / "data" / BUCKET

    @property
    def env(self) -> dict[str, str]:
        """The variables of the provider."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "benchgate",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def start(self) -> None:
        """Start it, and wait until it answers."""
        java = installed(11)
        assert java, "Java is missing: run `tools/need gerrit`"
        words = (
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            f"{_jars()}/*",
            "org.gaul.s3proxy.Main",
        )
        with (self.root / "s3.log").open("ab") as log:
            argv = [str(java), *words, "--properties", str(self.root / "s3.conf")]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log)
        assert eventually(self._answers, _START_SECONDS), f"S3Proxy did not start: {self.root}/s3.log"

    def _answers(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), 1)):
            return True
        return False

    def kill(self) -> None:
        """Kill it, as a lost server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def s3_server(root: Path) -> Iterator[S3Server]:
    """Run a server with an empty bucket below ``root``."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        server = S3Server(root, int(probe.getsockname()[1]))
    server.files.mkdir(parents=True)
    settings = {
        "s3proxy.endpoint": server.env["AWS_ENDPOINT_URL"],
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": server.env["AWS_ACCESS_KEY_ID"],
        "s3proxy.credential": SECRET,
        "s3proxy.ignore-unknown-headers": "true",  # it knows none of the checksums that clients add
        "jclouds.provider": "filesystem-nio2",
        "jclouds.identity": "unused",
        "jclouds.credential": "unused",
        "jclouds.filesystem.basedir": str(root / "data"),
    }
    (root / "s3.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    try:
        server.start()
        yield server
    finally:
        server.kill()


def _jars() -> Path:
    def fetch(path: Path) -> None:
        (path / "pom.xml").write_text(POM.format(dependencies=DEPENDENCY))
        words = ("-f", str(path / "pom.xml"), COPY, f"-DoutputDirectory={path}")
        try:
            output_of("mvn", "-q", "-B", "-Dstyle.color=never", *words)
        except CannotServe as error:
            what = f"S3Proxy {VERSION} is downloaded once from Maven Central, which failed: {error}"
            raise CannotServe(what) from error
        assert _is_whole(path), "the jars of S3Proxy are not the pinned ones"

    return kept(cache_directory().parent / f"s3proxy-{VERSION}", _is_whole, fetch)


def _is_whole(path: Path) -> bool:
    jars = sorted(path.glob("*.jar"))
    lines = (f"{hashlib.sha256(jar.read_bytes()).hexdigest()} {jar.name}\n" for jar in jars)
    return hashlib.sha256("".join(lines).encode()).hexdigest() == JARS_SHA256
