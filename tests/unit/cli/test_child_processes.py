"""Pass settings to the parts of a Benchgate on one machine."""

from __future__ import annotations

from pathlib import Path

from service.cli.services.child_processes import Site, parts_of
from service.domain.machines.slots import slots_of

SLOTS = slots_of("host", ("perf", "linux", "lint"), 1)
SECRETS = {
    "BENCHGATE_GERRITS": '{"core": {"url": "https://core", "password": "hunter2", "ssh_host": "core"}}',
    "BENCHGATE_GERRIT_PASSWORD": "hunter2",
    "BENCHGATE_WEBHOOK_SECRETS": '["hunter2"]',
    "BENCHGATE_OIDC_CLIENT_SECRET": "hunter2",
}


def site_with(settings: dict[str, str], *event_streams: str) -> Site:
    return Site(Path("/home"), 8080, SLOTS, "redis://x", "owner", "machines", settings, event_streams)


def test_a_machine_gets_no_credential_of_a_review_server_or_an_identity_provider() -> None:
    """A machine worker runs the programs of patch sets."""
    site = site_with(SECRETS | {"BENCHGATE_GIT_URLS": "{}"})
    given = {part.name: dict(part.env or {}) for part in parts_of(site)}
    assert "hunter2" not in str(given["machine"])
    assert "owner" not in given["machine"].values()
    assert given["machine"]["BENCHGATE_GIT_URLS"] == "{}"
    assert given["control"].items() >= SECRETS.items()


def test_each_part_gets_the_variables_that_it_reads_and_no_other() -> None:
    """Passwords that a user exports for something else begin with BENCHGATE_ too."""
    of_control = {"BENCHGATE_RECONCILE_SECONDS": "5", "BENCHGATE_READ": "public"}
    of_machines = {"BENCHGATE_CPUS": "[1]", "BENCHGATE_LEASE_SECONDS": "2", "BENCHGATE_MOUNTS": "[]"}
    of_both = {"BENCHGATE_GIT_URL": "/srv/git", "BENCHGATE_ARTIFACTS": "/srv/artifacts"}
    foreign = {"BENCHGATE_X_PASSWORD": "hunter2", "BENCHGATE_OWNER_PASSWORD": "hunter2"}
    common = {"BENCHGATE_HOME", "BENCHGATE_REDIS_URL", *of_both}
    for part in parts_of(site_with(of_control | of_machines | of_both | foreign)):
        names = {name for name in part.env or {} if name.startswith("BENCHGATE_")}
        if part.name.startswith("machine"):
            own = {"BENCHGATE_MACHINE_NAME", "BENCHGATE_HOST", "BENCHGATE_MACHINE_DATABASE_URL"}
            assert names == {*common, *of_machines, *own}
        else:
            assert names == {*common, *of_control, "BENCHGATE_BASE_URL", "BENCHGATE_DATABASE_URL"}, part.name


def test_each_event_stream_has_a_listener() -> None:
    several = [part for part in parts_of(site_with({}, "core", "edge")) if "listen" in part.argv]
    assert [(part.name, part.argv[-2:]) for part in several] == [
        ("listen-core", ("--instance", "core")),
        ("listen-edge", ("--instance", "edge")),
    ]
    one = [part for part in parts_of(site_with({"BENCHGATE_GERRIT_SSH_HOST": "x"})) if "listen" in part.argv]
    assert [(part.name, part.argv[-1]) for part in one] == [("listen", "listen")]
    assert not [part for part in parts_of(site_with({})) if "listen" in part.argv]


def test_each_machine_of_the_host_has_a_worker_with_its_name() -> None:
    workers = [part for part in parts_of(site_with({})) if part.name.startswith("machine")]
    assert [(part.name, part.argv[-2:], (part.env or {})["BENCHGATE_MACHINE_NAME"]) for part in workers] == [
        ("machine", ("--pool", "perf"), "host"),
        ("machine-linux", ("--pool", "linux"), "host/linux"),
        ("machine-lint", ("--pool", "lint"), "host/lint"),
    ]
    assert {(part.env or {})["BENCHGATE_HOST"] for part in workers} == {"host"}


def test_other_workers_of_the_user_may_share_the_host() -> None:
    workers = parts_of(site_with({"BENCHGATE_HOST": "metal-7"}))
    assert {(part.env or {}).get("BENCHGATE_HOST", "metal-7") for part in workers} == {"metal-7"}
