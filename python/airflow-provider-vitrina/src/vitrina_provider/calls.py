"""The requests that Airflow sends, as data: the hook sends them, blocking or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class Call:
    """All of these may be sent twice: reads, and requests to which Vitrina returns the same run again."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    #: How long the server may delay its response.
    wait: int = 0


def find_pipelines(name: str, cursor: str | None = None) -> Call:
    page = {} if cursor is None else {"cursor": cursor}
    return Call("GET", "/pipelines", {"q": name, "limit": 200, **page})


def status(pipeline_id: str) -> Call:
    return Call("GET", f"/pipelines/{_part(pipeline_id)}/status")


def last_success(pipeline_id: str) -> Call:
    return Call("GET", f"/pipelines/{_part(pipeline_id)}/runs", {"status": "SUCCESS", "limit": 1})


def request_run(pipeline_id: str, *, external_ref: str, key: str, parent: str | None = None) -> Call:
    """
    The same key returns the same run for a day; the reference returns the active run while it is active.

    `parent` is the OpenLineage run of the task.
    """
    return Call(
        "POST",
        f"/pipelines/{_part(pipeline_id)}/run",
        body={"external_ref": external_ref, **({"openlineage_parent": parent} if parent else {})},
        headers={"Idempotency-Key": key},
    )


def run(run_id: str, wait: int = 0) -> Call:
    """Returns when the run has ended, or after `wait` seconds (at most 60)."""
    return Call("GET", f"/runs/{_part(run_id)}", {"wait": f"{wait}s"} if wait else {}, wait=wait)


def cancel(run_id: str) -> Call:
    return Call("POST", f"/runs/{_part(run_id)}/cancel")


def pause(pipeline_id: str) -> Call:
    return Call("POST", f"/pipelines/{_part(pipeline_id)}/pause")


def _part(text: str) -> str:
    return quote(text, safe="")
