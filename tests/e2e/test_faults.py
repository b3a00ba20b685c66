"""An operator kills things: nothing is lost, and the vote arrives."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
import redis

from service.domain.values.identity import ChangeAddress
from tests.e2e.conftest import sleepers

if TYPE_CHECKING:
    from tests.e2e.conftest import RunningSite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
PARTS = ("control", "schedule", "web", "valkey", "postgres")


def test_a_build_resumes_after_its_worker_is_killed(running: RunningSite) -> None:
    running.feed(running.project.propose(21, {"time.txt": "130", "slow.txt": "4"}).event())
    running.wait_for_phase(21, "build patch")
    os.kill(running.pid("machine"), signal.SIGKILL)
    assert running.wait_for_vote(21) == -1
    build = running.build(21)
    assert build is not None
    assert build.attempt == 2


def test_nothing_of_a_killed_worker_goes_on_running(running: RunningSite) -> None:
    running.feed(running.project.propose(22, {"time.txt": "99", "slow.txt": "31.4159"}).event())
    running.wait_for_phase(22, "build patch")
    running.wait(lambda: bool(sleepers("31.4159")), "the compile")
    os.kill(running.pid("machine"), signal.SIGKILL)
    running.wait(lambda: not sleepers("31.4159") or _is_second_attempt(running, 22), "the end of the compile")
    # A newer patch set ends the second attempt, so that the others need not wait for it.
    running.feed(running.project.propose(22, {"time.txt": "99"}, patch_set=2).event())
    assert running.wait_for_vote(22) == 1
    assert not sleepers("31.4159")


def test_losing_the_queue_loses_no_vote(running: RunningSite) -> None:
    running.feed(running.project.propose(23, {"time.txt": "140", "slow.txt": "3"}).event())
    running.wait_for_phase(23, "build patch")
    running.feed(running.project.propose(24, {"time.txt": "70"}).event())
    path = running.site.redis_url.removeprefix("redis+socket://").split("?")[0]
    with redis.Redis(unix_socket_path=path) as client:
        client.flushall()
    assert running.wait_for_vote(23) == -1
    assert running.wait_for_vote(24) == 1


def test_a_new_patch_set_ends_the_build_of_the_old_one(running: RunningSite) -> None:
    running.feed(running.project.propose(25, {"time.txt": "98", "slow.txt": "27.1828"}).event())
    running.wait(lambda: bool(sleepers("27.1828")), "the compile")
    running.feed(running.project.propose(25, {"time.txt": "98"}, patch_set=2).event())
    assert running.wait_for_vote(25) == 1
    assert not sleepers("27.1828")
    assert len(running.messages(25)) == 1
    assert running.plane.reading.patch_set(ChangeAddress(25), 1).runs[0].state == "cancelled"


@pytest.mark.parametrize("part", PARTS)
def test_any_part_may_be_killed(running: RunningSite, part: str) -> None:
    number = 31 + PARTS.index(part)
    running.feed(running.project.propose(number, {"time.txt": "60", "note.txt": part}).event())
    os.kill(running.pid(part), signal.SIGKILL)
    assert running.wait_for_vote(number) == 1


def _is_second_attempt(running: RunningSite, number: int) -> bool:
    build = running.build(number)
    return build is not None and build.attempt > 1
