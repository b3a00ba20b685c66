"""What a variable that cannot be used looks like to the person who set it."""

from __future__ import annotations

import pytest

from service import cli
from service.config import ControlSettings, MachineSettings
from service.domain.errors import BadInput

LONG_ENOUGH = "s" * 16
BAD = [
    ("BENCHGATE_WEBHOOK_SECRETS", "abc-not-json", "is not JSON; a list is written as"),
    ("BENCHGATE_WEBHOOK_SECRETS", '["short-one"]', "each secret needs at least 16 characters"),
    ("BENCHGATE_LEASE_SECONDS", "soon-ish", "should be a valid number"),
    ("BENCHGATE_LEASE_SECONDS", "0.125", "greater than 0.5"),
    ("BENCHGATE_RECONCILE_SECONDS", "-17", "greater than 0"),
    ("BENCHGATE_SANDBOX", "docker-it", "'bubblewrap' or 'none'"),
    ("BENCHGATE_CPUS", "[2.75]", "should be a valid integer"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_a_bad_variable_is_named_with_what_is_allowed_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadInput) as caught:
        (ControlSettings(), MachineSettings())
    assert str(caught.value).startswith(name)
    assert allowed in str(caught.value)
    assert value.strip('[]"') not in str(caught.value)


def test_each_bad_variable_gets_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_LEASE_SECONDS", "x")
    monkeypatch.setenv("BENCHGATE_SANDBOX", "x")
    with pytest.raises(BadInput) as caught:
        MachineSettings()
    names = [line.split(":")[0] for line in str(caught.value).splitlines()]
    assert names == ["BENCHGATE_LEASE_SECONDS", "BENCHGATE_SANDBOX"]


def test_secrets_that_cannot_be_guessed_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_WEBHOOK_SECRETS", f'["{LONG_ENOUGH}"]')
    assert [each.get_secret_value() for each in ControlSettings().webhook_secrets] == [LONG_ENOUGH]


COMMANDS = (["schedule"], ["serve"], ["worker", "--pool", "control"], ["migrate"])


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BENCHGATE_WEBHOOK_SECRETS", "abc", "BENCHGATE_WEBHOOK_SECRETS: is not JSON"),
        ("BENCHGATE_DATABASE_URL", "", "settings: BENCHGATE_DATABASE_URL is not set"),
    ],
)
def test_a_command_that_cannot_begin_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    name: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(name, value)
    assert run(monkeypatch, *words) == cli.EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"benchgate: {said}")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BENCHGATE_LEASE_SECONDS", "x", "benchgate: BENCHGATE_LEASE_SECONDS: "),
        ("BENCHGATE_REDIS_URL", "", "benchgate: settings: BENCHGATE_REDIS_URL is not set"),
    ],
)
def test_a_machine_worker_that_cannot_begin_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    # What the command sets for its process is taken back with the test.
    monkeypatch.setenv("BENCHGATE_POOL", "perf")
    monkeypatch.setenv(name, value)
    assert run(monkeypatch, "worker", "--pool", "perf") == cli.EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)


def test_a_control_worker_is_refused_less_than_two_processes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "worker", "--pool", "control", "--concurrency", "1") == cli.EXIT_USAGE
    assert "x>=2" in capsys.readouterr().err


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of `benchgate` with these words."""
    monkeypatch.setattr("sys.argv", ["benchgate", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code
