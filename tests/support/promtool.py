"""Evaluate the alert rules on the text of a scrape, by Prometheus' own tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

RULES: Final = Path(__file__).parents[2] / "deploy" / "prometheus" / "benchgate.rules.yaml"
_MINUTES: Final = 120  # longer than every alert waits


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run promtool, which ``make test`` puts beside this Python; without it, skip the test.

    In a CI, which sets ``CI``, the test fails instead."""
    places = os.pathsep.join((os.environ["PATH"], str(Path(sys.executable).parent)))
    program = shutil.which("promtool", path=places)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("this machine has no promtool")
    return subprocess.run([program, *arguments], capture_output=True, check=False, text=True)


def complaint_about(scrape: str, alerts: Collection[str], directory: Path) -> str:
    """Return what promtool says if other alerts than these fire while Prometheus scrapes this text."""
    firing = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(alerts)]
    expected = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{_MINUTES}m",
        "exp_samples": firing,
    }
    series = [{"series": name, "values": f"{value:f}x{_MINUTES}"} for name, value in _series(scrape)]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [expected]}
    file = directory / "test.yaml"
    # JSON is YAML.
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = promtool("test", "rules", file)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _series(scrape: str) -> Iterator[tuple[str, float]]:
    for family in text_string_to_metric_families(scrape):
        for sample in family.samples:
            labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
            yield f'{sample.name}{{{labels}{"," * bool(labels)}instance="web"}}', sample.value
