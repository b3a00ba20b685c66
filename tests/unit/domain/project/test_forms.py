from __future__ import annotations

import pytest

from service.domain.project.forms import duration_from, share_from, size_from


@pytest.mark.parametrize(
    ("value", "share"),
    [("1%", 0.01), ("2.5 %", 0.025), ("100%", 1.0), ("0%", 0.0), (0.01, 0.01), (0, 0.0), (0.5, 0.5)],
)
def test_shares(value: object, share: float) -> None:
    assert share_from(value) == pytest.approx(share)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("50ms", 0.05), ("1.5 s", 1.5), (30, 30), (0.5, 0.5)],
)
def test_durations(value: object, seconds: float) -> None:
    assert duration_from(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["", "%", "1", "1%%", "1e3%", "-1%", None, [], {}, "1" * 5000 + "%"])
def test_other_values_are_refused_as_shares(value: object) -> None:
    with pytest.raises(ValueError, match="is not a share; allowed are"):
        share_from(value)


@pytest.mark.parametrize("value", ["", "s", "1", "1d", "1 0s", "1e3s", "-1s", None, [], -1, 1e7])
def test_other_values_are_refused_as_durations(value: object) -> None:
    with pytest.raises(ValueError, match="is not a duration; allowed are"):
        duration_from(value)


@pytest.mark.parametrize(
    ("value", "size"), [("512M", 512 << 20), ("4G", 4 << 30), ("1.5 G", 3 << 29), (1 << 20, 1 << 20)]
)
def test_sizes(value: object, size: int) -> None:
    assert size_from(value) == size


@pytest.mark.parametrize(
    "value", ["", "M", "4", "4K", "0G", "4GB", "-1G", "999999999G", None, [], True, 5, 1e9]
)
def test_other_values_are_refused_as_sizes(value: object) -> None:
    with pytest.raises(ValueError, match="is not a size; allowed are"):
        size_from(value)
