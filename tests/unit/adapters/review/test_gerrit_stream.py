"""Read the event stream from a program that replaces ssh."""

from __future__ import annotations

import os
import re
import shlex
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.review.gerrit.events import parse_event
from service.adapters.review.gerrit.stream import Cutter, GerritLines, GerritStream
from service.domain.review.change import EVENT_BYTES
from service.domain.values.errors import Refused, Transient
from service.ports.review.server import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
RECORDED = sorted(SAMPLES.glob("stream-*.json"))
CREATED = SAMPLES / "stream-patchset-created.json"
LET_IN = 'echo "Authenticated to gerrit ([192.0.2.1]:29418) using \\"publickey\\"." >&2\n'
PATIENCE = 20.0  # seconds; the work takes milliseconds on an idle machine


@contextmanager
def listening(
    script: str, tmp_path: Path, *, connect_seconds: float = PATIENCE, settle_seconds: float = 0.0
) -> Iterator[GerritLines]:
    """Open a connection through an ``ssh`` that runs the script."""
    path = tmp_path / "ssh"
    path.write_text(script)
    stream = GerritStream(
        "gerrit.example.com",
        29418,
        "buildbot",
        tmp_path / "id 100%",
        tmp_path / "known hosts",
        types=("patchset-created", "comment-added"),
        connect_seconds=connect_seconds,
        settle_seconds=settle_seconds,
        program=("/bin/sh", str(path)),
    )
    with stream.lines() as lines:
        yield lines


def hear_to_the_end(lines: GerritLines) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        lines.next_line(0.02)


def test_recorded_events_are_read_byte_for_byte(tmp_path: Path) -> None:
    script = f"{LET_IN}cat {' '.join(map(str, RECORDED))}; exec sleep 60"
    with listening(script, tmp_path) as lines:
        comment = [lines.next_line(PATIENCE) for _ in RECORDED]

    assert comment == [Line(path.read_bytes().rstrip(b"\n")) for path in RECORDED]


def test_a_quiet_server_sends_no_line(tmp_path: Path) -> None:
    with listening(f"{LET_IN}exec sleep 60", tmp_path) as lines:
        assert lines.next_line(0.01) is None
        assert lines.next_line(0.0) is None


def test_a_quiet_connection_is_connected_after_the_sign_in(tmp_path: Path) -> None:
    with listening(f"{LET_IN}exec sleep 60", tmp_path) as lines:
        assert not lines.is_connected
        end = time.monotonic() + PATIENCE
        while not lines.is_connected and time.monotonic() < end:
            lines.next_line(0.01)

        assert lines.is_connected


def test_it_is_not_connected_before_the_server_subscribes_it(tmp_path: Path) -> None:
    with listening(f"{LET_IN}exec sleep 60", tmp_path, settle_seconds=3600.0) as lines:
        while b"Authenticated" not in lines._stderr:  # noqa: SLF001 - nothing else shows the message of ssh
            assert lines.next_line(0.01) is None

        assert not lines.is_connected


def test_a_line_proves_the_connection(tmp_path: Path) -> None:
    with listening(f"cat {CREATED}; exec sleep 60", tmp_path, settle_seconds=PATIENCE) as lines:
        assert lines.next_line(PATIENCE)
        assert lines.is_connected


def test_a_sign_in_has_a_time_limit(tmp_path: Path) -> None:
    with (
        listening("exec sleep 60", tmp_path, connect_seconds=0.05) as lines,
        pytest.raises(Transient, match=r"gerrit\.example\.com accepted no connection within"),
    ):
        lines.next_line(PATIENCE)


def test_lines_before_the_end_are_read_before_the_end(tmp_path: Path) -> None:
    with listening(f"{LET_IN}cat {CREATED} {CREATED}", tmp_path) as lines:
        comment = [lines.next_line(PATIENCE), lines.next_line(PATIENCE)]
        with pytest.raises(Transient):
            lines.next_line(PATIENCE)

    assert comment == [Line(CREATED.read_bytes().rstrip(b"\n"))] * 2


def test_an_incomplete_last_line_is_dropped(tmp_path: Path) -> None:
    with (
        listening(f"{LET_IN}head -c 100 {CREATED}", tmp_path) as lines,
        pytest.raises(Transient, match="exit code 0"),
    ):
        lines.next_line(PATIENCE)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        # The messages of OpenSSH 9.2.
        ("Connection to gerrit.example.com closed by remote host.", "closed by remote host"),
        ("Timeout, server gerrit.example.com not responding.", "not responding"),
        (
            "ssh: connect to host gerrit.example.com port 29418: Connection refused",
            "port 29418: Connection refused",
        ),
        (
            "Connection closed.\nTransferred: sent 35, received 44 bytes, in 3 seconds\nBytes per second: …",
            "gerrit.example.com: Connection closed.$",
        ),
    ],
)
def test_the_end_has_the_last_message_of_ssh(tmp_path: Path, message: str, why: str) -> None:
    script = f"{LET_IN}echo {shlex.quote(message)} >&2; exit 255"
    with listening(script, tmp_path) as lines, pytest.raises(Transient, match=why) as raised:
        lines.next_line(PATIENCE)

    assert not isinstance(raised.value, Refused)


@pytest.mark.parametrize(
    "message",
    [
        "buildbot@gerrit.example.com: Permission denied (publickey).",
        "Host key verification failed.",
        "Received disconnect from 192.0.2.1 port 29418:2: Too many authentication failures",
        "stream events not permitted",
    ],
)
def test_a_rejected_key_raises_refused(tmp_path: Path, message: str) -> None:
    script = f"echo '{message}' >&2; echo 'Disconnected from 192.0.2.1 port 29418' >&2; exit 255"
    with listening(script, tmp_path) as lines, pytest.raises(Refused, match=re.escape(message)):
        lines.next_line(PATIENCE)


