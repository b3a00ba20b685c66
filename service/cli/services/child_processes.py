"""The parts of a Benchgate on one machine: child processes that get only the settings they need."""

from __future__ import annotations

import os
import sys
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.adapters.embedded.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# Programs need these variables of the user's environment. Others may be secrets and are not passed on.
_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "XDG_RUNTIME_DIR", "NO_COLOR"),
    *("SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE"),
)
# The prefix BENCHGATE_GERRIT is also that of BENCHGATE_GERRITS.
_OF_CONTROL: Final = ("BENCHGATE_WEBHOOK_SECRETS", "BENCHGATE_GERRIT", "BENCHGATE_OIDC_")
# A drained worker returns its build within a second; a compiler that hangs on a disk is killed.
_WORKER_STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses and settings of one Benchgate.

    Every part gets ``settings``, which are BENCHGATE_ variables. Only the control plane gets
    ``database_url``, and only the machine plane ``machine_database_url``.
    """

    home: Path
    port: int
    pool: str
    redis_url: str
    database_url: str
    machine_database_url: str
    settings: Mapping[str, str]
    event_streams: tuple[str, ...] = ()  # the instances of several Gerrits that have one

    @property
    def base_url(self) -> str:
        """The address of the pages."""
        return self.settings.get("BENCHGATE_BASE_URL") or f"http://127.0.0.1:{self.port}"


def parts_of(site: Site) -> tuple[Child, ...]:
    """List web, workers, schedule and event listener in the order in which they start."""
    control = _environment(site, {"BENCHGATE_DATABASE_URL": site.database_url})
    machine = _environment(site, {"BENCHGATE_MACHINE_DATABASE_URL": site.machine_database_url})
    # Only the control plane gets the settings of the review server and of the identity provider.
    machine = {name: value for name, value in machine.items() if not name.startswith(_OF_CONTROL)}

    def child(
        name: str, *words: str, env: Mapping[str, str], ready: Callable[[], bool] | None = None
    ) -> Child:
        return Child(
            name=name,
            argv=(sys.executable, "-m", "service.cli", *words),
            log_path=site.home / "log" / f"{name}.log",
            env=env,
            ready=ready,
            stop_seconds=_WORKER_STOP_SECONDS,
        )

    names = site.event_streams
    listeners = [child(f"listen-{name}", "listen", "--instance", name, env=control) for name in names]
    if site.settings.get("BENCHGATE_GERRIT_SSH_HOST"):
        listeners = [child("listen", "listen", env=control)]
    return (
        child("web", "serve", "--port", str(site.port), env=control, ready=lambda: _answers(site.port)),
        child("control", "worker", "--pool", "control", env=control),
        child("machine", "worker", "--pool", site.pool, env=machine),
        child("schedule", "schedule", env=control),
        *listeners,
    )


def _environment(site: Site, own: Mapping[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **passed,
        **site.settings,
        "BENCHGATE_HOME": str(site.home),
        "BENCHGATE_REDIS_URL": site.redis_url,
        "BENCHGATE_BASE_URL": site.base_url,
        "PYTHONUNBUFFERED": "1",
        **own,
    }


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - HTTP's OK
    except OSError:
        return False
