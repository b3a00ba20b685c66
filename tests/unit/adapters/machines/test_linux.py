"""Properties and load of a machine, read from its kernel's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.adapters.machines.linux import read_environment, read_load

SAMPLES = Path(__file__).parents[3] / "samples/machine"


@pytest.fixture
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The files of the test's sample; its sections start with ``== path``."""
    text = (SAMPLES / f"{request.param}.txt").read_text()
    for section in text.removeprefix("== ").split("\n== "):
        name, _, content = section.partition("\n")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.mark.parametrize("root", ["kvm-guest"], indirect=True)
def test_a_guest_shows_its_own_properties_and_hides_its_hosts(root: Path) -> None:
    environment = read_environment(root)

    assert environment.cpu_model == "AMD EPYC"
    assert environment.cores == 2
    assert environment.threads_per_core == 1
    assert environment.online_cpus == (0, 1)
    assert environment.caches == ("L1d 48K", "L1i 32K", "L2 1024K", "L3 32768K")
    assert environment.numa_nodes == 1
    assert environment.aslr == 2
    assert environment.thp == "madvise"
    assert environment.kernel == "6.1.0-28-cloud-amd64"
    assert environment.clocksource == "tsc"
    assert environment.is_virtualised is True
    assert environment.memory_bytes == 24684092 * 1024
    assert environment.governor is None
    assert environment.turbo is None
    assert environment.smt is None


@pytest.mark.parametrize("root", ["kvm-guest"], indirect=True)
def test_a_hidden_property_is_unknown_in_json(root: Path) -> None:
    mapping = read_environment(root).to_mapping()

    assert (mapping["governor"], mapping["turbo"], mapping["smt"]) == ("unknown", "unknown", "unknown")
    assert mapping["online_cpus"] == [0, 1]


@pytest.mark.parametrize("root", ["untuned-xeon"], indirect=True)
def test_siblings_share_a_core_and_offline_cpus_do_not_count(root: Path) -> None:
    environment = read_environment(root)

    assert environment.online_cpus == (0, 1, 4, 5)
    assert environment.cores == 2
    assert environment.threads_per_core == 2
    assert environment.smt is True
    assert environment.numa_nodes == 2
    assert environment.is_virtualised is False


@pytest.mark.parametrize("root", ["untuned-xeon"], indirect=True)
def test_different_governors_are_all_shown(root: Path) -> None:
    assert read_environment(root).governor == "performance, powersave"


@pytest.mark.parametrize(
    ("root", "turbo", "switch"),
    [
        ("untuned-xeon", True, "/sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("tuned-arm", False, "/sys/devices/system/cpu/cpufreq/boost"),
    ],
    indirect=["root"],
)
def test_turbo_is_read_from_either_switch(root: Path, *, turbo: bool, switch: str) -> None:
    environment = read_environment(root)

    assert (environment.turbo, environment.turbo_switch) == (turbo, switch)


@pytest.mark.parametrize("root", ["tuned-arm"], indirect=True)
def test_an_arm_processor_is_named_by_its_numbers(root: Path) -> None:
    environment = read_environment(root)

    assert environment.cpu_model == "implementer 0x41 part 0xd0c"
    assert environment.is_virtualised is None
    assert environment.thp is None


def test_an_empty_machine_is_unknown_throughout(tmp_path: Path) -> None:
    assert set(read_environment(tmp_path).to_mapping().values()) == {"unknown"}


@pytest.mark.parametrize("root", ["untuned-xeon"], indirect=True)
def test_load_is_read_for_each_cpu(root: Path) -> None:
    load = read_load(root)

    assert (load.load1, load.running) == (9.31, 12)
    assert load.busy_ticks == dict.fromkeys((0, 1, 4, 5), 116000)
    assert load.idle_ticks == dict.fromkeys((0, 1, 4, 5), 226250)
    assert load.steal_ticks == dict.fromkeys((0, 1, 4, 5), 0)
    assert load.available_bytes == 1500000 * 1024
    assert load.swapped_bytes == 262144 * 1024
    assert load.throttles == 12 + 30


@pytest.mark.parametrize("root", ["kvm-guest"], indirect=True)
def test_stolen_time_is_not_busy_time(root: Path) -> None:
    load = read_load(root)

    assert load.steal_ticks == {0: 7, 1: 17}
    assert load.busy_ticks == {0: 1477 + 1198 + 13, 1: 2675 + 1887 + 64}
    assert load.throttles is None


@pytest.mark.parametrize("root", ["kvm-guest"], indirect=True)
def test_the_fingerprint_depends_on_the_properties_that_affect_results(root: Path) -> None:
    in_force = {"sandbox": "bubblewrap 0.8.0", "limits": "cgroup v2 memory,pids,cpuset"}
    before = read_environment(root)
    (root / "proc/meminfo").write_text("MemTotal: 1 kB")
    same = read_environment(root)
    (root / "proc/sys/kernel/osrelease").write_text("6.1.0-29-cloud-amd64")
    other = read_environment(root)

    assert same.fingerprint(in_force) == before.fingerprint(in_force)
    assert other.fingerprint(in_force) != before.fingerprint(in_force)
    assert before.fingerprint({**in_force, "limits": "prlimit"}) != before.fingerprint(in_force)
