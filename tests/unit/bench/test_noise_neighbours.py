"""Programs that run beside the measured ones."""

from __future__ import annotations

import time

from bench.noise.neighbours import neighbours

FOR_EVER = "import time\nwhile True: time.sleep(60)"
SECONDS = 10.0


def test_a_neighbour_that_ended_too_early_is_named() -> None:
    with neighbours({"computes": FOR_EVER, "fails": "raise SystemExit(1)"}) as describe:
        assert describe().startswith("beside other programs: one that computes; one that fails")
        deadline = time.monotonic() + SECONDS
        while "ended" not in describe() and time.monotonic() < deadline:
            pass
        found = describe()

    assert found == "beside other programs: one that computes; one that fails, which ended too early"
