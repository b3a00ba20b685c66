from __future__ import annotations

import hashlib
from importlib import resources

# Of plotly-basic.min.js in the npm package plotly.js-basic-dist-min 4.1.1.
PUBLISHED = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"


def test_the_chart_library_is_the_published_file() -> None:
    data = resources.files("dashboards").joinpath("static", "plotly-basic.min.js").read_bytes()
    assert hashlib.sha256(data).hexdigest() == PUBLISHED
    assert data.startswith(b"/**\n* plotly.js (basic - minified) v4.1.1\n")
