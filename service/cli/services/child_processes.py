"""Describe the parts of a Benchgate on one machine: child processes that get only the settings they need."""

from __future__ import annotations

import os
import sys
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.adapters.embedded.process import Child
from service.config.control import ControlSettings
from service.config.machine import MachineSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic.fields import FieldInfo

    from service.domain.machines.slots import Slot

# Programs need these variables of the user's environment. Others may be secrets and are not passed on.
_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "XDG_RUNTIME_DIR", "NO_COLOR"),
    *("SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "PYTHONPYCACHEPREFIX"),
)
# A drained worker returns its build within a second; a compiler that hangs on a disk is killed.
_WORKER_STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses and settings of one Benchgate.

    ``slots`` are the machines of this host. ``settings`` are BENCHGATE_ variables; each plane gets those that
    it reads. Only the control plane gets ``database_url``, and only the machine plane
    ``machine_database_url``.
    """

    home: Path
    port: int
    slots: tuple[Slot, ...]
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
    """List web, workers, schedule and event listener in starting order."""
    control = _environment(site, ControlSettings.model_fields, {"BENCHGATE_DATABASE_URL": site.database_url})
    machine = _environment(
        site, MachineSettings.model_fields, {"BENCHGATE_MACHINE_DATABASE_URL": site.machine_database_url}
    )

    def child(
        name: str, *words: str, env: Mapping[str, str], ready: Callable[[], bool] | None = None
    ) -> Child:
        return _command(site.home, name, *words, env=env, ready=ready)

    names = site.event_streams
    listeners = [child(f"listen-{name}", "listen", "--instance", name, env=control) for name in names]
    if site.settings.get("BENCHGATE_GERRIT_SSH_HOST"):
        listeners = [child("listen", "listen", env=control)]
    return (
        child("web", "serve", "--port", str(site.port), env=control, ready=lambda: _answers(site.port)),
        child("control", "worker", "--pool", "control", env=control),
        *machines_of(site.home, site.slots, machine),
        child("schedule", "schedule", env=control),
        *listeners,
    )


def machines_of(home: Path, slots: Sequence[Slot], env: Mapping[str, str]) -> tuple[Child, ...]:
    """List the workers of a host's machines; the first one has the host's name.

    ``env`` is the environment of a worker, without the names of host and machine.
    """
    host = slots[0].machine
    return tuple(
        _command(
            home,
            "machine" + slot.machine.removeprefix(host).replace("/", "-"),
            *("worker", "--pool", slot.pool),
            env={
                **env,
                "BENCHGATE_MACHINE_NAME": slot.machine,
                "BENCHGATE_HOST": env.get("BENCHGATE_HOST") or host,
            },
        )
        for slot in slots
    )


def _command(
    home: Path,
    name: str,
    *words: str,
    env: Mapping[str, str],
    ready: Callable[[], bool] | None = None,
) -> Child:
    return Child(
        name=name,
        argv=(sys.executable, "-m", "service.cli", *words),
        log_path=home / "log" / f"{name}.log",
        env=env,
        ready=ready,
        stop_seconds=_WORKER_STOP_SECONDS,
    )


def _environment(site: Site, fields: Mapping[str, FieldInfo], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a plane reads; others may be secrets of another plane."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    settings = {
        **site.settings,
        "BENCHGATE_HOME": str(site.home),
        "BENCHGATE_REDIS_URL": site.redis_url,
        "BENCHGATE_BASE_URL": site.base_url,
        **own,
    }
    read = {f"BENCHGATE_{field.upper()}" for field in fields}
    known = {name: value for name, value in settings.items() if name in read}
    return {**passed, **known, "PYTHONUNBUFFERED": "1"}


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - HTTP's OK
    except OSError:
        return False
