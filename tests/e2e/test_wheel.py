"""The wheel has every file of the packages, and works where there is no checkout."""

from __future__ import annotations

import os
import shutil
import site
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.postgres import Server

pytestmark = pytest.mark.e2e

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("service", "workers", "dashboards", "migrations")
NOT_INSTALLED: Final = ("node_modules", "__pycache__")
# Of the plug-in for Gerrit: what only its tests and its type check need.
DEVELOPMENT: Final = "dashboards/gerrit-checks"
TOOLS: Final = {
    f"{DEVELOPMENT}/{name}" for name in (".npmrc", "package.json", "package-lock.json", "tsconfig.json")
}
START_SECONDS: Final = 200.0  # it takes two on an idle machine


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from a copy, because building leaves files beside the sources."""
    top = tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, top / name, ignore=shutil.ignore_patterns(*NOT_INSTALLED))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, top)
    build = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=top, check=True, capture_output=True)
    [built] = (top / "dist").glob("benchgate-*-py3-none-any.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment in which `benchgate` is that of the wheel."""
    top = tmp_path_factory.mktemp("installed")
    options = ("--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", "--quiet")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", top, wheel], check=True)
    # Without `site` (-S below), Python reads no .pth file, so the checkout is not found.
    packages = os.pathsep.join((str(top), *site.getsitepackages()))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": packages, "BENCHGATE": str(top / "bin" / "benchgate")}


def command(installed: Mapping[str, str], *words: str) -> list[str]:
    return [sys.executable, "-S", installed["BENCHGATE"], *words]


@contextmanager
def serving(installed: Mapping[str, str], settings: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The address of a web part that runs until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = folder / "serve.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command(installed, "serve", "--port", str(port)), cwd=folder, env=settings, stderr=output
        ) as web,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            has_started = eventually(lambda: answers(address) or web.poll() is not None, START_SECONDS)
            assert has_started, log.read_text()
            assert web.poll() is None, log.read_text()
            yield address
        finally:
            web.terminate()


def answers(address: str) -> bool:
    with suppress(OSError):
        return read(f"{address}/healthz") != ""
    return False


def read(address: str) -> str:
    with urlopen(address, timeout=20) as answer:
        return str(answer.read().decode())


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    files = {
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not set(NOT_INSTALLED) & set(path.parts)
    }
    needed = {name for name in files - TOOLS if not name.startswith(f"{DEVELOPMENT}/test/")}

    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        plugin = archive.getinfo(f"{DEVELOPMENT}/plugin").external_attr >> 16

    assert names == needed
    assert plugin & 0o111 == 0o111


def test_an_installed_wheel_migrates_a_database_and_serves_its_pages(
    installed: Mapping[str, str], server: Server, tmp_path: Path
) -> None:
    with server.database(migrated=False) as empty:
        settings = {
            **installed,
            "BENCHGATE_DATABASE_URL": empty.owner_url,
            "BENCHGATE_REDIS_URL": "redis://127.0.0.1:1/0",  # the pages need none
            "BENCHGATE_HOME": str(tmp_path),
        }
        for words in (("--version",), ("schema",), ("migrate",)):
            subprocess.run(
                command(installed, *words), cwd=tmp_path, env=settings, check=True, capture_output=True
            )
        with serving(installed, settings, tmp_path) as address:
            page = read(address)
            sheet = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
            assert read(f"{address}{sheet}") == (ROOT / "dashboards/static/style.css").read_text()
