"""Waits in the triggerer, so that no worker is occupied."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from airflow.sdk.exceptions import AirflowException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from vitrina_provider import calls
from vitrina_provider.freshness import is_fresh
from vitrina_provider.hooks.vitrina import VitrinaHook
from vitrina_provider.runs import is_over, summary

#: The server delays its response this long; proxies in between rarely time out earlier.
_WAIT_SECONDS = 30


class VitrinaRunTrigger(BaseTrigger):
    """
    Fires when a run has ended, regardless of its status.

    :param on_kill_action: what to do with the run when a user ends the deferred task:
        ``cancel``, ``pause`` (the pipeline) or ``nothing``.
    :param deadline: seconds since 1970, after which the same is done and it fires with ``timed_out``.
    """

    def __init__(
        self,
        *,
        vitrina_conn_id: str,
        run_id: str,
        pipeline_id: str,
        on_kill_action: str = "nothing",
        deadline: float | None = None,
    ) -> None:
        super().__init__()
        self.vitrina_conn_id = vitrina_conn_id
        self.run_id = run_id
        self.pipeline_id = pipeline_id
        self.on_kill_action = on_kill_action
        self.deadline = deadline
        self._hook = VitrinaHook(vitrina_conn_id)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("vitrina_conn_id", "run_id", "pipeline_id", "on_kill_action", "deadline")
        return _path(self), {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            run = await self._until_over()
            if run is None:
                await self.on_kill()
        except AirflowException as error:
            yield TriggerEvent({"run_id": self.run_id, "error": str(error)})
            return
        if run is None:
            yield TriggerEvent({"run_id": self.run_id, "timed_out": True})
        else:
            yield TriggerEvent({"run_id": self.run_id, "run": summary(run)})

    async def _until_over(self) -> dict[str, Any] | None:
        while True:
            left = _WAIT_SECONDS if self.deadline is None else self.deadline - time.time()
            run = (await self._hook.asend(calls.run(self.run_id, max(1, min(_WAIT_SECONDS, round(left)))))).body
            if is_over(run):
                return run
            if self.deadline is not None and time.time() >= self.deadline:
                return None

    async def on_kill(self) -> None:
        """A user marked the deferred task or cleared it. Not called when the triggerer merely restarts."""
        if self.on_kill_action == "nothing":
            return
        await self._hook.astop(self.on_kill_action, run_id=self.run_id, pipeline_id=self.pipeline_id)
        self.log.info("Requested action for run %s: %s.", self.run_id, self.on_kill_action)


class VitrinaFreshTrigger(BaseTrigger):
    """Fires when the last success of a pipeline is recent enough."""

    def __init__(
        self,
        *,
        vitrina_conn_id: str,
        pipeline_id: str,
        max_age: float | None,
        since: str | None,
        poke_interval: float,
    ) -> None:
        super().__init__()
        self.vitrina_conn_id = vitrina_conn_id
        self.pipeline_id = pipeline_id
        self.max_age = max_age
        self.since = since
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("vitrina_conn_id", "pipeline_id", "max_age", "since", "poke_interval")
        return _path(self), {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        hook = VitrinaHook(self.vitrina_conn_id)
        since = None if self.since is None else datetime.fromisoformat(self.since)
        try:
            while True:
                status = (await hook.asend(calls.status(self.pipeline_id))).body
                runs = (await hook.asend(calls.last_success(self.pipeline_id))).body["items"]
                if is_fresh(status, runs, max_age=self.max_age, since=since):
                    yield TriggerEvent({"run": runs[0]})
                    return
                await asyncio.sleep(self.poke_interval)
        except AirflowException as error:
            yield TriggerEvent({"error": str(error)})


def _path(trigger: BaseTrigger) -> str:
    return f"{type(trigger).__module__}.{type(trigger).__qualname__}"
