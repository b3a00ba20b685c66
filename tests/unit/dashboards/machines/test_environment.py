from __future__ import annotations

from dataclasses import replace

from dashboards.machines.environment import FactGroup, build_facts, machine_facts, stages
from service.domain.sources.workspace import OtherProject, Workspace
from service.ports.runs.shown import BuildDetail
from tests.support.reading.views import build_view

FACTS = {
    "cpu_model": "AMD EPYC 9354P",
    "online_cpus": [0, 1, 2, 3],
    "governor": "unknown",
    "turbo": False,
    "memory_bytes": 25276502016,
    "aslr": 2,
    "in_force": {"network": "none"},
    "microcode": "0xa101148",
    "colour": "blue",
}
DETAIL = BuildDetail(
    build=build_view(1, 1),
    runs=(),
    environment_id=1,
    fingerprint="",
    environment=FACTS,
    conditions={
        "tools": {"c++": "g++ 12.2.0", "packages": "0123456789abcdef", "processor": "abcdef0123456789"}
    },
    configuration={
        "kind": "benchmark",
        "build": {"configure": "cmake -B build -DCMAKE_BUILD_TYPE=Release", "compile": "cmake --build build"},
        "suites": [{"name": "a", "program": "build/a"}],
    },
)


def test_facts_are_grouped_and_have_units() -> None:
    assert machine_facts(FACTS) == (
        FactGroup(
            "Processor",
            (
                ("model", "AMD EPYC 9354P"),
                ("microcode", "0xa101148"),
                ("CPUs", "4 CPUs: 0 to 3"),
                ("turbo", "off"),
            ),
            ("governor",),
        ),
        FactGroup("System", (("memory", "23.5 GiB"), ("address randomisation", "on"))),
        FactGroup("Other", (("colour", "blue"),)),
        FactGroup("Isolation", (("network", "none"),)),
    )


def test_stages_are_listed_in_execution_order() -> None:
    stored = {
        "new": 1.0,
        "confirm": 40.0,
        "second opinion": 3.0,
        "measure": 5.0,
        "build base": 0.2,
        "build patch": 16.0,
    }
    assert stages(stored) == (
        ("build base", 0.2),
        ("build patch", 16.0),
        ("measure", 5.0),
        ("second opinion", 3.0),
        ("check the layout", 40.0),
        ("new", 1.0),
    )


def test_a_build_has_its_tools_and_commands() -> None:
    assert build_facts(DETAIL) == (
        FactGroup(
            "Tools",
            (
                ("C++ compiler", "g++ 12.2.0"),
                ("packages", "0123456789ab"),
                ("kind of processor", "abcdef012345"),
            ),
        ),
        FactGroup(
            "Commands",
            (("configure", "cmake -B build -DCMAKE_BUILD_TYPE=Release"), ("compile", "cmake --build build")),
        ),
    )


def shown(digit: str) -> str:
    """A commit; the style shows its beginning."""
    return f'<code class="commit" title="{digit * 40}">{digit * 40}</code>'


def test_a_build_names_the_commits_of_the_other_repositories() -> None:
    others = (
        OtherProject("libs/net", "https://h/net", "d" * 40),
        OtherProject("", "https://h/all", "e" * 40),
    )
    stored = Workspace("https://h/manifest", "c" * 40, "core", others).to_mapping()
    (group,) = build_facts(replace(DETAIL, conditions={}, configuration=None, workspace=stored))

    assert group.title == "Other repositories"
    assert group.facts == (
        ("manifest", f"https://h/manifest at {shown('c')}"),
        ("libs/net", f"https://h/net at {shown('d')}"),
        (".", f"https://h/all at {shown('e')}"),
    )


def test_addresses_of_other_repositories_are_no_markup() -> None:
    others = (OtherProject("net", "https://h/<b>", "<i>"),)
    stored = Workspace("https://h/manifest", "c" * 40, "core", others).to_mapping()
    (group,) = build_facts(replace(DETAIL, conditions={}, configuration=None, workspace=stored))

    assert group.facts[1][1] == (
        'https://h/&lt;b&gt; at <code class="commit" title="&lt;i&gt;">&lt;i&gt;</code>'
    )


def test_a_build_of_another_version_is_shown_without_them() -> None:
    assert build_facts(replace(DETAIL, conditions={}, configuration={"kind": "benchmark", "new": 1})) == ()
    external = replace(DETAIL, conditions={}, configuration={"kind": "external"})
    assert build_facts(external) == ()


def test_facts_of_unexpected_types_are_shown_as_they_are() -> None:
    odd = {"memory_bytes": "much", "online_cpus": "0-3", "aslr": None, "turbo": "maybe"}
    texts = [text for group in machine_facts(odd) for _, text in group.facts]
    assert texts == ["0-3", "maybe", "much", "None"]
