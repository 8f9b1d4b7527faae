"""Whether a mart is fresh enough for its readers."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def is_fresh(
    status: dict[str, Any],
    successes: list[dict[str, Any]],
    *,
    max_age: float | None,
    since: datetime | None,
) -> bool:
    """Both conditions, if both are given."""
    if not successes:
        return False
    if max_age is not None and not _is_younger(status, max_age):
        return False
    # By its start: a run has read what was committed before it began.
    return since is None or datetime.fromisoformat(successes[0]["started_at"].replace("Z", "+00:00")) >= since


def _is_younger(status: dict[str, Any], max_age: float) -> bool:
    """By the database's clock; the worker's may be wrong."""
    lag = status["lag"]
    return lag is not None and lag["seconds_since_success"] <= max_age
