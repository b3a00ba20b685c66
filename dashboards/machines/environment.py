"""Group the conditions of a build: the machine, its isolation, the tools and the commands."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from dashboards.formatting import counted, fact
from service.domain.machines.environment import UNKNOWN
from service.domain.project.project_file import parse_job
from service.domain.sources.workspace import Workspace
from service.domain.values.errors import BadProjectFile
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from service.ports.runs.shown import BuildDetail

_DIGEST_LENGTH: Final = 12  # as much of a digest as a person compares
_GROUPS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "Processor": {
            "cpu_model": "model",
            "microcode": "microcode",
            "cores": "cores",
            "threads_per_core": "threads per core",
            "online_cpus": "CPUs",
            "measured_cpus": "measured CPUs",
            "caches": "caches",
            "numa_nodes": "NUMA nodes",
            "governor": "governor",
            "turbo": "turbo",
            "turbo_switch": "turbo switch",
            "smt": "SMT",
        },
        "System": {
            "kernel": "kernel",
            "memory_bytes": "memory",
            "thp": "transparent huge pages",
            "aslr": "address randomisation",
            "clocksource": "clock source",
            "is_virtualised": "virtual machine",
        },
        "Compilers": {"c++": "C++ compiler", "cc": "C compiler", "ld": "linker"},
    }
)
_TOOLS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_GROUPS["Compilers"],
        "cmake": "CMake",
        "packages": "packages",
        "processor": "kind of processor",
    }
)
# The database does not keep their order.
_STAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "build base": "build base",
        "build patch": "build patch",
        "test": "test",
        "measure": "measure",
        "second opinion": "second opinion",
        "confirm": "check the layout",
        "control": "measure the parent against itself",
    }
)
_ASLR: Final = {0: "off", 1: "partly on", 2: "on"}


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts under one heading. ``unknown`` names those that the machine does not show."""

    title: str
    facts: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...] = ()


def machine_facts(environment: Mapping[str, Any]) -> tuple[FactGroup, ...]:
    """Group the facts of a machine; those that this version does not know come last."""
    groups = [_group(title, environment, labels) for title, labels in _GROUPS.items()]
    known = {name for labels in _GROUPS.values() for name in labels}
    rest = {name: value for name, value in environment.items() if name not in {*known, "in_force"}}
    groups.append(_group("Other", rest, {name: name.replace("_", " ") for name in rest}))
    isolation = environment.get("in_force")
    if isinstance(isolation, dict):
        groups.append(_group("Isolation", isolation, {name: name for name in isolation}))
    return tuple(group for group in groups if group.facts or group.unknown)


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact of a machine that differs between two environments."""

    label: str
    before: str
    after: str


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ChangedFact, ...]:
    """List the facts that differ between two environments; none that one of them lacks."""
    old, new = (_by_name(machine_facts(each)) for each in (before, after))
    return tuple(
        ChangedFact(name[1], old[name], text) for name, text in new.items() if old.get(name, text) != text
    )


def _by_name(groups: Iterable[FactGroup]) -> dict[tuple[str, str], str]:
    return {(group.title, label): text for group in groups for label, text in group.facts}


def stages(seconds: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """List the stages of a build in the order in which they run; others come last."""
    names = [
        *(name for name in _STAGES if name in seconds),
        *(name for name in seconds if name not in _STAGES),
    ]
    return tuple((_STAGES.get(name, name), seconds[name]) for name in names)


def build_facts(detail: BuildDetail) -> tuple[FactGroup, ...]:
    """Group the tools and commands of a build."""
    tools = detail.conditions.get("tools")
    groups = []
    if isinstance(tools, dict) and tools:
        groups.append(_group("Tools", tools, {name: _TOOLS.get(name, name) for name in tools}))
    if commands := tuple(_commands(detail)):
        groups.append(FactGroup("Commands", commands))
    if detail.workspace:
        groups.append(FactGroup("Other repositories", tuple(_repositories(detail.workspace))))
    return tuple(groups)


def _commands(detail: BuildDetail) -> Iterator[tuple[str, str]]:
    if not detail.configuration:
        return
    with suppress(BadProjectFile):  # written for another version of the service
        build = parse_job(detail.build.job, dict(detail.configuration)).configuration.build
        commands = (("configure", build.configure), ("compile", build.compile)) if build else ()
        for label, command in commands:
            if command:
                yield label, plain(command, 1000)


def _repositories(stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    workspace = Workspace.from_mapping(stored)
    yield "manifest", _at_commit(workspace.manifest, workspace.commit)
    for each in workspace.others:
        yield plain(each.path) or ".", _at_commit(each.url, each.commit)


def _at_commit(url: str, commit: str) -> Markup:
    """Name a commit of a repository: the page shows the beginning of its ID, and a click selects it whole."""
    return Markup('{} at <code class="commit" title="{}">{}</code>').format(plain(url), commit, commit)


def _group(title: str, values: Mapping[str, Any], labels: Mapping[str, str]) -> FactGroup:
    there = [(name, label) for name, label in labels.items() if name in values]
    shown = [(label, _text(name, values[name])) for name, label in there if values[name] != UNKNOWN]
    unknown = tuple(label for name, label in there if values[name] == UNKNOWN)
    return FactGroup(title, tuple((plain(label, 80), text) for label, text in shown), unknown)


def _text(name: str, value: object) -> str:
    write = _WRITERS.get(name)
    return plain(fact(value) if write is None else write(value), 300)


def _bytes(value: object) -> str:
    return f"{value / (1 << 30):.1f} GiB" if isinstance(value, int) and value < 1 << 60 else fact(value)


def _switch(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else fact(value)


def _cpus(value: object) -> str:
    if not isinstance(value, list) or not value or not all(isinstance(cpu, int) for cpu in value):
        return fact(value)
    is_range = _is_range(value)
    numbers = f"{value[0]} to {value[-1]}" if is_range and len(value) > 1 else fact(value)
    return f"{counted(len(value), 'CPU')}: {numbers}"


def _digest(value: object) -> str:
    return str(value)[:_DIGEST_LENGTH]


def _is_range(numbers: Sequence[int]) -> bool:
    return list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


_WRITERS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "memory_bytes": _bytes,
        "turbo": _switch,
        "smt": _switch,
        "aslr": lambda value: _ASLR.get(value, fact(value)) if isinstance(value, int) else fact(value),
        "online_cpus": _cpus,
        "measured_cpus": _cpus,
        "packages": _digest,
        "processor": _digest,
    }
)
