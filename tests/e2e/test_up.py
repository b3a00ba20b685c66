"""`benchgate up` as an operator uses it: as a process, with events from `benchgate replay`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from service.adapters.review.console.review import ConsoleReview
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey
from tests.e2e.conftest import start_settings
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


class Started(NamedTuple):
    """A running `benchgate up`, and where it and its project are."""

    root: Path
    project: TinyProject
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A site that was killed while it built, and started again."""
    root = tmp_path_factory.mktemp("up")
    project = TinyProject(root / "tiny")
    with up(root, project) as process:
        replay(root, project, project.propose(1, {"time.txt": "160", "slow.txt": "2"}).event())
        wait(lambda: "build.claimed" in log_of(root, "machine"), "the claim")
        process.kill()
        process.wait()
    wait(lambda: not processes_of(root), "the end of the orphans")
    with up(root, project) as process:
        yield Started(root, project, process)


def test_a_killed_site_can_be_started_again(started: Started) -> None:
    wait(lambda: vote(started.root, 1) == -1, "the vote")


def test_the_printed_link_signs_the_user_of_this_machine_in(started: Started) -> None:
    printed = started.root / "up.out"
    wait(lambda: re.search(r"/sign-in\?secret=\S+\n", printed.read_text()), "the link")
    [link] = re.findall(r"to act on its pages, open (\S+)", printed.read_text())
    origin, secret = link.split("/sign-in?secret=")
    with httpx.Client(base_url=origin, headers={"Accept": "text/html"}, timeout=60) as browser:
        assert '<a href="/sign-in?return=%2F">Sign in</a>' in browser.get("/").text
        assert "Continue as the user of this machine" in browser.get(link).text
        form = {"secret": secret, "return": "/account"}
        answer = browser.post("/sign-in/local", data=form, headers={"Origin": origin})
        assert (answer.status_code, answer.headers["location"]) == (303, "/account")
        assert "the user of this machine" in browser.get("/account").text


def test_replay_names_each_bad_line_and_feeds_the_others(started: Started) -> None:
    root, project, _ = started
    event = project.propose(2, {"README.md": "a change without a job"}).event()
    done = replay(root, project, b"not json\n" + event + b'\n{"type": 3}\n')
    assert done.returncode == 2
    assert b"<stdin>:1: not JSON" in done.stderr
    assert b"<stdin>:3: " in done.stderr
    assert b"fed 1 events, skipped 2" in done.stderr
    wait(lambda: is_answered(root, 2), "the message")


def test_the_machine_worker_knows_neither_the_owner_nor_the_secrets(
    started: Started,
) -> None:
    wait(lambda: machine_workers(started.root), "the machine worker")
    machine = machine_workers(started.root)[0]
    names = {word.split(b"=")[0] for word in Path(f"/proc/{machine}/environ").read_bytes().split(b"\0")}
    assert b"BENCHGATE_MACHINE_DATABASE_URL" in names
    assert b"BENCHGATE_DATABASE_URL" not in names
    assert b"BENCHGATE_WEBHOOK_SECRETS" not in names


def test_an_interrupted_site_leaves_no_process_and_no_link(started: Started) -> None:
    home = started.root / "var"
    wait(lambda: len(processes_of(started.root)) >= 6, "a process for each part")
    wait((home / "sign-in").exists, "the secret of the link")
    assert open_to_others(home) == []
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(60) == 0
    assert processes_of(started.root) == []
    assert not (home / "sign-in").exists()


@contextmanager
def up(root: Path, project: TinyProject) -> Iterator[subprocess.Popen[bytes]]:
    """Run `benchgate up` until the end of the block."""
    with (root / "up.out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli", "up", "--home", str(root / "var"), "--port", "0"],
            env=environment(project),
            stderr=out,
            start_new_session=True,
        )
        try:
            wait(lambda: b"the dashboard is at" in (root / "up.out").read_bytes(), "the dashboard")
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)


def replay(root: Path, project: TinyProject, events: bytes) -> subprocess.CompletedProcess[bytes]:
    """Feed events to the `benchgate up` there."""
    argv = [sys.executable, "-m", "service.cli", "replay", "--home", str(root / "var"), "-"]
    return subprocess.run(argv, env=environment(project), input=events, capture_output=True, check=False)


def environment(project: TinyProject) -> dict[str, str]:
    """The environment that an operator would set."""
    passed = {name: value for name, value in os.environ.items() if not name.startswith("BENCHGATE_")}
    return {**passed, **start_settings(project)}


def vote(root: Path, number: int) -> int | None:
    """The service's vote on the review server."""
    with suppress(NotFound):
        server = ConsoleReview(root / "var" / "review.sqlite", "e2e")
        by_label = server.change(ChangeKey("e2e", number)).votes
        return next((value for by_user in by_label.values() for value in by_user.values()), None)
    return None


def is_answered(root: Path, number: int) -> bool:
    """Return whether the service has posted a message on a change."""
    with suppress(NotFound):
        return bool(ConsoleReview(root / "var" / "review.sqlite", "e2e").messages(ChangeKey("e2e", number)))
    return False


def log_of(root: Path, part: str) -> str:
    """A part's log so far."""
    path = root / "var" / "log" / f"{part}.log"
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def processes_of(root: Path) -> list[str]:
    """The processes that have this home in their arguments or environment."""
    return [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and entry.name != str(os.getpid())
        and str(root / "var").encode() in whole(entry)
    ]


def open_to_others(home: Path) -> list[Path]:
    """The files that their mode opens to other users of this machine."""
    paths = [home, *home.glob("*"), *home.glob("log/*")]
    # A socket's directory may be elsewhere; a link has no mode of its own.
    return [path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077]


def whole(entry: Path) -> bytes:
    """Arguments and environment of a process."""
    with suppress(OSError):
        return (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
    return b""


def machine_workers(root: Path) -> list[str]:
    """The workers of the pool."""
    return [pid for pid in processes_of(root) if b"--pool\0perf" in whole(Path(f"/proc/{pid}"))]


def wait(is_there: object, what: str, seconds: float = 90.0) -> None:
    """Wait until something is there."""
    deadline = time.monotonic() + seconds
    while not is_there():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)
