"""Settings of a machine that joins a site."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from service.domain.values.errors import BadInput
from service.steps.machines.enrolment import Site, machine_settings, notes_on

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
        ("base_url", "https://b:hunter2@bench.example.com", "BENCHGATE_BASE_URL"),
        ("redis_url", "redis://h/0?password=hunter2", "BENCHGATE_REDIS_URL"),
        ("redis_url", "sentinel://:1@r1;sentinel://:hunter2@r2", "BENCHGATE_REDIS_URL"),
        *(
            ("database_url", f"postgresql://db/benchgate?{query}", "BENCHGATE_DATABASE_URL")
            for query in ("password=hunter2&user=b", "sslkey=/hunter2", "sslpassword=hunter2", "host=/run/pg")
        ),
        ("database_url", "postgresql://db/b?sslmode=require;password=hunter2", "BENCHGATE_DATABASE_URL"),
        *(
            ("database_url", f"postgresql://b:1{sign}hunter2@db/b", "BENCHGATE_DATABASE_URL")
            for sign in "/?#@"
        ),
        *(("git_url", f"https://b:1{sign}hunter2@review/", "BENCHGATE_GIT_URL") for sign in "/@"),
        ("git_url", "ssh://b:hunter2@review/{project}", "BENCHGATE_GIT_URL"),
        ("git_urls", {"core": "https://review/{project}?token=hunter2"}, "BENCHGATE_GIT_URLS[core]"),
        ("fetch_from", ["https://b:hunter2@example.org/"], "BENCHGATE_FETCH_FROM"),
    ],
)
def test_an_address_that_others_cannot_reach_or_with_a_password_elsewhere_is_refused_by_name(
    field: str,
    url: Any,  # noqa: ANN401 - of any setting
    setting: str,
) -> None:
    with pytest.raises(BadInput) as refused:
        machine_settings("perf-02", "perf", replace(SITE, **{field: url}), "/etc/benchgate/token")
    assert refused.value.where == setting
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("name", "pool"), [("perf'02", "perf"), ("a", "per/f"), ("a", "control")])
def test_a_name_that_cannot_be_written_or_used_is_refused(name: str, pool: str) -> None:
    with pytest.raises(BadInput):
        machine_settings(name, pool, SITE, "/etc/benchgate/token")


def test_a_machine_of_several_gerrits_gets_their_addresses_without_passwords() -> None:
    urls = {"core": "ssh://b@core/{project}", "apps": "https://b:hunter2@apps/{project}"}
    site = replace(SITE, git_url="/srv/{project}", git_urls=urls, fetch_from=["example.org"])
    settings = machine_settings("perf-02", "perf", site, "/etc/benchgate/token")
    assert json.loads(settings["BENCHGATE_GIT_URLS"]) == urls | {"apps": "https://apps/{project}"}
    assert json.loads(settings["BENCHGATE_FETCH_FROM"]) == ["example.org"]
    certificate, path, credentials = notes_on(settings, site)
    assert "/etc/broker.crt" in certificate
    assert "is a path" in path
    assert "without its credentials" in credentials
    assert list(notes_on({}, SITE)) == []
    assert "no Git address" in next(notes_on({}, replace(SITE, git_url="")))
