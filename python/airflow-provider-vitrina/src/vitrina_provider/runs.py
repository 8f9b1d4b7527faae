"""The result of a run, and how a task identifies its runs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from vitrina_provider.errors import VitrinaRunFailed, VitrinaRunStopped

#: The API accepts 500 characters; some are reserved for a suffix.
_LONGEST_REF = 480


def is_over(run: dict[str, Any]) -> bool:
    return run["status"] not in ("REQUESTED", "RUNNING")


def summary(run: dict[str, Any]) -> dict[str, Any]:
    """For XCom: without the batches, of which there may be a thousand."""
    return {name: value for name, value in run.items() if name != "batch_history"}


def describe(run: dict[str, Any]) -> str:
    return (
        f"{run['pipeline_name']}: {run['status']}, {run['rows_read']} rows read, "
        f"{run['rows_written']} written, {run['batches']} batches"
    )


def require_success(run: dict[str, Any], url: str) -> dict[str, Any]:
    """The summary of a successful run; otherwise raises the error as reported by Vitrina."""
    if run["status"] == "SUCCESS":
        return summary(run)
    code = f"{run['error_code']}: " if run["error_code"] else ""
    reported = f" {code}{run['error']} {run['error_hint'] or ''}" if run["error"] else ""
    text = f"The run of {run['pipeline_name']} ended {run['status']}.{reported.rstrip()} See {url}"
    raise (VitrinaRunFailed if run["status"] == "FAILED" else VitrinaRunStopped)(text)


def tries_before_clear(ti: Any) -> int:
    """
    How many tries a task instance had when it was last cleared.

    Airflow raises `max_tries` by the tries so far when a task is cleared, and does not change it for a retry: a
    retry finds its run, a cleared task gets a new one.
    """
    return ti.max_tries - (ti.task.retries or 0)


def task_reference(ti: Any, given: str | None = None) -> str:
    """The reference by which Vitrina shows the origin of the run."""
    mapped = [str(ti.map_index)] if ti.map_index >= 0 else []
    text = given or ":".join(["airflow", ti.dag_id, ti.task_id, ti.run_id, *mapped])
    return text if len(text) <= _LONGEST_REF else f"{text[: _LONGEST_REF - 17]}:{_digest(text)[:16]}"


def run_reference(ti: Any, given: str | None = None) -> str:
    """
    Whether the active run with this reference belongs to this task.

    Not the run from before it was cleared: clearing it ended that run too, possibly a moment from now.
    """
    cleared_after = tries_before_clear(ti)
    return task_reference(ti, given) + (f"#{cleared_after}" if cleared_after else "")


def is_of_task(run: dict[str, Any], reference: str) -> bool:
    """Requested by this task, now or before it was cleared."""
    text = run["external_ref"] or ""
    return text == reference or text.startswith(f"{reference}#")


def idempotency_key(ti: Any, *, pipeline_id: str, external_ref: str, after: str | None = None) -> str:
    """The same for all tries of a task instance until it is cleared; `after` is the run that failed."""
    parts = [ti.dag_id, ti.task_id, ti.run_id, ti.map_index, pipeline_id, external_ref, after]
    return f"airflow-{_digest(json.dumps(parts))}"


def openlineage_parent(ti: Any) -> str | None:
    """The OpenLineage run of a task; None if Airflow does not report lineage."""
    try:
        from airflow.providers.openlineage.plugins.macros import lineage_parent_id
    except ImportError:
        return None
    return lineage_parent_id(ti)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
