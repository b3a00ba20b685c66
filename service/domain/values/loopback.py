"""The hosts that only programs of this machine can reach."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host's name, or its address, is this machine's loopback.

    Args:
        host: without a port, and an IPv6 address without brackets.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
