"""A download that a build tried is the reason why it failed, unless the log names another one."""

from __future__ import annotations

import pytest

from service.domain.building.missing_downloads import MissingDownload
from service.domain.runs.side_end import Stage
from service.domain.values.errors import CommandFailed
from service.steps.building.build_sources import NotBuilt, download_missed

TRIED = b"fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org\n"
UNDEFINED = b"/usr/bin/ld: a.o: in function `main':\na.cc:(.text+0x5): undefined reference to `f()'\n"
LOST = b"/usr/bin/ld: cannot find -lx: No such file or directory\n"
COMPILER = b"/src/a.cc:1:1: error: expected unqualified-id\n"
MAKE = b"make: *** [Makefile:2: all] Error 1\n"


@pytest.mark.parametrize("after", [b"", MAKE])
def test_the_download_is_the_reason(after: bytes) -> None:
    failed = NotBuilt(Stage.COMPILE, CommandFailed("compile failed", "exit code 2"))

    assert download_missed(failed, TRIED + after) == MissingDownload("https://example.org/x.git")


@pytest.mark.parametrize("after", [UNDEFINED, LOST, COMPILER])
def test_an_error_after_an_unneeded_download_is_the_reason(after: bytes) -> None:
    """Else a patch set that breaks the build of such a project would be no failure."""
    failed = NotBuilt(Stage.COMPILE, CommandFailed("compile failed", "exit code 2"))

    assert download_missed(failed, TRIED + after + MAKE) is None
