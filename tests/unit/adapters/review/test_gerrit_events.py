from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.adapters.review.gerrit.events import event_from, parse_event
from service.domain.review.change import EVENT_BYTES, Event
from service.domain.values.errors import BadEvent

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
RECORDED = sorted([*SAMPLES.glob("stream-*.json"), *SAMPLES.glob("webhook-*.json")])
STREAMED = {path.name.removeprefix("stream-") for path in RECORDED}
BOTH = sorted(path.name for path in RECORDED if path.name.removeprefix("webhook-") in STREAMED)


class TestRecordedEvents:
    @pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
    def test_type_project_and_change_are_parsed(self, path: Path) -> None:
        document = json.loads(path.read_bytes())
        found = parse_event(path.read_bytes())

        assert found.type == document["type"]
        assert found.change == document.get("change", {}).get("number")
        assert found.project == ("" if document["type"] == "project-created" else "kv_engine")

    @pytest.mark.parametrize("name", BOTH)
    def test_stream_and_webhook_give_the_same_event(self, name: str) -> None:
        webhook = parse_event((SAMPLES / name).read_bytes())
        stream = parse_event((SAMPLES / name.replace("webhook-", "stream-")).read_bytes())

        assert (webhook.type, webhook.project) == (stream.type, stream.project)
        assert webhook.is_about_change == stream.is_about_change

    def test_an_event_that_may_update_a_change_is_about_it(self) -> None:
        looked_at = {event.type for event in map(parse_event, _bodies()) if event.is_about_change}
        passed_over = {event.type for event in map(parse_event, _bodies()) if not event.is_about_change}

        assert looked_at == {
            "change-abandoned",
            "change-deleted",
            "change-merged",
            "change-restored",
            "comment-added",
            "patchset-created",
            "private-state-changed",
            "vote-deleted",
            "wip-state-changed",
        }
        assert [event.type for event in map(parse_event, _bodies()) if event.is_loss] == []
        assert parse_event('{"type": "dropped-output"}').is_loss
        assert passed_over == {"project-created", "ref-updated", "topic-changed"}


def _bodies() -> list[bytes]:
    return [path.read_bytes() for path in RECORDED]


@pytest.mark.parametrize(
    ("number", "read"),
    [
        (1, 1),
        ("17", 17),
        (2**31 - 1, 2**31 - 1),
        (2**31, None),
        (0, None),
        (-1, None),
        (True, None),
        (1.0, None),
        ("1e3", None),
        ("١", None),
        ("9" * 20, None),
        (None, None),
        ([1], None),
    ],
)
def test_an_invalid_number_is_ignored(number: object, read: int | None) -> None:
    body = json.dumps({"type": "patchset-created", "change": {"number": number}})

    assert parse_event(body) == Event("patchset-created", "", read, read is not None)


def test_the_project_may_be_only_in_the_change() -> None:
    body = {"type": "patchset-created", "change": {"project": "kv", "number": "4"}}

    assert parse_event(json.dumps(body)) == Event("patchset-created", "kv", 4, is_about_change=True)


@pytest.mark.parametrize("project", ["k" * 1001, 7, None, ["kv"]])
def test_a_project_that_no_server_names_is_ignored(project: object) -> None:
    body = {"type": "patchset-created", "change": {"project": project, "number": 4}}

    assert parse_event(json.dumps(body)) == Event("patchset-created", "", 4, is_about_change=True)


def test_an_event_of_an_unknown_type_is_about_no_change() -> None:
    found = parse_event('{"type": "change-teleported", "change": {"number": 1}}')

    assert found == Event("change-teleported", "", 1)
    assert not found.is_about_change


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"type": %s}' % (b"9" * 5000), "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "the key 'type' is missing or not a short name in ASCII"),
        (b'{"type": 1}', "the key 'type' is missing or not a short name in ASCII"),
        (rb'{"type": "a\u0000b"}', "the key 'type' is missing or not a short name in ASCII"),
        (rb'{"type": "\ud800"}', "the key 'type' is missing or not a short name in ASCII"),
        (b'{"type": ""}', "the key 'type' is missing or not a short name in ASCII"),
        (b'{"type": "%s"}' % (b"x" * 101), "the key 'type' is missing or not a short name in ASCII"),
        (b" " * (EVENT_BYTES + 1), "larger than 256 KiB"),
    ],
    ids=lambda value: value[:20],
)
def test_a_body_other_than_an_event_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadEvent, match=why):
        parse_event(body)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_parsed_or_refused(body: bytes) -> None:
    with contextlib.suppress(BadEvent):
        parse_event(body)


@given(
    st.dictionaries(
        st.sampled_from(["type", "project", "change", "refUpdate"]),
        st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.dictionaries(
            st.sampled_from(["name", "project", "number"]), st.integers() | st.text(max_size=5)
        ),
    )
)
def test_any_object_is_parsed_or_refused(document: dict[str, object]) -> None:
    with contextlib.suppress(BadEvent):
        assert parse_event(json.dumps(document)) == event_from(document)
