"""
Runs a Vitrina pipeline with only the HTTP operators of Airflow: POST run, GET its run, GET status.

Needs apache-airflow-providers-http and a connection `vitrina_http` of the type HTTP: host and port of the API, and in
its extra {"Authorization": "Bearer <token of the role operator>"}.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.http.operators.http import HttpOperator
from airflow.providers.http.sensors.http import HttpSensor
from airflow.sdk import DAG

PIPELINE = "11111111-1111-1111-1111-111111111111"  # film_dim_full, the first one of the demo
CONNECTION = "vitrina_http"
KEY = "{{ (dag.dag_id ~ '/' ~ run_id ~ '/' ~ (ti.max_tries - ti.task.retries)) | replace(' ', '') }}"


def has_succeeded(response) -> bool:
    """Called until the run has ended; raises if the run did not succeed."""
    run = response.json()
    if run["status"] in ("REQUESTED", "RUNNING"):
        return False
    if run["status"] == "SUCCESS":
        return True
    raise RuntimeError(f"The run ended {run['status']}: {run['error']} {run['error_hint']}")


with DAG(dag_id="vitrina_http", schedule=None, catchup=False, default_args={"retries": 2}):
    # With this key a retry finds the run of the previous try instead of requesting another one. Its last part changes
    # when a user clears the task, which requests a new run. Keys must not contain spaces.
    run = HttpOperator(
        task_id="run",
        http_conn_id=CONNECTION,
        method="POST",
        endpoint=f"/api/v1/pipelines/{PIPELINE}/run",
        headers={"Idempotency-Key": KEY},
        response_filter=lambda response: response.json()["run_id"],
    )

    # The run, not the pipeline's status: that may already refer to the next run.
    wait = HttpSensor(
        task_id="wait",
        http_conn_id=CONNECTION,
        endpoint="/api/v1/runs/{{ ti.xcom_pull(task_ids='run') }}",
        response_check=has_succeeded,
        poke_interval=5,
        timeout=timedelta(hours=1).total_seconds(),
        mode="reschedule",
        retries=0,  # a finished run never changes
    )

    status = HttpOperator(
        task_id="status",
        http_conn_id=CONNECTION,
        method="GET",
        endpoint=f"/api/v1/pipelines/{PIPELINE}/status",
        response_filter=lambda response: response.json(),
    )

    run >> wait >> status
