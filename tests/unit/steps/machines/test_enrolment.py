"""Settings of a machine that joins a site."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.values.errors import BadInput
from service.steps.machines.enrolment import Site, machine_settings

SITE = Site(
    database_url="postgresql://benchgate:of-owner@db.example.com:6432/benchgate?sslmode=verify-full",
    redis_url="rediss://control:of-control@redis.example.com:6379/0?ssl_ca_certs=/etc/broker.crt",
    base_url="https://bench.example.com",
    git_url="https://review.example.com/{project}",
)


def test_the_machine_gets_its_own_users_at_the_servers_of_the_site() -> None:
    assert machine_settings("perf-02", "perf", SITE, "/etc/benchgate/token") == {
        "BENCHGATE_MACHINE_NAME": "perf-02",
        "BENCHGATE_MACHINE_DATABASE_URL": "postgresql://benchgate_machine:PASSWORD@db.example.com:6432/benchgate"
        "?sslmode=verify-full",
        "BENCHGATE_REDIS_URL": "rediss://pool.perf:PASSWORD@redis.example.com:6379/0"
        "?ssl_ca_certs=/etc/broker.crt",
        "BENCHGATE_ARTIFACTS": "https://bench.example.com",
        "BENCHGATE_MACHINE_TOKEN_FILE": "/etc/benchgate/token",
        "BENCHGATE_GIT_URL": "https://review.example.com/{project}",
    }


@pytest.mark.parametrize(
    ("field", "url", "setting"),
    [
        ("base_url", "http://127.0.0.1:8080", "BENCHGATE_BASE_URL"),
        ("base_url", "http://bench.example.com", "BENCHGATE_BASE_URL"),
        ("base_url", "https://localhost", "BENCHGATE_BASE_URL"),
        ("database_url", "postgresql://benchgate@/benchgate?host=/run/postgres", "BENCHGATE_DATABASE_URL"),
        ("database_url", "postgresql://benchgate:x@127.0.0.1/benchgate", "BENCHGATE_DATABASE_URL"),
        ("redis_url", "redis+socket:///run/valkey.sock?virtual_host=0", "BENCHGATE_REDIS_URL"),
        ("redis_url", "redis://localhost:6379/0", "BENCHGATE_REDIS_URL"),
    ],
)
def test_an_address_that_other_hosts_cannot_reach_is_refused_by_name(
    field: str, url: str, setting: str
) -> None:
    with pytest.raises(BadInput) as refused:
        machine_settings("perf-02", "perf", replace(SITE, **{field: url}), "/etc/benchgate/token")
    assert setting in str(refused.value)
    assert "of-owner" not in str(refused.value)
