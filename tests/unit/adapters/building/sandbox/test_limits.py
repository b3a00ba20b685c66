"""Choose control groups, and write limits into them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.adapters.building.sandbox.limits import (
    PARTS,
    ControlGroups,
    Hierarchy,
    describe,
    find_hierarchies,
    leave_own_group,
)
from service.domain.building.sandbox_command import Limits

V1_MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
35 31 0:32 /docker/ab12 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
"""
V1_OWN = "8:pids:/system.slice/worker\n5:memory:/docker/ab12\n3:cpuset:/\n2:cpu,cpuacct:/system.slice\n0::/\n"
V2_MOUNTS = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"


def _host(root: Path, mounts: str, own: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mounts)
    (root / "proc/self/cgroup").write_text(own)
    return root / "sys/fs/cgroup"


def test_version_2_is_used_if_it_limits_memory_and_processes(tmp_path: Path) -> None:
    own = _host(tmp_path, V2_MOUNTS, "0::/benchgate.service/main\n") / "benchgate.service/main"
    own.mkdir(parents=True)
    (own.parent / "cgroup.subtree_control").write_text("memory pids cpuset cpu")
    (own / "cgroup.subtree_control").mkdir()  # refuses to be written, as the kernel does

    found = find_hierarchies(tmp_path, lambda _: True)

    assert found == (Hierarchy(own.parent, frozenset({"memory", "pids", "cpuset", "cpu"}), 2),)
    assert describe(found) == "cgroup v2 memory,pids,cpuset,cpu"


def _delegated(tmp_path: Path, members: str, controllers: str) -> Path:
    own = _host(tmp_path, V2_MOUNTS, "0::/benchgate.service\n") / "benchgate.service"
    own.mkdir(parents=True)
    (own / "cgroup.procs").write_text(members)
    (own / "cgroup.controllers").write_text(controllers)
    return own


def test_a_process_that_is_alone_in_a_delegated_group_makes_room_to_divide_it(tmp_path: Path) -> None:
    own = _delegated(tmp_path, f"{os.getpid()}\n", "cpuset cpu io memory pids")

    leave_own_group(tmp_path)

    assert (own / PARTS / "cgroup.procs").read_text() == str(os.getpid())


def test_a_group_of_a_service_that_systemd_did_not_delegate_is_not_left(tmp_path: Path) -> None:
    """Found in a virtual machine: `systemctl daemon-reload` removed the limits of a running program."""
    own = _delegated(tmp_path, f"{os.getpid()}\n", "cpuset cpu io memory pids")
    (tmp_path / "run/systemd/system").mkdir(parents=True)

    leave_own_group(tmp_path)

    assert not (own / PARTS).exists()


@pytest.mark.parametrize(
    ("members", "controllers"),
    [
        ("1\n{}\n", "cpuset cpu io memory pids"),  # the shell that started it is there, too
        ("{}\n", "cpu io pids"),  # nothing to gain: version 2 is used only if it limits memory
    ],
)
def test_a_group_with_other_members_or_without_controllers_is_not_left(
    tmp_path: Path, members: str, controllers: str
) -> None:
    own = _delegated(tmp_path, members.format(os.getpid()), controllers)

    leave_own_group(tmp_path)

    assert not (own / PARTS).exists()


def test_a_hybrid_host_uses_version_1_in_the_mounts_of_this_process(tmp_path: Path) -> None:
    unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    top = _host(tmp_path, V1_MOUNTS + unified, V1_OWN)

    found = find_hierarchies(tmp_path, lambda _: True)

    assert set(found) == {
        Hierarchy(top / "memory", frozenset({"memory"}), 1),
        Hierarchy(top / "pids/system.slice/worker", frozenset({"pids"}), 1),
        Hierarchy(top / "cpuset", frozenset({"cpuset"}), 1),
        Hierarchy(top / "cpu,cpuacct/system.slice", frozenset({"cpuacct"}), 1),
    }
    assert describe(found) == "cgroup v1 memory,pids,cpuset"


