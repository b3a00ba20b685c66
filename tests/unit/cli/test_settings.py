"""Error messages for environment variables that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service import cli
from service.cli.services.child_processes import Site, parts_of
from service.config.control import ControlSettings, GerritSettings
from service.config.machine import MachineSettings
from service.domain.machines.slots import Slot
from service.domain.values.errors import BadInput
from service.wiring.control import failure_patterns

if TYPE_CHECKING:
    from collections.abc import Mapping

LONG_ENOUGH = "s" * 16
BAD = [
    ("BENCHGATE_WEBHOOK_SECRETS", "abc-not-json", "is not JSON; a list is written as"),
    ("BENCHGATE_WEBHOOK_SECRETS", '["short-one"]', "each secret needs at least 16 characters"),
    ("BENCHGATE_LEASE_SECONDS", "soon-ish", "should be a valid number"),
    ("BENCHGATE_LEASE_SECONDS", "0.125", "greater than 0.5"),
    ("BENCHGATE_FIRST_CONTACT_DAYS", "999999", "less than or equal to 36500"),
    ("BENCHGATE_FIRST_CONTACT_DAYS", "inf", "finite number"),
    ("BENCHGATE_RECONCILE_SECONDS", "-17", "greater than 0"),
    ("BENCHGATE_SANDBOX", "docker-it", "'bubblewrap' or 'none'"),
    ("BENCHGATE_CPUS", "[2.75]", "should be a valid integer"),
    (
        "BENCHGATE_REDIS_URL",
        "rediss://web:pw@db/0?ssl_cert_reqs=none",
        "always checks the server's certificate",
    ),
    (
        "BENCHGATE_REDIS_URL",
        "REDISS://web:pw@db?ssl_cert_reqs=optional",
        "always checks the server's certificate",
    ),
    ("BENCHGATE_REDIS_URL", "rediss://web:pw@db/0?ssl_check_hostname=false", "certificate and name"),
    ("BENCHGATE_REDIS_URL", "rediss://web:p][w@db/0", "percent-encode"),
    ("BENCHGATE_READ", "everybody", "'public' or 'signed-in'"),
    ("BENCHGATE_ROLE_GROUPS", '{"admin": ["ops"]}', "'reader', 'reviewer' or 'operator'"),
    ("BENCHGATE_OIDC_ISSUER", "http://login.example.com", "must begin with https://"),
    ("BENCHGATE_OIDC_ISSUER", "login.example.com", "must begin with https://"),
    ("BENCHGATE_GERRITS", "abc-not-json", """an object as '{"a": "b"}'"""),
    ("BENCHGATE_GERRITS", '["list"]', "should be a valid dictionary"),
    ("BENCHGATE_GIT_URLS", '{"a/b": "https://a"}', "'a/b' cannot be the name of an instance: use up to 40"),
]
OIDC = {
    "BENCHGATE_OIDC_ISSUER": "https://login.example.com",
    "BENCHGATE_OIDC_CLIENT_ID": "benchgate",
    "BENCHGATE_OIDC_CLIENT_SECRET": "secret-of-the-client",
}


TWO_GERRITS = '{"core": {"url": "https://core.example.com"}, "edge": {"url": "https://edge.example.com"}}'


def set_all(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "base_url", ["https://bench.example.com", "http://127.0.0.1:8080", "http://localhost"]
)
def test_sign_in_needs_an_address_safe_from_eavesdroppers(
    monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    set_all(monkeypatch, {**OIDC, "BENCHGATE_BASE_URL": base_url, "BENCHGATE_READ": "signed-in"})
    assert not ControlSettings().has_local_identity


@pytest.mark.parametrize("base_url", ["http://bench.example.com", "http://10.0.0.1:8080", "http://[::]:80"])
def test_sign_in_over_http_is_refused_except_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    set_all(monkeypatch, {**OIDC, "BENCHGATE_BASE_URL": base_url})
    with pytest.raises(BadInput, match="BENCHGATE_OIDC_ISSUER: needs a BENCHGATE_BASE_URL that"):
        ControlSettings()


@pytest.mark.parametrize("missing", ["BENCHGATE_OIDC_CLIENT_ID", "BENCHGATE_OIDC_CLIENT_SECRET"])
def test_a_provider_needs_its_client(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    set_all(monkeypatch, {**OIDC, missing: ""})
    with pytest.raises(BadInput, match="BENCHGATE_OIDC_CLIENT_SECRET: BENCHGATE_OIDC_ISSUER also needs this"):
        ControlSettings()


@pytest.mark.parametrize(
    "variables",
    [
        {"BENCHGATE_GERRIT_URL": "https://review.example.com"},
        {"BENCHGATE_GERRITS": TWO_GERRITS},
        {"BENCHGATE_BASE_URL": "https://bench.example.com"},
    ],
)
def test_signed_in_reading_needs_a_way_to_sign_in(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]
) -> None:
    set_all(monkeypatch, {**variables, "BENCHGATE_READ": "signed-in"})
    with pytest.raises(BadInput, match="BENCHGATE_READ: signed-in needs BENCHGATE_OIDC_ISSUER"):
        ControlSettings()


def test_only_without_gerrit_and_provider_the_user_of_this_machine_signs_in() -> None:
    assert ControlSettings().has_local_identity
    assert not ControlSettings(gerrit_url="https://review.example.com").has_local_identity
    assert not ControlSettings(
        gerrits={"core": GerritSettings(url="https://core.example.com")}
    ).has_local_identity
    assert not ControlSettings(base_url="https://bench.example.com").has_local_identity


def test_machines_get_no_secret_of_the_identity_provider(tmp_path: Path) -> None:
    site = Site(
        home=tmp_path,
        port=8080,
        slots=(Slot("host", "perf"),),
        redis_url="r",
        database_url="d",
        machine_database_url="m",
        settings=OIDC,
    )
    environments = {part.name: part.env or {} for part in parts_of(site)}
    assert environments["web"].items() >= OIDC.items()
    assert not OIDC.keys() & environments["machine"].keys()


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_an_error_names_the_variable_and_the_allowed_values_but_not_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadInput) as caught:
        (ControlSettings(), MachineSettings())
    assert str(caught.value).startswith(name)
    assert allowed in str(caught.value)
    assert value.strip('[]"') not in str(caught.value)


def test_an_error_has_one_line_for_each_bad_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_LEASE_SECONDS", "x")
    monkeypatch.setenv("BENCHGATE_SANDBOX", "x")
    with pytest.raises(BadInput) as caught:
        MachineSettings()
    names = [line.split(":")[0] for line in str(caught.value).splitlines()]
    assert sorted(names) == ["BENCHGATE_LEASE_SECONDS", "BENCHGATE_SANDBOX"]


def test_a_secret_of_sufficient_length_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_WEBHOOK_SECRETS", f'["{LONG_ENOUGH}"]')
    assert [secret.get_secret_value() for secret in ControlSettings().webhook_secrets] == [LONG_ENOUGH]


@pytest.mark.parametrize(
    ("address", "used"),
    [
        ("rediss://web:pw@db:6379/0", "rediss://web:pw@db:6379/0?ssl_cert_reqs=required"),
        ("rediss://db/0?ssl_ca_certs=/a/b.pem", "rediss://db/0?ssl_ca_certs=/a/b.pem&ssl_cert_reqs=required"),
        ("rediss://db/0?ssl_cert_reqs=required", "rediss://db/0?ssl_cert_reqs=required"),
        ("redis://db/0", "redis://db/0"),
        ("redis+socket:///a/valkey.sock?virtual_host=0", "redis+socket:///a/valkey.sock?virtual_host=0"),
        ("", ""),
    ],
)
def test_an_encrypted_broker_must_show_a_certificate(
    monkeypatch: pytest.MonkeyPatch, address: str, used: str
) -> None:
    monkeypatch.setenv("BENCHGATE_REDIS_URL", address)
    assert ControlSettings().redis_url == MachineSettings().redis_url == used


def gerrits(**servers: dict[str, object]) -> str:
    return json.dumps(
        {name: {"url": f"https://{name}.example.com", **more} for name, more in servers.items()}
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"core": {}}', "BENCHGATE_GERRITS[core][url]: Field required"),
        ('{"core": {"url": ""}}', "BENCHGATE_GERRITS[core][url]: String should have at least 1 character"),
        (
            gerrits(core={"passwort": "x"}),
            "BENCHGATE_GERRITS[core][passwort]: Extra inputs are",
        ),
        (
            gerrits(core={"webhook_secrets": ["hunter2"]}),
            "BENCHGATE_GERRITS[core][webhook_secrets]: each secret needs at least 16 characters",
        ),
        (
            gerrits(core={}, edge={"url": "https://core.example.com/"}),
            "BENCHGATE_GERRITS: core and edge have the same url",
        ),
        (
            gerrits(core={"webhook_secrets": [LONG_ENOUGH]}, edge={"webhook_secrets": [LONG_ENOUGH]}),
            "BENCHGATE_GERRITS: core and edge have the same webhook secret",
        ),
        (
            '{"a~b": {"url": "https://a"}}',
            "BENCHGATE_GERRITS: 'a~b' cannot be the name of an instance: use up to 40 letters, digits, '.',",
        ),
    ],
)
def test_an_error_in_several_gerrits_names_the_gerrit_and_no_secret(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.setenv("BENCHGATE_GERRITS", value)
    with pytest.raises(BadInput) as caught:
        ControlSettings()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BENCHGATE_GERRIT_URL", "https://review.example.com"),
        ("BENCHGATE_GERRIT_PASSWORD", "hunter2"),
        ("BENCHGATE_GERRIT_SSH_PORT", "22"),
        ("BENCHGATE_WEBHOOK_SECRETS", f'["{LONG_ENOUGH}"]'),
        ("BENCHGATE_INSTANCE", "core"),
    ],
)
def test_settings_of_one_gerrit_beside_those_of_several_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("BENCHGATE_GERRITS", gerrits(core={}))
    monkeypatch.setenv(name, value)
    with pytest.raises(BadInput) as caught:
        ControlSettings()
    message = f"BENCHGATE_GERRITS: also {name} is set: unset it, and write its value here"
    assert str(caught.value) == message


def test_empty_settings_of_one_gerrit_may_stand_beside_those_of_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compose sets every variable."""
    for name, value in (("GERRIT_URL", ""), ("GERRIT_USER", ""), ("INSTANCE", "console")):
        monkeypatch.setenv(f"BENCHGATE_{name}", value)
    monkeypatch.setenv("BENCHGATE_GERRITS", gerrits(edge={"ssh_host": "edge"}, core={"user": "bot"}))
    settings = ControlSettings()
    assert settings.instances == ("core", "edge")
    assert settings.event_streams == ("edge",)
    assert settings.gerrit_servers["core"].user == "bot"


