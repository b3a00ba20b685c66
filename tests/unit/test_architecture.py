"""Check the rules between layers that a linter cannot express."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from typing_extensions import get_protocol_members, is_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("service", "workers", "dashboards", "migrations")
DATABASE: Final = ROOT / "service" / "adapters" / "postgres"
DATABASE_TOO: Final = {
    ROOT / "service" / "adapters" / "embedded" / "postgres.py",  # starts the server and makes its roles
    ROOT / "service" / "wiring" / "control.py",  # hands the engine from one adapter to the others
}
LONGEST_FUNCTION: Final = 60
MOST_PARAMETERS: Final = 6  # more travel together: they are a value of their own
MOST_METHODS: Final = 8  # of a Protocol of its own: what one step needs, not all that an adapter can do
# Fakes of these ports are models of their own, not of an adapter.
WITHOUT_CONTRACT: Final = {
    "AccountRights",  # tests use the cache itself, before fakes of review servers
    "Sandbox",  # runs a program of its own kind, without a compiler
    "Packer",  # an archive is the program itself
    "Inspector",  # reads that program
    "Progress",  # prints nothing
}

# What reaches outside: clocks, chance, files, the environment, other processes and machines.
OUTSIDE: Final = frozenset(
    {
        *("time", "random", "secrets", "uuid", "os", "io", "sys", "shutil", "tempfile", "glob", "fcntl"),
        *(
            "subprocess",
            "multiprocessing",
            "threading",
            "asyncio",
            "signal",
            "socket",
            "ssl",
            "http",
            "urllib",
        ),
        *("logging", "structlog", "platform", "getpass", "locale", "sqlite3"),
    }
)
OUTSIDE_CALLS: Final = frozenset({"open", "input", "print", "eval", "exec", "__import__", "breakpoint"})
MACHINE_PLANE: Final = "the machine plane cannot reach the store or the review server"
CLOCKS: Final = frozenset({"now", "utcnow", "today", "fromtimestamp"})
SHAPELESS: Final = frozenset({"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"})


def modules(*folders: str) -> list[Path]:
    """The Python files below folders, as far as they are ours."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported, with the names taken from them: ``a.b`` and ``a.b.name``."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_below(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def ways_outside(tree: ast.AST) -> Iterator[str]:
    """List the names in a module that read a clock, random numbers, a file, environment or network."""
    for module in imports(tree):
        is_path = is_below(module, "pathlib") and module not in {"pathlib", "pathlib.PurePath"}
        if is_below(module, *OUTSIDE) or is_path or is_below(module, "numpy.random"):
            yield module
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OUTSIDE_CALLS:
            yield node.func.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            is_clock = node.value.id in {"datetime", "date"} and node.attr in CLOCKS
            if is_clock or name in {"np.random", "numpy.random", "np.load", "pathlib.Path"}:
                yield name


def test_the_domain_reads_no_clock_chance_file_or_environment() -> None:
    found = {path: list(ways_outside(tree_of(path))) for path in modules("service/domain")}

    assert found
    assert {str(path): ways for path, ways in found.items() if ways} == {}


def test_the_domain_and_the_ports_say_nothing_to_pydantic() -> None:
    """Pydantic calls methods by their names, which no import contract sees."""
    hooks = re.compile(r"__(?:get_)?pydantic_")
    paths = modules("service/domain", "service/ports")
    assert [path for path in paths if hooks.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import environ",
        "import urllib.request",
        "from pathlib import Path",
        "import datetime; datetime.datetime.now()\nfrom datetime import datetime\ndatetime.now()",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "def f():\n    return open('x')",
    ],
)
def test_each_way_outside_would_be_seen(source: str) -> None:
    assert list(ways_outside(ast.parse(source)))


@pytest.mark.parametrize("package", ["sqlalchemy", "psycopg"])
def test_only_the_database_adapters_speak_to_a_database(package: str) -> None:
    users = [
        path.relative_to(ROOT)
        for path in modules("service", "workers", "dashboards")
        if DATABASE not in path.parents
        and path not in DATABASE_TOO
        and any(is_below(module, package) for module in imports(tree_of(path)))
    ]

    assert users == []
    assert any(
        is_below(module, package) for path in DATABASE.rglob("*.py") for module in imports(tree_of(path))
    )


