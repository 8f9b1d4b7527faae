"""What goes wrong, in the words of Vitrina: a code, a sentence with the facts, a hint with the remedy."""

from __future__ import annotations

from typing import Any

import httpx
from airflow.sdk.exceptions import AirflowException, AirflowFailException


class VitrinaApiError(AirflowException):
    """The API refused a request, or nobody answered."""

    def __init__(self, code: str, detail: str, hint: str = "", **facts: Any) -> None:
        self.code = code
        self.detail = detail
        self.hint = hint
        self.facts = facts
        request = f" [request {facts['request_id']}]" if facts.get("request_id") else ""
        super().__init__(f"{code}: {' '.join(filter(None, (detail, *_fields(facts), hint)))}{request}")


class VitrinaRunFailed(AirflowException):
    """A run ended FAILED; a retry of the task asks for another one."""


class VitrinaRunStopped(AirflowFailException):
    """Somebody paused or cancelled the run. No retry: it would undo what that person wanted."""


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
        f"No Vitrina API answers at {url}: {str(cause) or type(cause).__name__}.",
        "Look whether it runs, and at host, schema and port of the connection.",
    )


def _not_vitrina(response: httpx.Response) -> VitrinaApiError:
    return VitrinaApiError(
        f"HTTP_{response.status_code}",
        f"{response.request.method} {response.request.url} was not answered by Vitrina: {response.text[:200]!r}",
        "Look at host, schema and port of the connection, and at proxies in between.",
        status=response.status_code,
    )


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _fields(facts: dict[str, Any]) -> list[str]:
    return [f"{error.get('field')}: {error.get('message')}." for error in facts.get("errors", [])]
