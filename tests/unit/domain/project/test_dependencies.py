"""The dependencies in a project file, and the ways in which they reach build commands."""

from __future__ import annotations

import pytest

from service.domain.building.spec import BinaryKey
from service.domain.project.dependencies import MOST, Dependency, cmake_file, shell_opening
from service.domain.project.project_file import parse_job, parse_project_file, problems_of
from service.domain.values.errors import BadProjectFile

SHA256, OTHER, COMMIT = "a" * 64, "b" * 64, "c" * 40
URL, GIT = "https://example.org/fmt-1.2.tar.gz", "https://example.org/team/json.git"
FILE = """\
version: 1
dependencies:
  fmt: {{url: "{url}", sha256: "{sha256}"}}
  Json_x: {{git: "{git}", commit: "{commit}"}}
jobs:
  perf:
    kind: benchmark
    build: {{configure: cmake -B build}}
    suites: [{{name: a, program: build/a}}]
  other:
    kind: benchmark
    build: {{dependencies: {{}}}}
    suites: [{{name: a, program: build/a}}]
  style: {{kind: clang-format}}
  elsewhere: {{kind: external}}
"""
PREFIXES = "$BENCHGATE_DEPS/fmt:$BENCHGATE_DEPS/Json_x"
FMT = Dependency(url=URL, sha256=SHA256)
JSON = Dependency(git=GIT, commit=COMMIT)


def written(sha256: str = SHA256, url: str = URL, git: str = GIT, commit: str = COMMIT) -> str:
    return FILE.format(url=url, sha256=sha256, git=git, commit=commit)


def with_dependencies(lines: str) -> str:
    return f"version: 1\ndependencies:\n{lines}\njobs:\n  style: {{kind: clang-format}}\n"


class TestReading:
    def test_each_job_that_builds_gets_those_of_the_file(self) -> None:
        build = parse_project_file(written()).job("perf").configuration.build

        assert build is not None
        assert build.dependencies == {"fmt": FMT, "Json_x": JSON}
        assert build.configure == "cmake -B build"

    def test_a_job_with_dependencies_of_its_own_gets_only_these(self) -> None:
        build = parse_project_file(written()).job("other").configuration.build

        assert build is not None
        assert build.dependencies == {}

    @pytest.mark.parametrize("name", ["style", "elsewhere"])
    def test_a_job_that_builds_nothing_stays_as_it_is(self, name: str) -> None:
        job = parse_project_file(written()).job(name)

        assert not job.problem
        assert "build" not in job.source

    def test_the_stored_configuration_of_a_job_has_them(self) -> None:
        job = parse_project_file(written()).job("perf")

        assert parse_job("perf", job.source) == job

    def test_a_file_without_dependencies_stores_what_it_stored_before(self) -> None:
        lines = [line for line in written().splitlines() if "example.org" not in line]
        text = "\n".join(lines).replace("dependencies:\n", "", 1)

        assert parse_project_file(text).job("perf").source["build"] == {"configure": "cmake -B build"}

    @pytest.mark.parametrize(
        "other", [written(sha256=OTHER), written(commit="d" * 40), written().replace("fmt:", "zlib:")]
    )
    def test_other_content_is_another_binary_and_another_configuration(self, other: str) -> None:
        before, after = (parse_project_file(text).job("perf") for text in (written(), other))

        assert before.config_hash != after.config_hash
        keys = [BinaryKey("tree", job.build_hash, "gcc").digest for job in (before, after)]
        assert keys[0] != keys[1]


