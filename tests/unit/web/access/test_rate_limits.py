"""Limit requests to sign in."""

from __future__ import annotations

import pytest

from service.domain.values.errors import TooMany
from service.web.access.rate_limits import RateLimits


def test_an_attacker_with_many_addresses_keeps_nobody_else_out() -> None:
    limits = RateLimits()
    for number in range(2000):
        limits.sign_in(f"2001:db8:0:{number:x}::1")
    limits.sign_in("192.0.2.7")


def test_an_addresss_limit_holds_for_its_whole_network() -> None:
    limits = RateLimits()
    for number in range(60):
        limits.sign_in(f"2001:db8:0:1::{number:x}")
    with pytest.raises(TooMany, match="more than 60 requests in a minute"):
        limits.sign_in("2001:db8:0:1:ffff::1")
