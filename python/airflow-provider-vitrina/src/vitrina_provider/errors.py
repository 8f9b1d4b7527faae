"""Errors as reported by Vitrina: a code, a sentence with the facts, a hint with the remedy."""

from __future__ import annotations

from typing import Any

import httpx
from airflow.sdk.exceptions import AirflowException, AirflowFailException


class VitrinaApiError(AirflowException):
    """The API rejected a request or did not respond."""

    def __init__(self, code: str, detail: str, hint: str = "", **facts: Any) -> None:
        self.code = code
        self.detail = detail
        self.hint = hint
        self.facts = facts
        request = f" [request {facts['request_id']}]" if facts.get("request_id") else ""
        super().__init__(f"{code}: {' '.join(filter(None, (detail, *_fields(facts), hint)))}{request}")


class VitrinaRunFailed(AirflowException):
    """A run ended FAILED; a retry of the task requests another one."""


class VitrinaRunStopped(AirflowFailException):
    """A user paused or cancelled the run. Not retried: that would override the user's decision."""


def error_of(response: httpx.Response) -> VitrinaApiError:
    """A problem document (RFC 9457) as an error."""
    problem = _json(response)
    if not isinstance(problem, dict) or "code" not in problem:
        return _not_vitrina(response)
    facts = {name: problem[name] for name in ("request_id", "run_id", "errors") if name in problem}
    return VitrinaApiError(
        problem["code"],
        problem.get("detail", ""),
        problem.get("hint", ""),
        status=response.status_code,
        **facts,
    )


def body_of(response: httpx.Response) -> dict[str, Any]:
    body = _json(response)
    if not isinstance(body, dict):
        raise _not_vitrina(response)
    return body


def unreachable(url: str, cause: Exception) -> VitrinaApiError:
    return VitrinaApiError(
        "SERVER_UNREACHABLE",
        f"No Vitrina API responds at {url}: {str(cause) or type(cause).__name__}.",
        "Check that it is running, and check host, schema and port of the connection.",
    )


def _not_vitrina(response: httpx.Response) -> VitrinaApiError:
    return VitrinaApiError(
        f"HTTP_{response.status_code}",
        f"The response to {response.request.method} {response.request.url} is not from Vitrina: {response.text[:200]!r}",
        "Check host, schema and port of the connection, and proxies in between.",
        status=response.status_code,
    )


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _fields(facts: dict[str, Any]) -> list[str]:
    return [f"{error.get('field')}: {error.get('message')}." for error in facts.get("errors", [])]
