"""Packages that CMake 3.25 and Meson do not find, in what they print."""

from __future__ import annotations

import pytest

from service.domain.building.missing_packages import missing_package

STATUS = b"-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE) \n"


@pytest.mark.parametrize(
    ("log", "package"),
    [
        (
            (
                b"CMake Error at /usr/share/cmake/FindPackageHandleStandardArgs.cmake:230 (message):\n"
                b"  Could NOT find CURL (missing: CURL_LIBRARY CURL_INCLUDE_DIR)\n"
            ),
            "CURL",
        ),
        (
            (
                b"CMake Error at CMakeLists.txt:4 (find_package):\n"
                b'  By not providing "FindNope.cmake" in CMAKE_MODULE_PATH this project has\n'
                b'  asked CMake to find a package configuration file provided by "Nope", but\n'
                b"  CMake did not find one.\n\n"
                b'  Could not find a package configuration file provided by "Nope" with any of\n'
                b"  the following names:\n"
            ),
            "Nope",
        ),
        (
            (
                b"CMake Error at CMakeLists.txt:4 (find_package):\n"
                b'  Could not find a package configuration file provided by\n  "nlohmann_json" (requested\n'
            ),
            "nlohmann_json",
        ),
        (
            (
                b"--   Package 'libnope', required by 'virtual:world', not found\n"
                b"CMake Error at /usr/share/cmake-3.25/Modules/FindPkgConfig.cmake:607 (message):\n"
                b"  A required package was not found\n"
            ),
            "libnope",
        ),
        (b'meson.build:3:0: ERROR: Dependency "libcurl" not found, tried pkgconfig and cmake\n', "libcurl"),
        (b"meson.build:3:0: ERROR: Dependency lookup for zlib with method 'pkgconfig' failed\n", "zlib"),
        (b"CMake Error at CMakeLists.txt:3 (message):\n  no 32 bits\n" + STATUS, ""),
        (b"", ""),
    ],
)
def test_the_package_is_found_that_ended_configuring(log: bytes, package: str) -> None:
    assert missing_package(STATUS + log) == package


def test_a_hostile_log_is_read_quickly() -> None:
    assert missing_package(b"CMake Error\n" + b"  \n" * 500_000 + b"CMake Error" * 100_000) == ""
