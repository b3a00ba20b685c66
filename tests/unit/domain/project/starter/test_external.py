"""The notes about downloads of ExternalProject."""

from __future__ import annotations

import pytest

from service.domain.project.starter.external import ExternalDownload, not_pinned
from service.domain.project.starter.fetched import Download

ZLIB = ExternalDownload("zlib", Download(url="https://example.org/zlib.tar.gz"))


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (("\n  ExternalProject_Add(zlib URL x)\n", "externalproject_add( fmt URL y)"), " (a.cmake, line 2) "),
        (("ExternalProject_Add(${NAME} URL x)", ""), " (a.cmake, line 1) "),
        (("ExternalProject_Add(${NAME} URL x)", "ExternalProject_Add(fmt URL y)"), " "),
        (("# ExternalProject_Add(zlib URL x)", ""), " "),
    ],
)
def test_the_file_and_line_are_named_if_one_call_is_meant(texts: tuple[str, str], place: str) -> None:
    note = not_pinned(ZLIB, dict(zip(("a.cmake", "b.cmake"), texts, strict=True)))

    assert f"downloads from https://example.org/zlib.tar.gz{place}and takes from no `dependencies`" in note
