"""The trace of CMake 3.25.1, recorded; paths and hosts are replaced."""

from __future__ import annotations

import pytest

from service.domain.project.starter.traced import FileDownload, can_trace, file_downloads

APPEND = (
    '{"args":["APPEND","/home/dev/build/CMakeFiles/CMakeOutput.log","DOWNLOAD"],"cmd":"file","file":"x.cmake",'
    '"frame":2,"global_frame":2,"line":180,"line_end":181,"time":1795454166.667217}\n'
)
DOWNLOAD = (
    '{"args":["DOWNLOAD","https://example.org/tool-1.2.cmake","/home/dev/build/cmake/../tool.cmake",'
    '"EXPECTED_HASH","SHA256=abc"],"cmd":"file","file":"/home/dev/CMakeLists.txt","frame":1,"global_frame":1,'
    '"line":4,"time":1795454166.706615}\n'
)
TRACE = (
    '{"version":{"major":1,"minor":2}}\n',
    APPEND,
    DOWNLOAD,
    '{"args":["DOWNLOAD","https://example.org/b"],"cmd":"FILE","file":"/home/dev/CMakeLists.txt","line":5}\n',
    '{"args":["DOWNLOAD","https://example.org/c","c"],"cmd":"FILE","file":"/home/dev/CMakeLists.txt","line":6}\n',
    '{"args":["DOWNLOAD","https://example.org/d","/home/dev/d"],"cmd":"FILE","file":"x.cmake","line":7}\n',
)


def test_the_downloads_that_have_a_file_are_found() -> None:
    assert tuple(file_downloads(TRACE)) == (
        FileDownload("https://example.org/tool-1.2.cmake", "/home/dev/build/tool.cmake"),
        FileDownload("https://example.org/d", "/home/dev/d"),
    )


@pytest.mark.parametrize(
    "line", ['"DOWNLOAD"', '["DOWNLOAD"]', '{"args": ["DOWNLOAD"]}', '{"args": 1, "x": "DOWNLOAD"}']
)
def test_a_line_that_is_no_call_is_left_out(line: str) -> None:
    assert tuple(file_downloads([line])) == ()


@pytest.mark.parametrize(
    ("capabilities", "is_able"),
    [
        ('{"version": {"major": 3, "minor": 16}}', False),
        ('{"version": {"major": 3, "minor": 17}}', True),
        ('{"version": {"major": 4, "minor": 0}}', True),
        ("", False),
        ("[]", False),
    ],
)
def test_versions_since_3_17_write_a_trace(capabilities: str, *, is_able: bool) -> None:
    assert can_trace(capabilities) is is_able
