"""From a task in Airflow to its run in Vitrina."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


class VitrinaRunLink(BaseOperatorLink):
    """The run's page in Vitrina's console."""

    name = "Vitrina run"
    #: Pushed by the task as soon as the run is known, so that the link is available while it runs.
    xcom_key = "vitrina_run_url"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        return getattr(operator, "run_url", None) or ""
