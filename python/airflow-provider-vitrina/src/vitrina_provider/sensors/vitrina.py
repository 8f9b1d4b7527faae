"""Wait for runs and fresh marts, regardless of who requested them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from vitrina_provider import calls
from vitrina_provider.freshness import is_fresh
from vitrina_provider.hooks.vitrina import VitrinaHook
from vitrina_provider.links.vitrina import VitrinaRunLink
from vitrina_provider.runs import describe, is_over, require_success
from vitrina_provider.triggers.vitrina import VitrinaFreshTrigger, VitrinaRunTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context


class VitrinaRunSensor(BaseSensorOperator):
    """
    Waits until a run has succeeded. Fails when it ended otherwise. Returns the run's summary.

    :param run_id: the run, for instance from an operator with ``wait_for_completion=False``. (templated)
    :param vitrina_conn_id: a connection of the type ``vitrina``. (templated)
    :param deferrable: wait in the triggerer instead of a worker.
    """

    template_fields: Sequence[str] = ("run_id", "vitrina_conn_id")
    operator_extra_links = (VitrinaRunLink(),)
    ui_color = "#e3f1e3"

    def __init__(
        self,
        *,
        run_id: str,
        vitrina_conn_id: str = VitrinaHook.default_conn_name,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.run_id = run_id
        self.vitrina_conn_id = vitrina_conn_id
        self.deferrable = deferrable
        self.run_url: str | None = None

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            return super().execute(context)
        run = VitrinaHook(self.vitrina_conn_id).get_run(self.run_id)
        if is_over(run):
            return self._conclude(run)
        self.defer(
            trigger=VitrinaRunTrigger(
                vitrina_conn_id=self.vitrina_conn_id, run_id=self.run_id, pipeline_id=run["pipeline_id"]
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        if "error" in event:
            raise AirflowException(event["error"])
        return self._conclude(event["run"])

    def poke(self, context: Context) -> bool | PokeReturnValue:
        run = VitrinaHook(self.vitrina_conn_id).get_run(self.run_id)
        self.log.info(describe(run))
        return PokeReturnValue(True, self._conclude(run)) if is_over(run) else False

    def _conclude(self, run: dict[str, Any]) -> dict[str, Any]:
        """Never retried: a run that has ended does not change."""
        self.run_url = VitrinaHook(self.vitrina_conn_id).console_url(self.run_id)
        try:
            return require_success(run, self.run_url)
        except AirflowException as error:
            raise AirflowFailException(str(error)) from error


class VitrinaPipelineFreshSensor(BaseSensorOperator):
    """
    Waits until the last success of a pipeline is recent enough. Returns that run.

    :param pipeline: name or id of the pipeline. (templated)
    :param max_age: maximum age of the last success: a timedelta or seconds.
    :param since: the last success must have begun at this time or later, so that it read everything that was
        committed before; a time in ISO 8601, for instance ``{{ data_interval_end }}``. (templated)
    :param vitrina_conn_id: a connection of the type ``vitrina``. (templated)
    :param deferrable: wait in the triggerer instead of a worker.
    """

    template_fields: Sequence[str] = ("pipeline", "since", "vitrina_conn_id")
    ui_color = "#e3f1e3"

    def __init__(
        self,
        *,
        pipeline: str,
        max_age: timedelta | float | None = None,
        since: datetime | str | None = None,
        vitrina_conn_id: str = VitrinaHook.default_conn_name,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if max_age is None and since is None:
            raise ValueError("VitrinaPipelineFreshSensor needs max_age or since, or both")
        self.pipeline = pipeline
        self.max_age = max_age.total_seconds() if isinstance(max_age, timedelta) else max_age
        self.since = since
        self.vitrina_conn_id = vitrina_conn_id
        self.deferrable = deferrable

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            return super().execute(context)
        found = self.poke(context)
        if isinstance(found, PokeReturnValue):
            return found.xcom_value
        since = _time(self.since)
        self.defer(
            trigger=VitrinaFreshTrigger(
                vitrina_conn_id=self.vitrina_conn_id,
                pipeline_id=VitrinaHook(self.vitrina_conn_id).pipeline_id(self.pipeline),
                max_age=self.max_age,
                since=None if since is None else since.isoformat(),
                poke_interval=self.poke_interval,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        if "error" in event:
            raise AirflowException(event["error"])
        return event["run"]

    def poke(self, context: Context) -> bool | PokeReturnValue:
        hook = VitrinaHook(self.vitrina_conn_id)
        pipeline_id = hook.pipeline_id(self.pipeline)
        status = hook.send(calls.status(pipeline_id)).body
        runs = hook.send(calls.last_success(pipeline_id)).body["items"]
        if is_fresh(status, runs, max_age=self.max_age, since=_time(self.since)):
            return PokeReturnValue(True, runs[0])
        self.log.info("The last success of %s is not recent enough: %s", self.pipeline, status["lag"])
        return False


def _time(value: datetime | str | None) -> datetime | None:
    """A time without a zone is in UTC, as everywhere in Airflow."""
    if value is None or value == "":
        return None
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
