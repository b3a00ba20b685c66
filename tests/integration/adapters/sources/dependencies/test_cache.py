"""Dependencies in the sandbox: whole, as pinned, and out of reach of whatever a project runs."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from typing_extensions import override

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.scratch import DirectoryScratch
from service.adapters.sources.dependencies import cache
from service.adapters.sources.dependencies.cache import CachedDependencies
from service.domain.building.sandbox_command import Command, Completed, Mount
from service.domain.project.dependencies import DIRECTORY, Dependency
from service.domain.sources.allowed import AllowedSources
from service.domain.values.errors import BadInput, Cancelled, Transient
from service.ports.building import Sandbox
from tests.integration.adapters.sources.dependencies.mirror import running_mirror
from tests.integration.adapters.sources.git.git_repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
    from service.ports.building import ByteSink

pytestmark = pytest.mark.integration


def keep_on() -> None:
    """Do not end the work."""


@pytest.fixture
def dependencies(tmp_path: Path, sandbox: BubblewrapSandbox) -> CachedDependencies:
    return machine(tmp_path, sandbox)


@dataclass
class TakenOver(Sandbox):
    """A sandbox in which an archive runs its own code: a link stands where the files belong."""

    target: Path

    @override
    def in_force(self) -> Mapping[str, str]:
        return {}

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        (out,) = (mount.source for mount in command.mounts if mount.target == "/out")
        (Path(out) / "tree").symlink_to(self.target)
        return Completed(0, 0.0)


def machine(tmp_path: Path, sandbox: Sandbox, allowed: str = "", name: str = "kept") -> CachedDependencies:
    """A machine that may fetch from the test's directory; others with these arguments share its files."""
    sources = AllowedSources.parse([allowed or f"file://{tmp_path}/"])
    scratch, downloads = DirectoryScratch(tmp_path / "scratch"), DirectoryArtifacts(tmp_path / "shared")
    return CachedDependencies(tmp_path / name, sources, scratch, sandbox, downloads)