def test_the_service_never_imports_the_workers() -> None:
    users = [
        path.relative_to(ROOT)
        for path in modules("service")
        if any(is_below(module, "workers") for module in imports(tree_of(path)))
    ]

    assert users == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    paths = modules(*PRODUCT, "tests", "tools")
    shapeless = [path.relative_to(ROOT) for path in paths if SHAPELESS & set(path.stem.split("_"))]
    folders = {path.parent.name for path in paths} & SHAPELESS

    assert shapeless == []
    assert folders == set()


@pytest.mark.parametrize("package", PRODUCT)
def test_every_module_opens_with_the_sentence_that_says_what_it_does(package: str) -> None:
    for path in modules(package):
        tree = tree_of(path)
        if tree.body:
            assert ast.get_docstring(tree), f"{path} has no docstring"
            assert tree.body[0].lineno == 1, f"{path} does not begin with its docstring"
            first = (ast.get_docstring(tree) or "").split("\n\n")[0]
            assert first[-1] in ".:", f"{path} does not begin with a sentence"


@pytest.mark.parametrize("package", [*PRODUCT, "tests", "tools"])
def test_functions_can_be_read_at_one_go(package: str) -> None:
    functions = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in modules(package)
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]

    assert functions == []


@pytest.mark.parametrize("package", [*PRODUCT, "tools/demo"])
def test_every_folder_with_modules_is_a_package(package: str) -> None:
    """Otherwise it is missing from an installed Benchgate."""
    folders = {path.parent for path in modules(package)}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_a_machine_worker_loads_nothing_of_the_control_plane() -> None:
    """Celery imports its tasks by name, which no import contract sees."""
    imported = "sys, service.cli.services.worker, workers.app, workers.machine"
    script = f"import {imported}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())

    assert {"service.steps.machines.execute", "service.kinds.runners"} <= loaded
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [contract] = (each for each in contracts if each["name"] == MACHINE_PLANE)
    assert [name for name in sorted(loaded) if is_below(name, *contract["forbidden_modules"])] == []


def classes_below(package: str) -> list[type]:
    """The classes that are defined in the modules below a package."""
    paths = modules(package.replace(".", "/"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    loaded = [import_module(name.removesuffix(".__init__")) for name in names]
    return [
        each
        for module in loaded
        for _, each in inspect.getmembers(module, inspect.isclass)
        if each.__module__ == module.__name__
    ]


PORTS: Final = [each for each in classes_below("service.ports") if is_protocol(each)]


def test_a_protocol_has_what_one_step_needs() -> None:
    own = {port.__name__: len(get_protocol_members(port) & vars(port).keys()) for port in PORTS}

    assert {name: count for name, count in own.items() if count > MOST_METHODS} == {}


def test_a_database_adapter_names_the_port_that_it_implements() -> None:
    """mypy then compares the signatures where they are written, not where the adapter is passed on."""
    nameless = [
        f"{adapter.__name__} implements {port.__name__}"
        for adapter in classes_below("service.adapters.postgres")
        for port in PORTS
        if all(hasattr(adapter, name) for name in get_protocol_members(port)) and port not in adapter.__mro__
    ]

    assert nameless == []


def test_a_port_with_a_fake_has_a_contract_of_its_name() -> None:
    """The contract runs on the fake and on the real adapter."""
    fakes = classes_below("tests.support")
    contracts = {
        node.name.removeprefix("Test").removesuffix("Contract")
        for path in modules("tests/contract")
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef)
    }
    faked = {
        port.__name__
        for port in PORTS
        if get_protocol_members(port) & vars(port).keys()
        and any(all(hasattr(fake, name) for name in get_protocol_members(port)) for fake in fakes)
    }

    assert faked - contracts == WITHOUT_CONTRACT


@pytest.mark.parametrize("package", PRODUCT)
def test_no_function_takes_more_parameters_than_a_reader_keeps_apart(package: str) -> None:
    """HTTP routes and commands are exempt: their parameters are the query and the options."""
    many = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in modules(package)
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any(
            "command" in (text := ast.unparse(each)) or "router." in text for each in node.decorator_list
        )
        and len([name for name in parameters_of(node) if name not in {"self", "cls"}]) > MOST_PARAMETERS
    ]

    assert many == []


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = node.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
