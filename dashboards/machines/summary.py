"""Say in a sentence or three which machines can measure, which cannot and why, and what is queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.formatting import counted
from service.domain.runs.health import SILENT_AFTER
from service.domain.values.text import listed
from service.domain.wording.standing import refuses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.runs.health import Condition
    from service.ports.machines import Machine


def machines_sentence(machines: Sequence[Machine], condition: Condition) -> str:
    """Summarise machines and queues; a machine with an obstacle still takes other builds than benchmarks."""
    machines = [each for each in machines if not each.is_gone(condition.now)]
    drained = [each for each in machines if each.closed_by(condition.now)]
    others = [each for each in machines if each not in drained]
    silent = [each for each in others if condition.now - each.last_seen_at > SILENT_AFTER]
    hindered = [each for each in others if each.obstacle and each not in silent]
    able = len(others) - len(silent) - len(hindered)
    busy = sum(each.is_busy for each in machines)
    parts = [
        f"{able} of {counted(len(machines), 'machine')} can measure; {busy} busy."
        if machines
        else "No machine has reported in a week."
    ]
    if drained:
        hosts = list(dict.fromkeys(each.host for each in drained))
        parts.append(f"{listed(hosts, 5)} {'is' if len(hosts) == 1 else 'are'} drained.")
    parts += [f"{each.name} {refuses(each.obstacle)}." for each in hindered]
    if silent:
        verb = "has" if len(silent) == 1 else "have"
        parts.append(f"{listed([each.name for each in silent])} {verb} not reported for a minute.")
    queues = [
        f"{counted(each.waiting, 'build')} in pool {each.pool}" for each in condition.queues if each.waiting
    ]
    parts.append(f"Queued: {listed(queues, 5)}." if queues else "Nothing is queued.")
    return " ".join(parts)