def archive(path: Path, *members: tarfile.TarInfo, **files: str) -> Dependency:
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(f"lib-1/{name}.h")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
        for member in members:
            packed.addfile(member)
    return Dependency(url=f"file://{path}", sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def contents(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*.h") if path.is_file()}


def kept(tmp_path: Path) -> list[str]:
    """The names of all that is kept or in the making."""
    return [path.name for part in ("entries", "sets") for path in (tmp_path / "kept").glob(f"{part}/*")]


class TestArchives:
    def test_an_archive_is_unpacked_in_the_sandbox(
        self, tmp_path: Path, dependencies: CachedDependencies
    ) -> None:
        fmt = archive(tmp_path / "fmt.tar.gz", format="int f;")

        assert contents(dependencies.provide({"fmt": fmt}, keep_on)) == {"fmt/format.h": "int f;"}

    def test_each_is_fetched_once(self, tmp_path: Path, dependencies: CachedDependencies) -> None:
        fmt, json = archive(tmp_path / "fmt.tar.gz", a="f"), archive(tmp_path / "json.tar.gz", a="j")
        dependencies.provide({"fmt": fmt}, keep_on)
        (tmp_path / "fmt.tar.gz").unlink()

        place = dependencies.provide({"fmt": fmt, "json": json}, keep_on)

        assert contents(place) == {"fmt/a.h": "f", "json/a.h": "j"}

    def test_a_fetched_dependency_must_still_be_allowed(
        self, tmp_path: Path, dependencies: CachedDependencies, sandbox: BubblewrapSandbox
    ) -> None:
        fmt = archive(tmp_path / "fmt.tar.gz", a="f")
        dependencies.provide({"fmt": fmt}, keep_on)

        with pytest.raises(BadInput, match=r"^dependency fmt: .*BENCHGATE_FETCH_FROM"):
            machine(tmp_path, sandbox, "example.org").provide({"fmt": fmt}, keep_on)

    @pytest.mark.parametrize(
        ("evil", "reason"),
        [
            (member("../evil"), "'../evil' is not below its directory"),
            (member("a", tarfile.SYMTYPE, "/etc/passwd"), "the symbolic link 'a' leads out of it"),
            (member("null", tarfile.CHRTYPE), "'null' is neither a file, a directory nor a link"),
        ],
    )
    def test_an_archive_that_could_do_harm_is_refused_with_the_reason(
        self, tmp_path: Path, dependencies: CachedDependencies, evil: tarfile.TarInfo, reason: str
    ) -> None:
        fmt = archive(tmp_path / "fmt.tar.gz", evil, a="f")

        with pytest.raises(BadInput) as refused:
            dependencies.provide({"fmt": fmt}, keep_on)

        expected = f"dependency fmt: {fmt.url}: the archive cannot be used: {reason}"
        assert str(refused.value) == expected
        assert kept(tmp_path) == []

    def test_an_archive_that_takes_the_sandbox_over_changes_no_file_of_the_machine(
        self, tmp_path: Path
    ) -> None:
        victim = tmp_path / "victim"
        victim.mkdir(mode=0o700)
        taken = machine(tmp_path, TakenOver(victim))

        with pytest.raises(BadInput, match="it is unpacked to no directory"):
            taken.provide({"fmt": archive(tmp_path / "fmt.tar.gz", a="f")}, keep_on)
        assert stat.S_IMODE(victim.stat().st_mode) == 0o700
        assert kept(tmp_path) == []

    def test_one_with_another_digest_leaves_nothing(
        self, tmp_path: Path, dependencies: CachedDependencies
    ) -> None:
        fmt = archive(tmp_path / "fmt.tar.gz", a="f")
        archive(tmp_path / "fmt.tar.gz", a="other")

        with pytest.raises(BadInput, match=r"^dependency fmt: .* has the SHA-256"):
            dependencies.provide({"fmt": fmt}, keep_on)
        assert kept(tmp_path) == []


class TestRepositories:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Repository:
        return Repository(tmp_path / "repository")

    def test_a_commit_is_checked_out_without_a_repository(
        self, tmp_path: Path, dependencies: CachedDependencies, repository: Repository
    ) -> None:
        old = repository.commit({"src/a.h": b"old"})
        repository.commit({"src/a.h": b"new"}, old)

        place = dependencies.provide({"lib": Dependency(git=url_of(repository), commit=old)}, keep_on)

        assert contents(place) == {"lib/src/a.h": "old"}
        assert not (place / "lib" / ".git").exists()

    @pytest.mark.parametrize("kind", ["missing", "tree", "blob"])
    def test_an_id_other_than_a_commit_is_refused(
        self, dependencies: CachedDependencies, repository: Repository, kind: str
    ) -> None:
        commit = repository.commit({"a": b"a"})
        ids = {"missing": "a" * 40, "tree": f"{commit}^{{tree}}", "blob": f"{commit}:a"}
        found = ids[kind] if kind == "missing" else repository.git("rev-parse", ids[kind]).strip()

        with pytest.raises(BadInput, match=r"^dependency lib: "):
            dependencies.provide({"lib": Dependency(git=url_of(repository), commit=found)}, keep_on)

    def test_a_link_that_leads_out_is_refused(
        self, tmp_path: Path, dependencies: CachedDependencies, repository: Repository
    ) -> None:
        commit = repository.commit({"a/link": Path("../../x"), "b": b""})

        with pytest.raises(BadInput, match="the symbolic link 'a/link' leads out of the commit"):
            dependencies.provide({"lib": Dependency(git=url_of(repository), commit=commit)}, keep_on)
        assert kept(tmp_path) == []

    def test_an_overlarge_commit_is_not_fetched_to_its_end(
        self,
        tmp_path: Path,
        dependencies: CachedDependencies,
        repository: Repository,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(cache, "MOST_BYTES", 1 << 20)
        commit = repository.commit({"a.h": os.urandom(2 << 20)})

        with pytest.raises(BadInput, match=f"{url_of(repository)}: the commit has more than 1 MiB"):
            dependencies.provide({"lib": Dependency(git=url_of(repository), commit=commit)}, keep_on)
        assert kept(tmp_path) == []

    def test_a_fetch_ends_once_it_is_unneeded(
        self, tmp_path: Path, dependencies: CachedDependencies, repository: Repository
    ) -> None:
        def end() -> None:
            raise Cancelled("not needed")

        lib = Dependency(git=url_of(repository), commit=repository.commit({"a.h": b"a"}))
        with pytest.raises(Cancelled):
            dependencies.provide({"lib": lib}, end)
        assert kept(tmp_path) == []

    def test_a_repository_cannot_choose_hooks_or_filters(
        self, tmp_path: Path, dependencies: CachedDependencies, repository: Repository
    ) -> None:
        attributes = b"* filter=evil\n"
        repository.git("config", "filter.evil.smudge", f"touch {tmp_path}/evil")
        commit = repository.commit({".gitattributes": attributes, "a.h": b"a"})

        dependencies.provide({"lib": Dependency(git=url_of(repository), commit=commit)}, keep_on)
        assert not (tmp_path / "evil").exists()

    def test_a_redirect_is_not_followed_but_named(self, tmp_path: Path, sandbox: BubblewrapSandbox) -> None:
        with running_mirror() as allowed, running_mirror() as other:
            for service in ("/lib.git/info/refs", "/lib.git/HEAD"):
                allowed.answers[service] = other.url + service
            lib = Dependency(git=f"{allowed.url}/lib.git", commit="a" * 40)

            with pytest.raises(BadInput, match=f"moved: name its new address, {other.url}/lib.git$"):
                machine(tmp_path, sandbox, f"{allowed.url}/").provide({"lib": lib}, keep_on)
            assert allowed.requests
            assert other.requests == []

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (401, BadInput),
            (403, BadInput),
            (404, BadInput),
            (410, BadInput),
            (429, Transient),
            (500, Transient),
        ],
    )
    def test_a_server_that_refuses_a_repository_is_an_error_of_the_project(
        self, tmp_path: Path, sandbox: BubblewrapSandbox, status: int, kind: type[Exception]
    ) -> None:
        """As one that refuses a file. GitHub says 401 if there is no such repository."""
        with running_mirror() as server:
            server.answers["/lib.git/info/refs"] = status
            lib = Dependency(git=f"{server.url}/lib.git", commit="a" * 40)

            with pytest.raises(kind):
                machine(tmp_path, sandbox, f"{server.url}/").provide({"lib": lib}, keep_on)


def url_of(repository: Repository) -> str:
    return f"file://{repository.path}"


class TestIsolation:
    def test_nothing_in_the_sandbox_can_change_them(
        self, tmp_path: Path, dependencies: CachedDependencies, sandbox: BubblewrapSandbox
    ) -> None:
        place = dependencies.provide({"fmt": archive(tmp_path / "fmt.tar.gz", a="f")}, keep_on)
        attempts = (
            "echo evil > /deps/fmt/a.h",
            "echo evil >> /deps/.benchgate.cmake",
            "touch /deps/fmt/b.h",
            "mkdir /deps/other",
            "rm -rf /deps/fmt/a.h",
            "mv /deps/fmt /deps/other",
            "chmod -R 777 /deps && echo evil > /deps/fmt/a.h",
            "ln /deps/fmt/a.h /tmp/a.h",
            "mount -o remount,rw /deps",
            "umount /deps",
        )

        for attempt in attempts:
            command = Command(("sh", "-c", attempt), (Mount(place, DIRECTORY),))
            assert not sandbox.run(command, log=None, watch=keep_on).is_success, attempt
        assert contents(place) == {"fmt/a.h": "f"}

    def test_a_dependency_cannot_take_the_place_of_another(
        self, tmp_path: Path, dependencies: CachedDependencies
    ) -> None:
        """The same bytes as a file of another name, and the same commit from another repository."""
        good, evil = Repository(tmp_path / "good"), Repository(tmp_path / "evil")
        commit = good.commit({"a.h": b"good"})
        evil.git("fetch", "--quiet", str(good.path), commit)
        (tmp_path / "one.h").write_text("same")
        (tmp_path / "two.h").write_text("same")
        sha256 = hashlib.sha256(b"same").hexdigest()
        one, two = (Dependency(url=f"file://{tmp_path}/{each}.h", sha256=sha256) for each in ("one", "two"))
        theirs, ours = (Dependency(git=url_of(each), commit=commit) for each in (evil, good))

        first = dependencies.provide({"file": one, "lib": theirs}, keep_on)
        second = dependencies.provide({"file": two, "lib": ours}, keep_on)

        assert [path.name for path in (first / "file").iterdir()] == ["one.h"]
        assert [path.name for path in (second / "file").iterdir()] == ["two.h"]
        assert len(list((tmp_path / "kept" / "entries").iterdir())) == 4

    @pytest.mark.parametrize("number", range(4))
    def test_a_killed_process_leaves_nothing_usable(
        self, tmp_path: Path, sandbox: BubblewrapSandbox, number: int
    ) -> None:
        """Kill it before and after each of its two renames: of the entry, and of the set."""
        fmt = archive(tmp_path / "fmt.tar.gz", a="f", b="g")

        in_killed_child(
            lambda: dependencies_of_killed(tmp_path, sandbox, number).provide({"x": fmt}, keep_on)
        )

        assert len(kept(tmp_path)) == (number + 1) // 2
        place = machine(tmp_path, sandbox).provide({"x": fmt}, keep_on)
        assert contents(place) == {"x/a.h": "f", "x/b.h": "g"}
        assert len(kept(tmp_path)) == 2
        assert len(list((tmp_path / "scratch").iterdir())) == 1

    def test_a_second_process_may_be_quicker(
        self, tmp_path: Path, sandbox: BubblewrapSandbox, dependencies: CachedDependencies
    ) -> None:
        fmt = archive(tmp_path / "fmt.tar.gz", a="f")
        others: list[CachedDependencies] = []

        def hurry() -> None:
            if not others:
                others.append(machine(tmp_path, sandbox))
                others[0].provide({"fmt": fmt}, keep_on)

        assert contents(dependencies.provide({"fmt": fmt}, hurry)) == {"fmt/a.h": "f"}
        assert len(kept(tmp_path)) == 2


def dependencies_of_killed(tmp_path: Path, sandbox: BubblewrapSandbox, number: int) -> CachedDependencies:
    """A machine in a process that ends itself before or after a rename; call it in a child only."""
    rename, left = Path.rename, [number]

    def dying(path: Path, target: Path) -> Path:
        for step in (lambda: None, lambda: rename(path, target)):
            step()
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
        return target

    Path.rename = dying  # type: ignore[method-assign,assignment]
    return machine(tmp_path, sandbox)


def in_killed_child(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        _work_and_leave(work)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def _work_and_leave(work: Callable[[], object]) -> NoReturn:
    try:
        work()
    finally:
        os._exit(1)
