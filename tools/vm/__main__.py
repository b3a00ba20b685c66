"""``python -m tools.vm``: run the sandbox's suites in a virtual machine, and compare with this machine.

The processor is emulated, so it needs no rights to virtualise, and takes half an hour.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from tools.vm.image import Image, image_in
from tools.vm.table import failures, found_in, table

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
SANDBOX: Final = "tests/integration/adapters/building/sandbox"
# They compare times that an emulated processor does not keep.
TOO_SLOW: Final = (
    "test_cpu_time_of_all_children_is_counted_if_groups_count_it",
    "test_waits_of_all_children_are_counted_apart_from_preemptions",
    "test_the_wall_time_limit_ends_all_processes",
)
TESTS: Final = (
    *("tests/escape", f"{SANDBOX}/test_memory_faults.py", f"{SANDBOX}/test_sandbox_ends.py"),
    *(f"--deselect={SANDBOX}/test_sandbox_ends.py::{name}" for name in TOO_SLOW),
)
JUNIT: Final = ("-o", "junit_family=xunit1")  # the newer one has no properties of a test
USERS: Final = ("benchgate-worker", "root")
DEADLINE_SECONDS: Final = 2 * 3600


def main() -> int:
    """Print the table; return 1 if a test failed in the virtual machine."""
    parser = argparse.ArgumentParser(prog="make vm-test")
    parser.add_argument("--var", type=Path, default=ROOT / "var" / "vm")
    parser.add_argument("tests", nargs="*", default=TESTS)
    given = parser.parse_args()
    if not (ROOT / ".venv/lib/python3.11").is_dir():
        raise SystemExit(
            "the virtual machine has Python 3.11, and .venv has not: make it with PYTHON=python3.11"
        )
    results = (given.var / "results").absolute()
    results.mkdir(parents=True, exist_ok=True)
    for path in results.iterdir():
        path.unlink()
    image = image_in(given.var)
    _run_here(given.tests, results)
    (results / "tests").write_text("\n".join(given.tests), encoding="utf-8")
    _boot(image, results)
    return _report(results)


def _run_here(tests: Sequence[str], results: Path) -> None:
    pytest = [sys.executable, "-m", "pytest", "-q", *JUNIT, f"--junitxml={results / 'here.xml'}", *tests]
    with (results / "here.log").open("wb") as log:
        subprocess.run(pytest, cwd=ROOT, check=False, stdout=log, stderr=log)  # noqa: S603 - our own tests


def _boot(image: Image, results: Path) -> None:
    # An emulated timer may come late, and the kernel must not take it for broken. A panic ends the machine.
    words = ("root=/dev/vda rw console=ttyS0 quiet mitigations=off no_timer_check panic=-1",)
    shared = "security_model=none,multidevs=remap"
    command = [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "4096"),
        *("-display", "none", "-monitor", "none", "-serial", f"file:{results / 'serial.log'}"),
        *("-no-reboot", "-nic", "none"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initial)),
        *("-append", " ".join((*words, f"checkout={ROOT}"))),
        *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on"),  # what it writes is forgotten
        *("-virtfs", f"local,path={ROOT},mount_tag=checkout,readonly=on,{shared}"),
        *("-virtfs", f"local,path={results},mount_tag=results,{shared}"),
    ]
    subprocess.run(command, check=True, timeout=DEADLINE_SECONDS)  # noqa: S603 - a fixed program


def _report(results: Path) -> int:
    here = f"here: {BubblewrapSandbox().in_force()['limits']}"
    places = {here: found_in((results / "here.xml").read_text())}
    bad = []
    for user in USERS:
        report = results / f"{user}.xml"
        found = found_in(report.read_text()) if report.exists() else {}
        bad += [f"{user}: {name}" for name in failures(found, places[here])]
        printed = results / f"{user}.limits"
        limits, _, judged = (printed.read_text() if printed.exists() else "").partition("\n")
        places[f"{user}: {limits}"] = found
        print(f"{user}: {limits}; gate: {judged.strip()}")
        if not judged.startswith("exit code 1, "):
            bad.append(f"{user}: gate")
    print("\n".join(table(places)))
    print(f"{len(bad)} failed in the virtual machine; logs: {results}", *bad, sep="\n  ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