def test_one_gerrit_has_the_settings_of_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        *(("INSTANCE", "review"), ("GERRIT_URL", "https://review.example.com"), ("GERRIT_USER", "bot")),
        *(
            ("GERRIT_PROJECTS", '["kv"]'),
            ("GERRIT_SSH_HOST", "ssh"),
            ("WEBHOOK_SECRETS", f'["{LONG_ENOUGH}"]'),
        ),
    ):
        monkeypatch.setenv(f"BENCHGATE_{name}", value)
    settings = ControlSettings()
    gerrit = settings.gerrit_servers["review"]
    assert (gerrit.url, gerrit.user, gerrit.projects) == ("https://review.example.com", "bot", ["kv"])
    assert (settings.instances, settings.event_streams) == (("review",), ("review",))
    assert settings.webhook_secrets_by_instance == {"review": [LONG_ENOUGH]}
    assert ControlSettings(gerrit_url="", instance="console").gerrit_servers == {}


def test_each_instance_has_its_own_address_to_clone_from() -> None:
    settings = MachineSettings(git_url="/srv/{project}", git_urls={"core": "https://core/{project}"})
    assert settings.remotes["core"]("kv") == "https://core/kv"
    assert settings.remote("kv") == "/srv/kv"


COMMANDS = (["schedule"], ["serve"], ["worker", "--pool", "control"], ["migrate"])


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("BENCHGATE_WEBHOOK_SECRETS", "abc", "BENCHGATE_WEBHOOK_SECRETS: is not JSON"),
        ("BENCHGATE_DATABASE_URL", "", "settings: BENCHGATE_DATABASE_URL is not set"),
    ],
)
def test_a_command_with_bad_settings_fails_with_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    name: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv(name, value)
    assert run(monkeypatch, *words) == cli.EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"benchgate: {message}")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("BENCHGATE_LEASE_SECONDS", "x", "benchgate: BENCHGATE_LEASE_SECONDS: "),
        ("BENCHGATE_REDIS_URL", "", "benchgate: settings: BENCHGATE_REDIS_URL is not set"),
    ],
)
def test_a_machine_worker_with_bad_settings_fails_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, message: str
) -> None:
    # The command sets this variable in its process; monkeypatch restores it.
    monkeypatch.setenv("BENCHGATE_POOL", "perf")
    monkeypatch.setenv(name, value)
    assert run(monkeypatch, "worker", "--pool", "perf") == cli.EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(message)


