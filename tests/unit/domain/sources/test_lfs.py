"""Git LFS: pointers, addresses and answers are read strictly."""

from __future__ import annotations

import pytest

from service.domain.sources.lfs import (
    LfsDownload,
    Pointer,
    batch_request,
    is_excluded,
    read_batch,
    read_pointer,
    server_of_repository,
)

OID = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12345\n".encode()


def test_a_pointer_is_read() -> None:
    """The example of git-lfs's specification."""
    assert read_pointer(POINTER) == Pointer(OID, 12345)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"#!/bin/sh\n",
        POINTER.replace(b"v1", b"v2"),
        POINTER.replace(b"sha256:4", b"sha256:../4"),
        POINTER.replace(b"12345", b"-1"),
        POINTER.replace(b"12345", b"9" * 16),
        POINTER + b"more\n",
        POINTER.replace(b"oid", b"ext-0-x sha256:00\noid"),
    ],
)
def test_other_content_is_no_pointer(content: bytes) -> None:
    assert read_pointer(content) is None


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("", False),
        ("*", True),
        ("docs", True),
        ("/docs/", True),
        ("*.png", True),
        ("a.*, *.png", True),
        ("x", False),
    ],
)
def test_a_project_leaves_files_out_by_git_lfs_own_setting(patterns: str, *, expected: bool) -> None:
    assert is_excluded("docs/images/a.png", patterns) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/team/kv", "https://example.com/team/kv.git/info/lfs"),
        ("https://example.com/team/kv.git/", "https://example.com/team/kv.git/info/lfs"),
        ("https://ci:secret@example.com/kv", "https://ci:secret@example.com/kv.git/info/lfs"),
        ("git@example.com:team/kv", "https://example.com/team/kv.git/info/lfs"),
        ("ssh://ci@example.com:29418/kv", ""),
        ("/srv/git/kv", ""),
    ],
)
def test_the_server_belongs_to_the_repository(url: str, expected: str) -> None:
    assert server_of_repository(url) == expected


def test_a_request_names_the_objects() -> None:
    assert batch_request([Pointer(OID, 12345)]) == {
        "operation": "download",
        "transfers": ["basic"],
        "hash_algo": "sha256",
        "objects": [{"oid": OID, "size": 12345}],
    }


def test_an_answer_has_addresses_and_errors() -> None:
    """The forms of git-lfs's documents of the batch API."""
    document = {
        "transfer": "basic",
        "objects": [
            {
                "oid": "1111111",
                "size": 123,
                "authenticated": True,
                "actions": {
                    "download": {
                        "href": "https://some-download.com",
                        "header": {"Key": "value", "Bad": 1},
                        "expires_at": "2016-11-10T15:29:07Z",
                    }
                },
            },
            {"oid": "2222222", "size": 123, "error": {"code": 404, "message": "Object does not exist"}},
            {"oid": "3333333", "size": 123},
            "text",
        ],
    }
    assert read_batch(document) == {
        "1111111": LfsDownload("https://some-download.com", {"Key": "value"}),
        "2222222": LfsDownload(error="Object does not exist"),
    }


@pytest.mark.parametrize("document", [None, [], {}, {"objects": {}}, {"objects": [{"oid": 1}]}])
def test_an_answer_of_another_form_has_nothing(document: object) -> None:
    assert read_batch(document) == {}
