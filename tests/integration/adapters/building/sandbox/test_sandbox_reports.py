"""Reports on a sandboxed program's end and output, and the requirements on a host."""

from __future__ import annotations

import io
import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.mounts import explain_refusal
from service.adapters.building.toolchain import toolchain_fingerprint
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.values.errors import Permanent, Unfit
from tests.integration.adapters.building.sandbox.sandboxed import PYTHON, QUICK, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    return BubblewrapSandbox()


@pytest.mark.parametrize(
    ("program", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", 139), ("kill -9 $$", 137)]
)
def test_exit_codes_and_signals_are_reported(sandbox: BubblewrapSandbox, program: str, code: int) -> None:
    ended, _ = run(sandbox, "sh", "-c", program)

    assert (ended.exit_code, ended.stopped_by, ended.is_success) == (code, None, code == 0)


def test_a_missing_program_exits_as_in_a_shell(sandbox: BubblewrapSandbox) -> None:
    ended, output = run(sandbox, "no-such-program")

    assert ended.exit_code == 127
    assert "no-such-program" in output


def test_a_missing_mount_is_not_the_programs_failure(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    with pytest.raises(Unfit, match=r"did not start.*/absent"):
        run(sandbox, "true", mounts=(Mount(tmp_path / "absent", "/src"),))


def test_a_zero_byte_cannot_add_an_argument(sandbox: BubblewrapSandbox) -> None:
    with pytest.raises(Permanent, match="zero byte"):
        run(sandbox, "true", env={"N": "1\0--share-net"})


def test_output_is_copied_byte_by_byte(sandbox: BubblewrapSandbox) -> None:
    log = io.BytesIO()
    program = "import os; [os.write(1, bytes(range(256)) * 1000) for _ in range(8)]; os.write(2, b'end')"
    sandbox.run(Command((PYTHON, "-c", program), limits=QUICK), log=log, watch=lambda: None)

    assert log.getvalue() == bytes(range(256)) * 8000 + b"end"


def test_a_program_that_exceeds_the_output_limit_is_killed(sandbox: BubblewrapSandbox) -> None:
    ended, output = run(sandbox, "yes", limits=Limits(wall_seconds=60, log_bytes=100_000))

    assert ended.stopped_by is StoppedBy.LOG
    assert output == "y\n" * 50_000


def test_output_up_to_the_limit_is_allowed(sandbox: BubblewrapSandbox) -> None:
    ended, output = run(sandbox, "printf", "%s", "x" * 1000, limits=Limits(wall_seconds=60, log_bytes=1000))

    assert (ended.stopped_by, len(output)) == (None, 1000)


def test_without_a_log_there_is_no_output_limit(sandbox: BubblewrapSandbox) -> None:
    command = Command(
        ("sh", "-c", "yes | head -c 1000000; yes | head -c 1000000 >&2"), limits=Limits(60, log_bytes=1)
    )

    assert sandbox.run(command, log=None, watch=lambda: None).is_success


def test_addresses_are_random_by_default(sandbox: BubblewrapSandbox) -> None:
    def stack(*, aslr: bool) -> set[str]:
        return {run(sandbox, "grep", "-F", "[stack]", "/proc/self/maps", aslr=aslr)[1] for _ in range(3)}

    assert len(stack(aslr=False)) == 1
    assert len(stack(aslr=True)) == 3


def test_a_program_stays_on_its_cpus(sandbox: BubblewrapSandbox) -> None:
    cpu = max(os.sched_getaffinity(0))
    _, output = run(sandbox, PYTHON, "-c", "import os; print(os.sched_getaffinity(0))", cpus=(cpu,))

    assert output == f"{{{cpu}}}\n"


def test_missing_cpus_make_the_host_unfit(sandbox: BubblewrapSandbox) -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(Unfit, match="4000"):
        run(sandbox, "true", cpus=(0, 4000))
    assert os.sched_getaffinity(0) == before


def test_a_run_costs_little(sandbox: BubblewrapSandbox) -> None:
    costs = []
    for _ in range(5):
        started = time.monotonic()
        run(sandbox, "true")
        costs.append(time.monotonic() - started)

    assert min(costs) < 0.3


def test_in_force_describes_isolation_and_limits(sandbox: BubblewrapSandbox) -> None:
    in_force = sandbox.in_force()

    assert in_force["sandbox"].startswith("bubblewrap ")
    assert in_force["network"] == "none"
    assert in_force["limits"].startswith(("cgroup v2 memory,pids", "cgroup v1 memory,pids", "prlimit"))


def test_a_host_without_bubblewrap_is_unfit() -> None:
    with pytest.raises(Unfit, match="sudo apt-get install bubblewrap"):
        BubblewrapSandbox(program="/nowhere/bwrap")


def test_a_kernel_that_forbids_namespaces_makes_the_host_unfit(tmp_path: Path) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        "#!/bin/sh\n"
        "[ $1 = --version ] && exec bwrap --version\n"
        'exec unshare -Ur sh -c \'echo 0 > /proc/sys/user/max_user_namespaces; exec bwrap "$@"\' sh "$@"\n'
    )
    refusing.chmod(0o755)

    with pytest.raises(Unfit, match=r"cannot be isolated here.*namespace"):
        BubblewrapSandbox(program=str(refusing))


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ],
)
def test_the_setting_that_forbids_it_is_named_with_its_remedy(
    tmp_path: Path, setting: str, value: str, remedy: str
) -> None:
    path = tmp_path / "proc/sys" / setting
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")

    assert remedy in explain_refusal("bwrap: setting up uid map: Permission denied", tmp_path)


def test_a_too_old_bubblewrap_is_reported(tmp_path: Path) -> None:
    assert "0.8 or newer" in explain_refusal("bwrap: Unknown option --disable-userns", tmp_path)


def test_the_tool_chain_is_read_inside_the_sandbox(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text("Package: g++\nVersion: 4:12.2.0-3\n")
    before, versions = toolchain_fingerprint(sandbox, tmp_path)
    again, _ = toolchain_fingerprint(sandbox, tmp_path)
    status.write_text("Package: g++\nVersion: 4:12.2.0-4\n")
    after, _ = toolchain_fingerprint(sandbox, tmp_path)

    assert before == again != after
    assert set(versions) == {"c++", "cc", "cmake", "ld", "system", "packages", "processor"}
    assert ("absent" in versions["c++"]) == (shutil.which("c++") is None)


def test_another_kind_of_processor_is_another_tool_chain(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A parent that another machine built with -march=native must not be compared with a patch built here."""
    cpu = "processor\t: {number}\nmodel name\t: {model}\ncpu MHz\t\t: {mhz}\nflags\t\t: sse2 {flags}\n\n"
    info = tmp_path / "proc/cpuinfo"
    info.parent.mkdir()

    def fingerprint(*processors: str) -> str:
        info.write_text("".join(processors))
        return toolchain_fingerprint(sandbox, tmp_path)[0]

    two = [cpu.format(number=number, model="Zen 4", mhz=3000 + number, flags="avx512f") for number in (0, 1)]
    slower = cpu.format(number=0, model="Zen 4", mhz=400, flags="avx512f")
    found = fingerprint(*two)
    assert fingerprint(slower) == found
    assert fingerprint(cpu.format(number=0, model="Zen 3", mhz=3000, flags="avx512f")) != found
    assert fingerprint(cpu.format(number=0, model="Zen 4", mhz=3000, flags="avx2")) != found