class TestRefusals:
    @pytest.mark.parametrize(
        ("lines", "problem"),
        [
            (f"  fmt: {{url: '{URL}'}}", "dependencies.fmt: a dependency has either `url` and `sha256`"),
            (f"  fmt: {{sha256: {SHA256}}}", "a dependency has either"),
            (f"  fmt: {{url: '{URL}', sha256: {SHA256}, commit: {COMMIT}}}", "a dependency has either"),
            ("  fmt:", "dependencies.fmt: a mapping is needed, found nothing"),
            ("  fmt: {}", "a dependency has either"),
            (f"  fmt: {{url: '{URL}', md5: abc}}", "dependencies.fmt.md5: unknown key; allowed are url"),
            (f"  fmt: {{url: '{URL}', sha256: abc}}", "dependencies.fmt.sha256: 'abc' is not allowed"),
            (f"  fmt: {{git: '{GIT}', commit: v1.2}}", "whole commit IDs of 40 hexadecimal digits"),
            (f"  fmt: {{git: '{GIT}', commit: {'c' * 39}}}", "whole commit IDs of 40 hexadecimal digits"),
            (f"  fmt: {{git: 'ext::sh -c x', commit: {COMMIT}}}", "URLs that begin with https://"),
            (f"  fmt: {{git: '--upload-pack=x', commit: {COMMIT}}}", "a URL without credentials"),
            (f"  fmt: {{git: '/srv/x.git', commit: {COMMIT}}}", "a URL without credentials"),
            (f"  fmt: {{git: 'https://u:p@example.org/x', commit: {COMMIT}}}", "a URL without credentials"),
            (f"  fmt: {{url: 'http://example.org/x', sha256: {SHA256}}}", "http:// is not protected"),
            (f"  fmt: {{url: 'https://example.org/../x', sha256: {SHA256}}}", "must not contain '.', '..'"),
            (f"  ../fmt: {{url: '{URL}', sha256: {SHA256}}}", "'../fmt' is not allowed as a name here"),
            (f"  .fmt: {{url: '{URL}', sha256: {SHA256}}}", "'.fmt' is not allowed as a name here"),
            (f"  -fmt: {{url: '{URL}', sha256: {SHA256}}}", "'-fmt' is not allowed as a name here"),
            (f"  'a b': {{url: '{URL}', sha256: {SHA256}}}", "'a b' is not allowed as a name here"),
            ("  - fmt", "dependencies: a mapping is needed, found a list"),
        ],
    )
    def test_an_error_names_line_key_and_what_is_allowed(self, lines: str, problem: str) -> None:
        with pytest.raises(BadProjectFile) as refused:
            parse_project_file(with_dependencies(lines))

        assert problem in str(refused.value)
        assert refused.value.line in {2, 3}
        assert [str(each) for each in problems_of(with_dependencies(lines))] == [str(refused.value)]

    def test_names_that_cmake_cannot_tell_apart_are_refused(self) -> None:
        lines = "\n".join(f"  {name}: {{url: '{URL}', sha256: {SHA256}}}" for name in ("fmt", "Fmt"))

        with pytest.raises(BadProjectFile, match="names must differ in more than capitals: Fmt, fmt"):
            parse_project_file(with_dependencies(lines))

    def test_too_many_are_refused(self) -> None:
        lines = "\n".join(f"  d{each}: {{url: '{URL}', sha256: {SHA256}}}" for each in range(MOST + 1))

        with pytest.raises(BadProjectFile, match="201 are too many; allowed are 200"):
            parse_project_file(with_dependencies(lines))


MESON = [
    "if [ -f meson.build ]; then",
    'mkdir -p subprojects/packagecache && ln -sf "$BENCHGATE_DEPS"/* subprojects/packagecache/ &&',
    'export MESON_PACKAGE_CACHE_DIR="${MESON_PACKAGE_CACHE_DIR:-$PWD/subprojects/packagecache}"',
    "fi",
]


class TestBuildCommands:
    def test_fetch_content_and_cpm_find_each_dependency_beside_the_file(self) -> None:
        assert cmake_file({"Json_x": JSON}) == (
            "# The dependencies of benchgate.yaml, for FetchContent and CPM.\n"
            'set(FETCHCONTENT_SOURCE_DIR_JSON_X "${CMAKE_CURRENT_LIST_DIR}/Json_x" CACHE PATH "")\n'
        )

    def test_build_commands_get_variables(self) -> None:
        assert shell_opening({"fmt": FMT, "Json_x": JSON}).splitlines() == [
            'export BENCHGATE_DEPS="${BENCHGATE_DEPS:-/deps}"',
            f'export CMAKE_PREFIX_PATH="${{CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}}{PREFIXES}"',
            'export CMAKE_TOOLCHAIN_FILE="${CMAKE_TOOLCHAIN_FILE:-$BENCHGATE_DEPS/.benchgate.cmake}"',
            *MESON,
        ]

    @pytest.mark.parametrize("name", ["fmt-1.2.tar.gz", "fmt_1.2-3_patch.zip", "fmt.TGZ", "fmt.tar"])
    def test_an_archive_that_stays_a_file_is_no_directory_for_cmake(self, name: str) -> None:
        opening = shell_opening({name: FMT})

        assert "CMAKE_PREFIX_PATH" not in opening
        assert opening.endswith("\n".join([*MESON, ""]))
        assert "set(" not in cmake_file({name: FMT})

    @pytest.mark.parametrize("name", ["fmt", "fmt-1.2", "targz", "fmt.zip.txt", "zip"])
    def test_any_other_name_is_a_directory(self, name: str) -> None:
        assert not FMT.is_file(name)

    def test_a_repository_is_always_a_directory(self) -> None:
        assert not JSON.is_file("json.zip")

    def test_without_dependencies_a_command_stays_as_it_is(self) -> None:
        assert shell_opening({}) == ""
