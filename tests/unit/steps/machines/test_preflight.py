from __future__ import annotations

from dataclasses import dataclass, field

from service.domain.machines.environment import Load
from service.steps.machines.preflight import READINGS, obstacle_to_measuring

BUSY, IDLE, STOLEN = (100, 0), (0, 0), (80, 20)  # busy and stolen ticks of a second


@dataclass
class Host:
    """One CPU that spends its seconds as asked, one kind of second for each pause."""

    kinds: list[tuple[int, int]]
    now: float = 0.0
    busy: float = 0.0
    stolen: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def read_load(self) -> Load:
        return Load(self.now, 0.0, 1, {0: int(self.busy)}, {0: 0}, {0: int(self.stolen)}, 100)

    def pause(self, seconds: float) -> None:
        busy, stolen = self.kinds[len(self.pauses)]
        self.pauses.append(seconds)
        self.now += seconds
        self.busy += busy * seconds
        self.stolen += stolen * seconds

    def ask(self) -> str:
        return obstacle_to_measuring(self.read_load, (0,), self.pause)


def test_a_quiet_machine_takes_work_after_one_reading() -> None:
    host = Host([IDLE])

    assert host.ask() == ""
    assert host.pauses == [READINGS[0]]


def test_a_machine_with_busy_cpus_takes_none() -> None:
    assert Host([BUSY, BUSY]).ask() == "other work takes 100% of its CPUs"


def test_a_machine_with_steal_time_takes_none() -> None:
    assert Host([STOLEN, STOLEN]).ask() == "20% of its CPU time is stolen by its host"


def test_work_seen_by_one_reading_only_is_no_obstacle() -> None:
    assert Host([BUSY, IDLE]).ask() == ""


def test_the_last_reading_is_reported() -> None:
    assert Host([BUSY, STOLEN]).ask() == "20% of its CPU time is stolen by its host"
