"""Run the command line as a user would, in a process that need not import it again."""

from __future__ import annotations

import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Final

from service.adapters.machines import local_build
from service.cli.local import commits, gate, results

if TYPE_CHECKING:
    from collections.abc import Mapping

# A process that imported these is forked for each command: importing takes up to half of a command's time.
_IMPORTED: Final = [each.__name__ for each in (commits, gate, results, local_build)]
_FORKING: Final = get_context("forkserver")
_FORKING.set_forkserver_preload([*_IMPORTED, "scipy.special"])
_BROKEN: Final = 70  # of this helper; no exit code of Benchgate


def benchgate(*words: str, cache: str = "/nonexistent") -> CompletedProcess[str]:
    """Run `benchgate` with these words and no terminal.

    Unlike a user's, the process has imported the command before, and ends without `atexit`.
    """
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as directory:
        out, err = Path(directory, "out"), Path(directory, "err")
        given = (words, environment, str(Path.cwd()), str(out), str(err))
        running = _FORKING.Process(target=_main, args=given, daemon=True)
        running.start()
        try:
            running.join()
            code = running.exitcode
        finally:  # also if the test has no more time
            running.kill()
            running.join()
            running.close()
        assert code is not None
        return CompletedProcess(["benchgate", *words], code, out.read_text(), err.read_text())


def _main(words: tuple[str, ...], environment: Mapping[str, str], folder: str, out: str, err: str) -> None:
    for path, descriptor in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["benchgate", *words]
    try:
        from service.cli import main  # noqa: PLC0415 - imported before the fork
    except ImportError:
        sys.exit(_BROKEN)
    main()
