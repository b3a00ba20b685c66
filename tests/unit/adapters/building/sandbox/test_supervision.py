"""Copy a program's output, up to its bound."""

from __future__ import annotations

import os
from io import BytesIO

from service.adapters.building.sandbox.supervision import BoundedOutput


def test_output_is_copied_to_its_bound_and_never_beyond() -> None:
    reading, writing = os.pipe()
    log = BytesIO()
    output = BoundedOutput(reading, log, bound=4)
    try:
        for chunk in (b"01", b"234567", b"89abcd"):
            os.write(writing, chunk)
            output.copy()
    finally:
        os.close(reading)
        os.close(writing)

    assert (log.getvalue(), output.is_over) == (b"0123", True)
    assert output.last_line() == "0123456789abcd"
