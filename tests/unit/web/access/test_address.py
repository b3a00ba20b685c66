"""Check the public address and its cookies."""

from __future__ import annotations

import pytest

from service.domain.values.loopback import is_loopback
from service.web.access.address import Address
from service.web.access.rate_limits import network_of


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("https://bench.example.com", "https://bench.example.com"),
        ("https://Bench.Example.com:443/", "https://bench.example.com"),
        ("https://bench.example.com:8443", "https://bench.example.com:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:80", "http://localhost"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(base_url: str, origin: str) -> None:
    assert Address(base_url).origin == origin


def test_over_https_only_this_host_can_set_the_cookies() -> None:
    address = Address("https://bench.example.com")
    assert (address.session_cookie, address.attempt_cookie) == (
        "__Host-benchgate",
        "__Host-benchgate-sign-in",
    )
    cookie = address.cookie(address.session_cookie, "secret")
    assert cookie == "__Host-benchgate=secret; Path=/; HttpOnly; SameSite=Lax; Secure"


def test_over_http_the_cookies_are_not_secure_or_browsers_would_drop_them() -> None:
    address = Address("http://127.0.0.1:8080")
    cookie = address.cookie(address.attempt_cookie, "x", 600)
    assert cookie == "benchgate-sign-in-8080=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"


def test_over_http_each_port_has_cookies_of_its_own() -> None:
    names = [
        name
        for url in ("http://127.0.0.1:8080", "http://127.0.0.1:9090", "http://127.0.0.1", "http://[::1]:8081")
        for address in [Address(url)]
        for name in (address.session_cookie, address.attempt_cookie)
    ]
    assert names == [
        f"{name}-{port}" for port in (8080, 9090, 80, 8081) for name in ("benchgate", "benchgate-sign-in")
    ]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_hosts(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.1", "10.0.0.1", "::", "[::1]"]
)
def test_other_hosts(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_an_address_counts_with_all_that_its_owner_has(address: str, network: str) -> None:
    assert network_of(address) == network