def test_a_message_of_the_server_has_no_control_characters(tmp_path: Path) -> None:
    with (
        listening("printf '\\033[2Jgone\\n' >&2; exit 1", tmp_path) as lines,
        pytest.raises(Transient) as raised,
    ):
        lines.next_line(PATIENCE)

    assert str(raised.value).endswith(": [2Jgone")


def test_long_stderr_neither_blocks_nor_is_kept(tmp_path: Path) -> None:
    script = f"{LET_IN}head -c 1000000 /dev/zero | tr '\\0' x >&2; cat {CREATED}; exec sleep 60"
    with listening(script, tmp_path) as lines:
        assert lines.next_line(PATIENCE)
        assert len(lines._stderr) <= 4096  # noqa: SLF001 - what is held is the behaviour


def test_a_missing_program_is_transient(tmp_path: Path) -> None:
    stream = GerritStream(
        "h", 1, "u", tmp_path, tmp_path, program=(str(tmp_path / "no-ssh"),), connect_seconds=PATIENCE
    )
    with stream.lines() as lines, pytest.raises(Transient, match="No such file or directory"):
        lines.next_line(PATIENCE)


def test_an_overlong_line_is_cut_and_the_next_line_is_complete(tmp_path: Path) -> None:
    script = f"{LET_IN}head -c 600000 /dev/zero | tr '\\0' x; echo; cat {CREATED}; exec sleep 60"
    with listening(script, tmp_path) as lines:
        assert lines.next_line(PATIENCE) == Line(b"x" * EVENT_BYTES, is_whole=False)
        assert lines.next_line(PATIENCE) == Line(CREATED.read_bytes().rstrip(b"\n"))


def test_a_burst_is_read_at_the_readers_pace_and_ends_with_the_connection(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f'echo $$ > {pid}; yes "$(cat {CREATED})"'
    with listening(script, tmp_path) as lines:
        kinds = {parse_event(line.body).type for _ in range(1000) if (line := lines.next_line(PATIENCE))}

    assert kinds == {"patchset-created"}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_closing_kills_all_started_processes(tmp_path: Path) -> None:
    """Also a child of ssh that holds its pipes, such as the connection of a jump host."""
    pid = tmp_path / "pid"
    script = f"{LET_IN}sleep 60 & echo $! > {pid}; cat {CREATED}; wait"
    with listening(script, tmp_path) as lines:
        assert lines.next_line(PATIENCE)

    child = Path("/proc") / pid.read_text().strip() / "stat"
    end = time.monotonic() + PATIENCE
    while child.exists() and child.read_text().split()[2] != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    assert not child.exists() or child.read_text().split()[2] == "Z"


def test_the_end_is_noticed_while_another_process_holds_the_pipes(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with listening(f"{LET_IN}sleep 60 & echo $! > {pid}; cat {CREATED}; exit 255", tmp_path) as lines:
        assert lines.next_line(PATIENCE)
        with pytest.raises(Transient, match="exit code 255"):
            hear_to_the_end(lines)
    os.kill(int(pid.read_text()), 9)


def test_ssh_requests_the_wanted_events_and_cannot_prompt(tmp_path: Path) -> None:
    script = 'for word; do echo "$word"; done; echo; exec sleep 60'
    words = []
    with listening(script, tmp_path) as lines:
        while (line := lines.next_line(PATIENCE)) and line.body:
            words.append(line.body.decode())

    options = [words[at + 1] for at, word in enumerate(words) if word == "-o"]
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ServerAliveInterval=15"} <= set(options)
    assert f'IdentityFile="{tmp_path}/id 100%%"' in options
    assert f'UserKnownHostsFile="{tmp_path}/known hosts"' in options
    assert words[words.index("-p") + 1] == "29418"
    assert words[-3:] == [
        "--",
        "buildbot@gerrit.example.com",
        "gerrit stream-events -s patchset-created -s comment-added",
    ]


def test_ssh_gets_no_secrets_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", "postgresql://secret")
    with listening("env; echo; exec sleep 60", tmp_path) as lines:
        names = set()
        while (line := lines.next_line(PATIENCE)) and line.body:
            names.add(line.body.split(b"=")[0].decode())

    assert "PATH" in names
    assert not {name for name in names if name.startswith("BENCHGATE")}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_the_division_into_chunks(size: int) -> None:
    data = b"".join(path.read_bytes() for path in RECORDED[:3]) + b"\n" + b"begun"
    cutter = Cutter()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    comment = [line for piece in pieces for line in cutter.feed(piece)]

    assert [line.body for line in comment] == data.split(b"\n")[:-1]
    assert all(line.is_whole for line in comment)


@pytest.mark.parametrize(
    ("sent", "comment"),
    [
        (b"12345\n", [Line(b"12345")]),
        (b"123456\n", [Line(b"12345", is_whole=False)]),
        (b"1234567890abcdef", [Line(b"12345", is_whole=False)]),
        (b"123456789\n12\n\n", [Line(b"12345", is_whole=False), Line(b"12"), Line(b"")]),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_no_line_is_held_beyond_the_limit(sent: bytes, comment: list[Line], size: int) -> None:
    cutter = Cutter(bound=5)
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]

    assert [line for piece in pieces for line in cutter.feed(piece)] == comment
