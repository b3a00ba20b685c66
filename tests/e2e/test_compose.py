"""The compose file is one that docker-compose accepts, with the parts of `benchgate up`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SECRETS = {
    "BENCHGATE_OWNER_PASSWORD": "owner",
    "BENCHGATE_MACHINE_PASSWORD": "machine",
    "BENCHGATE_WEBHOOK_SECRET": "a-secret-of-the-tests-0123",
}
pytestmark = pytest.mark.e2e


def config(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run docker-compose, which reads the file and prints the configuration."""
    argv = ["docker-compose", "-f", str(ROOT / "docker-compose.yml"), "config"]
    passed = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(argv, env={**passed, **environment}, capture_output=True, text=True, check=False)


def test_every_part_is_a_service() -> None:
    done = config(SECRETS)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    servers = {"postgres", "redis", "gerrit"}
    parts = {"migrate", "web", "worker-control", "worker-perf", "scheduler", "listen"}
    assert set(services) == servers | parts


def test_a_machine_worker_gets_no_credential_but_its_own() -> None:
    environment = yaml.safe_load(config(SECRETS).stdout)["services"]["worker-perf"]["environment"]
    assert "owner" not in " ".join(environment.values())
    assert not {"BENCHGATE_DATABASE_URL", "BENCHGATE_WEBHOOK_SECRETS"} & set(environment)
    assert not any(name.startswith("BENCHGATE_GERRIT") for name in environment)


def test_a_missing_password_is_named() -> None:
    done = config({})
    assert done.returncode != 0
    assert "BENCHGATE_OWNER_PASSWORD" in done.stderr
