"""The home directory of a demo, and the control plane on the site that runs there."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from service.cli.services.preconditions import make_home
from service.config import ControlSettings
from service.domain.errors import BadInput
from service.wiring.control import Control, build_control
from tools.demo.gerrit_server import stop_gerrit

if TYPE_CHECKING:
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
