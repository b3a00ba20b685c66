"""Run the command line as a user would, in a process of its own that need not import it again."""

from __future__ import annotations

import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# A process that imported these is forked for each command: importing takes up to half of a command's time.
_IMPORTED: Final = [
    "scipy.special",
    "rich._emoji_codes",
    "service.cli.local.commits",
    "service.cli.local.gate",
    "service.cli.local.results",
    "service.adapters.machines.local_build",
]
_FORKING: Final = get_context("forkserver")
_FORKING.set_forkserver_preload(_IMPORTED)


def benchgate(*words: str, cache: str = "/nonexistent") -> CompletedProcess[str]:
    """Run `benchgate` with these words and no terminal."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as directory:
        out, err = Path(directory, "out"), Path(directory, "err")
        running = _FORKING.Process(target=_main, args=(words, environment, str(out), str(err)))
        running.start()
        running.join()
        assert running.exitcode is not None
        return CompletedProcess(["benchgate", *words], running.exitcode, out.read_text(), err.read_text())


def _main(words: tuple[str, ...], environment: Mapping[str, str], out: str, err: str) -> None:
    from service.cli import main  # noqa: PLC0415 - imported before the fork

    os.environ.clear()
    os.environ.update(environment)
    for path, descriptor in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv = ["benchgate", *words]
    main()
