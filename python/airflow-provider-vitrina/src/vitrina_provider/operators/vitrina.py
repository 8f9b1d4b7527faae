"""Runs a Vitrina pipeline as an Airflow task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from airflow.sdk import BaseOperator
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException, AirflowTaskTimeout

from vitrina_provider import calls
from vitrina_provider.errors import VitrinaApiError
from vitrina_provider.hooks.vitrina import VitrinaHook
from vitrina_provider.links.vitrina import VitrinaRunLink
from vitrina_provider.runs import (
    describe,
    idempotency_key,
    is_of_task,
    is_over,
    openlineage_parent,
    require_success,
    run_reference,
    summary,
    task_reference,
)
from vitrina_provider.triggers.vitrina import VitrinaRunTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

#: Short, because a task that is being killed checks for that between two responses.
_WAIT_SECONDS = 5
_ON_KILL = ("cancel", "pause", "nothing")
_ON_ACTIVE_RUN = ("wait", "join", "fail")


@dataclass(frozen=True)
class _Found:
    run: dict[str, Any]
    #: Not ours, or about to end: ours comes after it.
    is_in_the_way: bool = False
    #: Ours, so that we may stop it.
    is_own: bool = True


class VitrinaRunPipelineOperator(BaseOperator):
    """
    Requests a run of a pipeline and waits for its end. Returns the run's summary.

    A retry finds the run of the previous try: an active one is waited for, a successful one is returned, and after a
    failed one another is requested. A task that was cleared gets a new run.

    :param pipeline: name or id of the pipeline. (templated)
    :param vitrina_conn_id: a connection of the type ``vitrina``. (templated)
    :param external_ref: the reference of the run in Vitrina; default: dag, task, dag run, map index. After the task was
        cleared, ``#`` and the number of earlier tries are added. (templated)
    :param wait_for_completion: False: only request the run.
    :param deferrable: wait in the triggerer instead of a worker.
    :param on_kill_action: what to do with the run when the task is killed or exceeds its ``execution_timeout``:
        ``cancel`` it, ``pause`` the pipeline, or ``nothing``.
    :param on_active_run: if another run of the pipeline is active: ``wait`` for its end and then request a new one,
        ``join`` it, or ``fail``.
    """

    template_fields: Sequence[str] = ("pipeline", "vitrina_conn_id", "external_ref")
    operator_extra_links = (VitrinaRunLink(),)
    ui_color = "#d7e8fa"

    def __init__(
        self,
        *,
        pipeline: str,
        vitrina_conn_id: str = VitrinaHook.default_conn_name,
        external_ref: str | None = None,
        wait_for_completion: bool = True,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        on_kill_action: Literal["cancel", "pause", "nothing"] = "cancel",
        on_active_run: Literal["wait", "join", "fail"] = "wait",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.vitrina_conn_id = vitrina_conn_id
        self.external_ref = external_ref
        self.wait_for_completion = wait_for_completion
        self.deferrable = deferrable
        self.on_kill_action = _one_of(_ON_KILL, "on_kill_action", on_kill_action)
        self.on_active_run = _one_of(_ON_ACTIVE_RUN, "on_active_run", on_active_run)
        self.run_url: str | None = None
        self._hook: VitrinaHook | None = None
        self._own_run: dict[str, Any] | None = None
        self._is_killed = False

    @property
    def hook(self) -> VitrinaHook:
        if self._hook is None:
            self._hook = VitrinaHook(self.vitrina_conn_id)
        return self._hook

    def execute(self, context: Context) -> dict[str, Any]:
        found = self._find_or_request(context)
        while found.is_in_the_way:
            self.log.info("Waiting for the end of run %s, which is active.", found.run["id"])
            if self.deferrable:
                self._defer(found.run, method_name="execute_again", on_kill_action="nothing")
            self._wait(found.run["id"])
            found = self._find_or_request(context)
        self._adopt(found, context)
        if not self.wait_for_completion:
            return summary(found.run)
        if self.deferrable and not is_over(found.run):
            self._defer(
                found.run,
                method_name="execute_complete",
                on_kill_action=self.on_kill_action if found.is_own else "nothing",
            )
        return require_success(self._wait(found.run["id"]), self.hook.console_url(found.run["id"]))

    def execute_again(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """The previous run has ended."""
        self._require_answer(event)
        return self.execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """The run has ended, or the time is up."""
        self.run_url = self.hook.console_url(event["run_id"])
        self._require_answer(event)
        self.log.info(describe(event["run"]))
        return require_success(event["run"], self.run_url)

    def on_kill(self) -> None:
        """Called by a signal at any moment, and after a timeout: it must neither raise nor call Airflow."""
        self._is_killed = True
        if self._own_run is not None:
            self._stop(self._own_run)

    def _find_or_request(self, context: Context) -> _Found:
        """Follows the runs of this task instance up to the first that is not a past failure."""
        ti = context["ti"]
        pipeline_id = self.hook.pipeline_id(self.pipeline)
        external_ref = run_reference(ti, self.external_ref)
        after: str | None = None
        while True:
            key = idempotency_key(ti, pipeline_id=pipeline_id, external_ref=external_ref, after=after)
            call = calls.request_run(
                pipeline_id, external_ref=external_ref, key=key, parent=openlineage_parent(ti)
            )
            try:
                answer = self.hook.send(call)
            except VitrinaApiError as error:
                return self._other_run(error, task_reference(ti, self.external_ref))
            run = self.hook.get_run(answer.body["run_id"])
            if not (answer.replayed and is_over(run)) or run["status"] == "SUCCESS":
                is_ending = run["cancel_requested"] or answer.body["status"] == "PAUSE_REQUESTED"
                return _Found(run, is_in_the_way=is_ending and not is_over(run))
            self.log.info("Run %s ended %s: requesting another one.", run["id"], run["status"])
            after = run["id"]

    def _other_run(self, error: VitrinaApiError, own_reference: str) -> _Found:
        if error.code != "RUN_ACTIVE":
            raise error
        self.log.info(error.detail)
        run = self.hook.get_run(error.facts["run_id"])
        # A run requested before the task was cleared is neither a reason to fail nor a run to join.
        action = "wait" if is_of_task(run, own_reference) else self.on_active_run
        if action == "fail":
            raise error
        return _Found(run, is_in_the_way=action == "wait", is_own=False)

    def _adopt(self, found: _Found, context: Context) -> None:
        run_id = found.run["id"]
        self.run_url = self.hook.console_url(run_id)
        self.log.info("Run %s of %s: %s", run_id, found.run["pipeline_name"], self.run_url)
        context["ti"].xcom_push(key=VitrinaRunLink.xcom_key, value=self.run_url)
        if found.is_own:
            self._own_run = found.run
        if self._is_killed:
            self.on_kill()
        self._require_life()

    def _wait(self, run_id: str) -> dict[str, Any]:
        logged = ""
        while True:
            run = self.hook.get_run(run_id, wait=_WAIT_SECONDS)
            if describe(run) != logged:
                logged = describe(run)
                self.log.info(logged)
            self._require_life()
            if is_over(run):
                return run

    def _defer(self, run: dict[str, Any], *, method_name: str, on_kill_action: str) -> None:
        limit = self.execution_timeout
        self.defer(
            trigger=VitrinaRunTrigger(
                vitrina_conn_id=self.vitrina_conn_id,
                run_id=run["id"],
                pipeline_id=run["pipeline_id"],
                on_kill_action=on_kill_action,
                deadline=None if limit is None else time.time() + limit.total_seconds(),
            ),
            method_name=method_name,
        )

    def _require_answer(self, event: dict[str, Any]) -> None:
        if "error" in event:
            raise AirflowException(event["error"])
        if event.get("timed_out"):
            raise AirflowTaskTimeout(f"Run {event['run_id']} did not end within {self.execution_timeout}.")

    def _require_life(self) -> None:
        if self._is_killed:
            raise AirflowException(f"The task was killed. Action for its run: {self.on_kill_action}.")

    def _stop(self, run: dict[str, Any]) -> None:
        if self.on_kill_action == "nothing":
            return
        try:
            self.hook.stop(self.on_kill_action, run_id=run["id"], pipeline_id=run["pipeline_id"])
            self.log.info("Requested action for run %s: %s.", run["id"], self.on_kill_action)
        except AirflowException as error:
            self.log.warning("Run %s continues: %s", run["id"], error)


def _one_of(allowed: Sequence[str], name: str, value: str) -> str:
    if value not in allowed:
        raise ValueError(f'{name} is "{value}" and must be one of {", ".join(allowed)}')
    return value
