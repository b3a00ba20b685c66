"""The parts of a Benchgate on one machine, as child processes with no more than each one needs."""

from __future__ import annotations

import os
import signal
import sys
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.error import URLError

from service.adapters.embedded.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# What programs need of a person's environment; anything else, secrets among it, stays outside.
_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "XDG_RUNTIME_DIR", "NO_COLOR"),
    # How a mirror reaches the repositories.
    *("SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE"),
)
_OF_CONTROL: Final = ("BENCHGATE_WEBHOOK_SECRETS", "BENCHGATE_GERRIT_")
# A drained worker hands its build back within a second; a compiler that hangs on a disk is not waited for.
_WORKER_STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Site:
    """Where everything of one Benchgate is.

    ``settings`` are BENCHGATE_ variables that every part may know; ``database_url`` and
    ``machine_database_url`` go to one plane each.
    """

    home: Path
    port: int
    pool: str
    redis_url: str
    database_url: str
    machine_database_url: str
    settings: Mapping[str, str]

    @property
    def base_url(self) -> str:
        """How people reach the pages."""
        return self.settings.get("BENCHGATE_BASE_URL") or f"http://127.0.0.1:{self.port}"


def parts_of(site: Site) -> tuple[Child, ...]:
    """Web, workers, schedule and what listens, in the order in which they are started."""
    control = _environment(site, {"BENCHGATE_DATABASE_URL": site.database_url})
    machine = _environment(site, {"BENCHGATE_MACHINE_DATABASE_URL": site.machine_database_url})
    # The settings of the review server belong to the control plane alone.
    for name in [each for each in machine if each.startswith(_OF_CONTROL)]:
        del machine[name]

    def child(
        name: str, *words: str, env: Mapping[str, str], ready: Callable[[], bool] | None = None
    ) -> Child:
        return Child(
            name=name,
            argv=(sys.executable, "-m", "service.cli", *words),
            log_path=site.home / "log" / f"{name}.log",
            env=env,
            ready=ready,
            stop_signal=signal.SIGTERM,
            stop_seconds=_WORKER_STOP_SECONDS,
        )

    listener = child("listen", "listen", env=control)
    return (
        child("web", "serve", "--port", str(site.port), env=control, ready=lambda: _answers(site.port)),
        child("control", "worker", "--pool", "control", env=control),
        child("machine", "worker", "--pool", site.pool, env=machine),
        child("schedule", "schedule", env=control),
        *([listener] if site.settings.get("BENCHGATE_GERRIT_SSH_HOST") else []),
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
    except (URLError, OSError):
        return False
