"""Decide who reads the compiler cache and who adds to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import pytest

from service.domain.building.compiler_cache import (
    count_hits,
    environment_of,
    may_add,
    mounts_of,
    owner_of,
)
from service.domain.building.spec import LOCAL, REVIEWED, UNREVIEWED
from tests.unit.domain.building.test_spec import SPEC


def test_each_project_of_each_server_has_a_cache_of_its_own() -> None:
    others = [replace(SPEC, project="other"), replace(SPEC, instance="other")]

    assert len({owner_of(spec) for spec in (SPEC, *others)}) == 3


@pytest.mark.parametrize(
    ("instance", "trust", "expected"),
    [
        ("gerrit", REVIEWED, (True, True)),
        ("gerrit", UNREVIEWED, (False, False)),
        ("gerrit", "local", (False, False)),
        (LOCAL, "local", (True, False)),
    ],
)
def test_only_reviewed_code_and_the_base_of_a_developer_add_to_it(
    instance: str, trust: str, expected: tuple[bool, bool]
) -> None:
    assert SPEC.base is not None
    base, patch = (replace(side, trust=trust) for side in (SPEC.base, SPEC.patch))
    spec = replace(SPEC, instance=instance, base=base, patch=patch)

    assert (may_add(spec, base), may_add(spec, patch)) == expected


@pytest.mark.parametrize("is_writable", [True, False])
def test_a_build_that_may_not_add_cannot_write_to_the_cache(*, is_writable: bool) -> None:
    cache, own = mounts_of(PurePath("/caches/a"), PurePath("/run"), is_writable=is_writable)
    env = environment_of("gcc 14", 1 << 30, is_writable=is_writable)

    assert (cache.writable, own.writable) == (is_writable, True)
    assert ("CCACHE_READONLY" in env) is not is_writable
    assert env.get("CCACHE_MAXSIZE") == ("1048576Ki" if is_writable else None)
    assert env["CCACHE_NAMESPACE"] == "gcc 14"


@pytest.mark.parametrize(("limit", "expected"), [(1, "1Ki"), (1_000_000, "976Ki")])
def test_a_small_cache_has_a_limit_too(limit: int, expected: str) -> None:
    """To ccache, 0 is none."""
    assert environment_of("gcc 14", limit, is_writable=True)["CCACHE_MAXSIZE"] == expected


def test_hits_and_misses_are_counted_and_nothing_else() -> None:
    statistics = (
        b"# /src/a.cc\nlocal_storage_hit\npreprocessed_cache_hit\n"
        b"# /src/b.cc\ncache_miss\nlocal_storage_miss\npreprocessed_cache_miss\n"
        b"# /src/c.S\nunsupported_source_language\n"
    )

    assert count_hits(statistics) == (1, 2)
    assert count_hits(b"\xff\x00# cache_miss of a liar\n") == (0, 0)
