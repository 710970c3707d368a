"""The report as one JSON object; docs/json.md says what each field means."""

from __future__ import annotations

import json
import math
from typing import Any

from grader.records import Report


def render(report: Report) -> str:
    """Return the report as JSON text in ASCII, with the same field names for every file."""
    return json.dumps(plain(report.to_dict()), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Replace what strict readers of JSON refuse: infinities, nan and lone surrogates."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
