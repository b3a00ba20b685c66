"""The lines with the addresses of a site that has started."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.adapters.access.sign_in_secret import remove_secret, renew_secret
from service.config import ControlSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.cli.services.child_processes import Site


@contextmanager
def announced(site: Site, say: Callable[[str], None]) -> Iterator[None]:
    """Say where the pages are and how the user of this machine signs in, if that is how people sign in.

    The link for signing in works until the end of the block.
    """
    say(f"the dashboard is at {site.base_url} (Ctrl-C stops everything)")
    if not ControlSettings(base_url=site.base_url).has_local_identity:
        yield
        return
    say(f"to act on its pages, open {site.base_url}/sign-in?secret={renew_secret(site.home)}")
    try:
        yield
    finally:
        remove_secret(site.home)
