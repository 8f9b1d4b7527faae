"""The connection to a Vitrina API."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException

from vitrina_provider import __version__, calls
from vitrina_provider.calls import Call
from vitrina_provider.errors import VitrinaApiError, body_of, error_of, unreachable

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
#: Responses of a server, or of a proxy in front of it, that is temporarily unavailable.
_PASSING = (429, 502, 503, 504)
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Server:
    """A connection of Airflow as interpreted by this hook."""

    url: str
    token: str
    console_url: str
    timeout: float
    retry_limit: int
    ca_file: str | None

    def client_options(self) -> dict[str, Any]:
        return {
            "base_url": f"{self.url}/api/v1",
            "headers": {
                "Authorization": f"Bearer {self.token}",
                "User-Agent": f"airflow-provider-vitrina/{__version__}",
            },
            "verify": ssl.create_default_context(cafile=self.ca_file) if self.ca_file else True,
        }


@dataclass(frozen=True)
class Answer:
    body: dict[str, Any]
    #: An earlier request with the same key got this same response.
    replayed: bool


class VitrinaHook(BaseHook):
    """
    Sends requests to a Vitrina API.

    :param vitrina_conn_id: a connection of the type ``vitrina``: host, and the token as password.
    """

    conn_name_attr = "vitrina_conn_id"
    default_conn_name = "vitrina_default"
    conn_type = "vitrina"
    hook_name = "Vitrina"

    def __init__(self, vitrina_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.vitrina_conn_id = vitrina_conn_id
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """Read once: a signal handler must not call Airflow while the task itself may be calling it."""
        if self._server is None:
            self._server = server_of(self.get_connection(self.vitrina_conn_id))
        return self._server

    async def aserver(self) -> Server:
        if self._server is None:
            self._server = server_of(await self.aget_connection(self.vitrina_conn_id))
        return self._server

    def get_conn(self) -> httpx.Client:
        return httpx.Client(**self.server.client_options())

    def send(self, call: Call, retry_limit: int | None = None) -> Answer:
        """Retries requests without a response; raises errors reported by Vitrina."""
        server = self.server
        with self.get_conn() as client:
            for attempt in count(1):
                try:
                    found = _answer(client.request(**_request(call, server)), attempt)
                except httpx.TransportError as error:
                    found = _NoResponse(unreachable(server.url, error), attempt)
                if isinstance(found, Answer):
                    return found
                if attempt > (server.retry_limit if retry_limit is None else retry_limit):
                    raise found.error
                self.log.warning("%s Retrying in %s s.", found.error, found.pause)
                time.sleep(found.pause)
        raise AssertionError("the loop has no end")

    async def asend(self, call: Call, retry_limit: int | None = None) -> Answer:
        """As `send`, without blocking the event loop."""
        server = await self.aserver()
        async with httpx.AsyncClient(**server.client_options()) as client:
            for attempt in count(1):
                try:
                    found = _answer(await client.request(**_request(call, server)), attempt)
                except httpx.TransportError as error:
                    found = _NoResponse(unreachable(server.url, error), attempt)
                if isinstance(found, Answer):
                    return found
                if attempt > (server.retry_limit if retry_limit is None else retry_limit):
                    raise found.error
                self.log.warning("%s Retrying in %s s.", found.error, found.pause)
                await asyncio.sleep(found.pause)
        raise AssertionError("the loop has no end")

    def get_run(self, run_id: str, wait: int = 0) -> dict[str, Any]:
        return self.send(calls.run(run_id, wait)).body

    def get_status(self, pipeline: str) -> dict[str, Any]:
        return self.send(calls.status(self.pipeline_id(pipeline))).body

    def pipeline_id(self, name_or_id: str) -> str:
        """DAGs refer to pipelines by name, the API by id."""
        if _ID.fullmatch(name_or_id):
            return name_or_id.lower()
        cursor: str | None = None
        while True:
            page = self.send(calls.find_pipelines(name_or_id, cursor)).body
            for pipeline in page["items"]:
                if pipeline["name"] == name_or_id:
                    return pipeline["id"]
            cursor = page["next_cursor"]
            if cursor is None:
                raise _no_such_pipeline(name_or_id, self.server)

    def stop(self, action: str, *, run_id: str, pipeline_id: str) -> None:
        """Cancels a run or pauses its pipeline, at once or after the current batch."""
        if action == "pause" and self._pause(pipeline_id):
            return
        self.send(calls.cancel(run_id), retry_limit=1)

    def _pause(self, pipeline_id: str) -> bool:
        """False when no runner has claimed the run yet: there is nothing to keep, and cancelling it has the same effect."""
        try:
            self.send(calls.pause(pipeline_id), retry_limit=1)
        except VitrinaApiError as error:
            if error.code != "TRANSITION_REFUSED":
                raise
            return False
        return True

    async def astop(self, action: str, *, run_id: str, pipeline_id: str) -> None:
        """As `stop`, without blocking the event loop."""
        if action == "pause":
            try:
                await self.asend(calls.pause(pipeline_id), retry_limit=1)
                return
            except VitrinaApiError as error:
                if error.code != "TRANSITION_REFUSED":
                    raise
        await self.asend(calls.cancel(run_id), retry_limit=1)

    def console_url(self, run_id: str) -> str:
        return f"{self.server.console_url}/ui/runs/{run_id}"

    def test_connection(self) -> tuple[bool, str]:
        """For the "Test" button of the connection form."""
        try:
            self.send(Call("GET", "/pipelines", {"limit": 1}), retry_limit=0)
        except AirflowException as error:
            return False, str(error)
        return True, f"Vitrina responds at {self.server.url}."


@dataclass(frozen=True)
class _NoResponse:
    """No usable response, and the server may be back soon."""

    error: VitrinaApiError
    attempt: int
    retry_after: float | None = None

    @property
    def pause(self) -> float:
        return min(self.retry_after or 2.0 ** (self.attempt - 1), _LONGEST_PAUSE)


def server_of(conn: Any) -> Server:
    if not conn.host:
        raise AirflowException(f'Connection "{conn.conn_id}" has no host. Set it to the address of the API.')
    if not conn.password:
        raise AirflowException(
            f'Connection "{conn.conn_id}" has no token. '
            'Create one with "vitrina tokens create --name airflow --role operator" and set it as the password.'
        )
    extra = conn.extra_dejson
    url = _url(conn)
    return Server(
        url=url,
        token=conn.password,
        console_url=(extra.get("console_url") or url).rstrip("/").removesuffix("/ui"),
        timeout=float(extra.get("timeout") or 30),
        retry_limit=int(extra["retry_limit"]) if extra.get("retry_limit") not in (None, "") else 10,
        ca_file=extra.get("ca_file") or None,
    )


def _url(conn: Any) -> str:
    """The scheme is https unless http is given: every request carries a token."""
    given = conn.host if "://" in conn.host else f"{conn.schema or 'https'}://{conn.host}"
    url = httpx.URL(given)
    if conn.port and url.port is None:
        url = url.copy_with(port=conn.port)
    return str(url).rstrip("/").removesuffix("/api/v1")


def _request(call: Call, server: Server) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.path,
        "params": call.params,
        "json": call.body,
        "headers": call.headers,
        "timeout": server.timeout + call.wait,
    }


def _answer(response: httpx.Response, attempt: int) -> Answer | _NoResponse:
    if response.is_success:
        return Answer(body_of(response), response.headers.get("idempotent-replay") == "true")
    error = error_of(response)
    if response.status_code not in _PASSING:
        raise error
    after = response.headers.get("retry-after", "")
    return _NoResponse(error, attempt, float(after) if after.isdigit() else None)


def _no_such_pipeline(name: str, server: Server) -> VitrinaApiError:
    return VitrinaApiError(
        "PIPELINE_NOT_FOUND",
        f'The pipeline "{name}" does not exist on {server.url}.',
        '"vitrina pipelines list" shows the existing ones.',
    )
