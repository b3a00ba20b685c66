"""Prepare the home directory of a demo, and build the control plane of the site that runs there."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from service.cli.services.preconditions import make_home
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput
from service.wiring.control import Control, build_control
from service.wiring.logs import log_as_json
from tools.demo.gerrit_server import stop_gerrit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.cli.services.child_processes import Site

_MARKER: Final = ".benchgate-demo"


def empty(home: Path) -> None:
    """Delete an earlier demo; refuse to delete anything else."""
    marker = home / _MARKER
    if home.exists() and any(home.iterdir()) and not marker.exists():
        raise BadInput("is not empty and has no earlier demo; choose another directory", f"--home {home}")
    if (home / "gerrit").exists():  # it may still run if the demo was killed
        stop_gerrit(home.absolute() / "gerrit")
    shutil.rmtree(home, ignore_errors=True)
    make_home(home)
    marker.touch()


@contextmanager
def log_below(home: Path) -> Iterator[None]:
    """Write the log of this process beside those of the parts: the console has the status lines."""
    path = home / "log" / "command.log"
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        log_as_json(file)
        try:
            yield
        finally:
            log_as_json()


def plane_of(site: Site) -> Control:
    """Build a control plane with the settings of the running site."""
    return build_control(
        ControlSettings(
            home=site.home,
            database_url=site.database_url,
            redis_url=site.redis_url,
            base_url=site.base_url,
        )
    )
