"""Hold a machine's dependencies to one contract, in memory and in a directory."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.sources.dependencies.cache import CachedDependencies
from service.domain.project.dependencies import CMAKE_FILE, Dependency, cmake_file
from service.domain.sources.allowed import AllowedSources
from service.domain.values.errors import BadInput, Cancelled
from tests.support.memory.dependencies import MemoryDependencies
from tests.support.memory.files import MemoryArtifacts, MemoryScratch

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.sources import Dependencies


class Site(Protocol):
    """A machine, and sources that a test fills."""

    @property
    def dependencies(self) -> Dependencies: ...

    def publish(self, name: str, text: str) -> Dependency:
        """Publish a single file."""


class MemorySite:
    def __init__(self, directory: Path) -> None:
        self.dependencies = MemoryDependencies(directory)

    def publish(self, name: str, text: str) -> Dependency:
        url = f"file:///{name}"
        self.dependencies.sources[url] = {name: text}
        return Dependency(url=url, sha256=hashlib.sha256(text.encode()).hexdigest())


class RealSite:
    def __init__(self, directory: Path) -> None:
        self._mirror, scratch = directory / "mirror", directory / "scratch"
        self._mirror.mkdir()
        scratch.mkdir()
        allowed = AllowedSources.parse([f"file://{self._mirror}/"])
        self.dependencies = CachedDependencies(
            directory / "kept",
            allowed,
            MemoryScratch(scratch),
            DirectRunner(),
            MemoryArtifacts(),
        )

    def publish(self, name: str, text: str) -> Dependency:
        (self._mirror / name).write_text(text)
        url = f"file://{self._mirror}/{name}"
        return Dependency(url=url, sha256=hashlib.sha256(text.encode()).hexdigest())


@pytest.fixture(params=["memory", pytest.param("directory", marks=pytest.mark.integration)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    return MemorySite(tmp_path) if request.param == "memory" else RealSite(tmp_path)


def keep_on() -> None:
    """Do not end the work."""


class TestDependencies:
    def test_each_is_under_its_name_beside_the_file_for_cmake(self, site: Site) -> None:
        wanted = {"fmt": site.publish("fmt.h", "int f;"), "json": site.publish("json.h", "int j;")}

        place = site.dependencies.provide(wanted, keep_on)

        assert sorted(path.name for path in place.iterdir()) == [CMAKE_FILE, "fmt", "json"]
        assert (place / "fmt" / "fmt.h").read_text() == "int f;"
        assert (place / "json" / "json.h").read_text() == "int j;"
        assert (place / CMAKE_FILE).read_text() == cmake_file(wanted)

    def test_one_with_the_name_of_an_archive_stays_a_file(self, site: Site) -> None:
        wanted = {
            "fmt-1.2.TAR.gz": site.publish("v1.2.tar.gz", "packed"),
            "fmt": site.publish("f.h", "int f;"),
        }

        place = site.dependencies.provide(wanted, keep_on)

        assert (place / "fmt-1.2.TAR.gz").read_text() == "packed"
        assert "TAR" not in (place / CMAKE_FILE).read_text()

    def test_equal_ones_have_one_directory_and_others_another(self, site: Site) -> None:
        fmt, json = site.publish("fmt.h", "int f;"), site.publish("json.h", "int j;")
        first = site.dependencies.provide({"fmt": fmt}, keep_on)

        assert site.dependencies.provide({"fmt": fmt}, keep_on) == first
        assert site.dependencies.provide({"fmt": json}, keep_on) != first
        assert site.dependencies.provide({"json": fmt}, keep_on) != first

    def test_a_missing_one_is_an_error_with_its_name(self, site: Site) -> None:
        lost = site.publish("fmt.h", "int f;")
        gone = Dependency(url=f"{lost.url}.gone", sha256="a" * 64)

        with pytest.raises(BadInput, match=r"^dependency gone: file:///.*fmt\.h\.gone: there is no such"):
            site.dependencies.provide({"fmt": lost, "gone": gone}, keep_on)

    def test_the_work_ends_once_it_is_unneeded(self, site: Site) -> None:
        def end() -> None:
            raise Cancelled("not needed")

        with pytest.raises(Cancelled):
            site.dependencies.provide({"fmt": site.publish("fmt.h", "int f;")}, end)