def test_groups_that_cannot_be_written_are_reported_and_not_used(tmp_path: Path) -> None:
    _host(tmp_path, V1_MOUNTS, V1_OWN)

    found = find_hierarchies(tmp_path, lambda hierarchy: "memory" not in hierarchy.controllers)

    assert found == ()
    assert describe(found).startswith("prlimit")


@pytest.mark.parametrize(("name", "largest"), [("cpu.weight", "10000"), ("cpu.shares", "262144")])
def test_a_program_with_priority_gets_the_largest_weight_where_groups_divide_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, largest: str
) -> None:
    make = Path.mkdir

    def make_with_weight(path: Path) -> None:  # as the kernel does
        make(path)
        (path / name).write_text("100")

    monkeypatch.setattr(Path, "mkdir", make_with_weight)
    hierarchies = [Hierarchy(tmp_path, frozenset({"memory"}), 2)]
    weights = []
    for has_priority in (False, True):
        group = ControlGroups(hierarchies, Limits(), has_priority=has_priority)
        weights.append((Path(group.join[-2]) / name).read_text())

    assert weights == ["100", largest]


def test_version_2_gets_its_limits_before_any_process_joins(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, frozenset({"memory", "pids", "cpuset"}), 2)

    group = ControlGroups([hierarchy], Limits(memory_bytes=1 << 30, processes=100), (2, 3))

    (directory,) = tmp_path.iterdir()
    assert str(directory) in group.join
    assert {path.name: path.read_text() for path in directory.iterdir()} == {
        "memory.max": str(1 << 30),
        "pids.max": "104",
        "cpuset.cpus": "2,3",
    }


def test_version_2_counts_processor_time_and_kills(tmp_path: Path) -> None:
    group = ControlGroups([Hierarchy(tmp_path, frozenset({"memory", "pids"}), 2)], Limits())
    (directory,) = tmp_path.iterdir()
    (directory / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    (directory / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n")

    assert group.cpu_seconds() == 1.5
    assert group.memory_kills() == 2


@pytest.mark.parametrize(
    ("events", "is_own"),
    [
        ("max 7\noom 1\noom_kill 2\n", True),
        ("max 7\noom 0\noom_kill 2\n", False),  # the kernel freed enough at the limit; the host lacked memory
        ("max 0\noom 0\noom_kill 2\n", False),
    ],
)
def test_version_2_tells_its_own_limit_from_a_lack_of_memory_above_it(
    tmp_path: Path, events: str, *, is_own: bool
) -> None:
    group = ControlGroups([Hierarchy(tmp_path, frozenset({"memory", "pids"}), 2)], Limits())
    (directory,) = tmp_path.iterdir()
    (directory / "memory.events").write_text(events)

    assert group.memory_kills() == 2
    assert group.has_reached_memory_limit() is is_own


@pytest.mark.parametrize(
    ("peaks", "is_own"),
    [
        ({"memory": 64 << 20, "memory.memsw": 64 << 20}, True),
        ({"memory": (64 << 20) - 4096}, True),  # without swap accounting; the next two pages were too many
        ({"memory": 40 << 20, "memory.memsw": 64 << 20}, True),
        ({"memory": 40 << 20, "memory.memsw": 48 << 20}, False),
        ({"memory": 40 << 20}, False),
    ],
)
def test_version_1_tells_its_own_limit_from_a_lack_of_memory_above_it(
    tmp_path: Path, peaks: dict[str, int], *, is_own: bool
) -> None:
    group = ControlGroups([Hierarchy(tmp_path, frozenset({"memory"}), 1)], Limits())
    (directory,) = tmp_path.iterdir()
    (directory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    for name, peak in peaks.items():
        (directory / f"{name}.max_usage_in_bytes").write_text(f"{peak}\n")
        (directory / f"{name}.limit_in_bytes").write_text(f"{64 << 20}\n")

    assert group.memory_kills() == 1
    assert group.has_reached_memory_limit() is is_own
