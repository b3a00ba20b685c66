"""Run every test of the store's contract on each site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.store.sites import MemorySite, PostgresSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.access import AuditLog
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite
    from tests.support.postgres import Server


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
def site(request: pytest.FixtureRequest) -> Iterator[StoreSite]:
    if request.param == "memory":
        yield MemorySite()
    else:
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            yield PostgresSite(database)


@pytest.fixture
def store(site: StoreSite) -> Store:
    return site.store


@pytest.fixture
def upkeep(site: StoreSite) -> Upkeep:
    return site.upkeep


@pytest.fixture
def audit_log(site: StoreSite) -> AuditLog:
    return site.audit_log
