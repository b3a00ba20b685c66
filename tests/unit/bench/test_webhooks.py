from __future__ import annotations

import json

from bench.webhooks import SAMPLE


def test_the_events_of_the_load_are_made_of_a_recorded_one() -> None:
    assert json.loads(SAMPLE.read_text())["type"] == "patchset-created"
