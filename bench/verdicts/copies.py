"""Compare two copies of one program that stay with two that are made anew for every pair."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.verdicts.engine import compare_programs, job_of
from service.adapters.building import packing
from service.domain.project.benchmark import Suite
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.verdict.inference.verdict import Comparison
    from service.ports.building import Packer, Sandbox

TRIALS: Final = 20
SOURCE: Final = Path(__file__).with_suffix(".cpp")
SUITE: Final = "constant_table"


class Keeping:
    """Packer like the service's own that renews nothing."""

    pack = staticmethod(packing.pack)
    unpack = staticmethod(packing.unpack)
    read_output = staticmethod(packing.read_output)

    def renew(self, sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
        """Leave the programs where they are."""
        return True


PACKERS: Final[dict[str, Packer]] = {"kept": Keeping(), "made anew for every pair": packing}


def main(work: Path) -> None:
    """Print a table: the rule's verdicts on copies of one program, and how far their medians stray."""
    work.mkdir(parents=True, exist_ok=True)
    program = work / SUITE
    subprocess.run(["g++", "-O2", SOURCE, "-o", program, "-lbenchmark", "-lpthread"], check=True)
    found: dict[str, list[Comparison]] = {name: [] for name in PACKERS}
    for trial in range(TRIALS):
        for name, packer in PACKERS.items():
            found[name].append(_compared(work, program, f"{name} {trial}", packer))
    sys.stdout.write(
        "| copies | trials | slower or faster | standard deviation of the estimates | largest |\n"
    )
    sys.stdout.write("|---|---|---|---|---|\n")
    for name, rows in found.items():
        said = Counter(str(each.verdict) for each in rows)
        strays = [100 * ((each.ratio or 1.0) - 1) for each in rows]
        cells = [
            name,
            str(len(rows)),
            str(said["slower"] + said["faster"]),
            f"{statistics.pstdev(strays):.2f} %",
            f"{max(strays, key=abs):+.2f} %",
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")


def _compared(work: Path, program: Path, seed: str, packer: Packer) -> Comparison:
    # Other trials' copies lie in other places: compare_programs lays out both sides anew.
    copies = {side: Path(shutil.copy2(program, work / side)) for side in Side}
    sides = {side: {SUITE: path} for side, path in copies.items()}
    found = compare_programs(work / "sides", sides, job_of(Suite(SUITE, "")), seed, packer)
    return next(each for each in found.comparisons if each.row.metric.name == "cpu_time")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
