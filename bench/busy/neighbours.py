"""Load a machine as a build server, a database and another measurement do, with many wake-ups."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.embedded.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCE: Final = Path(__file__).with_name("computing.cpp")
_COMPILE: Final = 'while :; do g++ -O2 -std=c++17 -DPERCENT=100 -DOWN_THREAD=0 -c "$0" -o /dev/null; done'
_MEASURE: Final = 'while :; do "$0" --benchmark_min_time=0.01 >/dev/null 2>&1; done'
_QUERY: Final = """
import sys
import psycopg
with psycopg.connect(sys.argv[1]) as connection:
    while True:
        connection.execute("SELECT count(*) FROM generate_series(1, 5000) AS n WHERE n % 7 = 3").fetchone()
"""


@contextmanager
def busy(work: Path, program: Path, count: int) -> Iterator[None]:
    """Run ``count`` compilers and clients of a database, and a benchmark program, until the block ends."""
    server = EmbeddedPostgres(work / "database")
    server.start(durable=False)
    address = server.administrator_url.replace("postgresql+psycopg", "postgresql")
    commands = [
        *[["sh", "-c", _COMPILE, str(_SOURCE)]] * count,
        *[[sys.executable, "-c", _QUERY, address]] * count,
        ["sh", "-c", _MEASURE, str(program)],
    ]
    with ExitStack() as running:
        running.callback(server.stop)
        for command in commands:
            process = running.enter_context(subprocess.Popen(command))
            running.callback(process.kill)
        yield