def test_a_control_worker_needs_at_least_two_processes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "worker", "--pool", "control", "--concurrency", "1") == cli.EXIT_USAGE
    assert "x>=2" in capsys.readouterr().err


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run `benchgate` with these arguments and return its exit code."""
    monkeypatch.setattr("sys.argv", ["benchgate", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_file_of_failure_patterns_is_read(tmp_path: Path) -> None:
    file = tmp_path / "patterns.yaml"
    file.write_text("device: '^fatal: '\n")
    assert len(failure_patterns(ControlSettings(failure_patterns=file))) == 1
    assert len(failure_patterns(ControlSettings())) == 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff", "BENCHGATE_FAILURE_PATTERNS: {file}: it is not UTF-8"),
        (None, "BENCHGATE_FAILURE_PATTERNS: {file}: No such file or directory"),
        (b"a: x\nb: (", "{file}:2: b: '(': not a regular expression"),
    ],
)
def test_a_bad_file_of_failure_patterns_is_refused(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file = tmp_path / "patterns.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput) as refused:
        failure_patterns(ControlSettings(failure_patterns=file))
    assert problem.format(file=file) in str(refused.value)


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("", ""),
        ("/srv/artifacts", ""),
        ("https://bench.example.com", "https://bench.example.com"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
    ],
)
def test_a_machine_has_artifacts_in_a_directory_or_at_the_control_plane(place: str, url: str) -> None:
    settings = MachineSettings(artifacts=place, machine_token_file=Path("/run/token") if url else None)
    assert settings.artifacts_url == url


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "http://bench.example.com",
            "BENCHGATE_ARTIFACTS: must be a directory or the address of",
        ),
        ("s3://bucket/artifacts", r"a bucket \(s3://\) is for the control plane only"),
        ("https://bench.example.com", "BENCHGATE_MACHINE_TOKEN_FILE: .*benchgate token create NAME --scope"),
    ],
)
def test_an_address_of_artifacts_is_protected_and_comes_with_a_token(place: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        MachineSettings(artifacts=place)


@pytest.mark.parametrize("place", ["", "/srv/artifacts"])
def test_a_token_without_an_address_is_refused(place: str) -> None:
    with pytest.raises(BadInput, match=r"BENCHGATE_MACHINE_TOKEN_FILE: .*set BENCHGATE_ARTIFACTS to"):
        MachineSettings(artifacts=place, machine_token_file=Path("/run/token"))


@pytest.mark.parametrize("place", ["s3://bench", "s3://bench/site/", "gs://bench/a/b", "az://bench/site"])
def test_the_control_plane_may_have_artifacts_in_a_bucket(place: str) -> None:
    settings = ControlSettings(artifacts=place)
    assert settings.bucket_url == place.rstrip("/")
    with pytest.raises(BadInput, match="must be a directory here"):
        assert settings.artifacts_path


@pytest.mark.parametrize(
    "place",
    [
        "s3://",
        "s3:bench",
        "s3://key:secret@bench",
        "s3://bench/../x",
        "gs://bench?a=secret",
        "S3://b",
        "s3a://b",
    ],
)
def test_an_address_of_a_bucket_has_only_its_name_and_a_prefix(place: str) -> None:
    with pytest.raises(BadInput, match="BENCHGATE_ARTIFACTS: must be like s3://bucket/prefix") as refused:
        ControlSettings(artifacts=place)
    assert "secret" not in str(refused.value)


def test_the_control_plane_has_artifacts_in_a_directory() -> None:
    settings = ControlSettings(artifacts="https://bench.example.com")  # as `benchgate doctor` on a machine
    with pytest.raises(BadInput, match=r"BENCHGATE_ARTIFACTS: must be a directory here; .* a machine gets"):
        assert settings.artifacts_path
