"""DAGs with one task each, whose pipeline comes with the DAG run: {"pipeline": …}."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from vitrina_provider.operators.vitrina import VitrinaRunPipelineOperator
from vitrina_provider.sensors.vitrina import VitrinaPipelineFreshSensor, VitrinaRunSensor

PIPELINE = "{{ dag_run.conf['pipeline'] }}"


def report_pid(context) -> None:
    """So that a test can kill this very process."""
    Path(os.environ["AIRFLOW_HOME"], f"{context['ti'].dag_id}.pid").write_text(str(os.getpid()))


def one_run(dag_id: str, **options) -> None:
    with DAG(dag_id=dag_id, schedule=None, catchup=False):
        VitrinaRunPipelineOperator(task_id="run", pipeline=PIPELINE, pre_execute=report_pid, **options)


one_run("one_run")
one_run("one_run_paused_when_killed", on_kill_action="pause")
one_run("one_run_retried", retries=3, retry_delay=timedelta(seconds=1))
one_run("one_run_deferred", deferrable=True)
one_run("one_run_deferred_briefly", deferrable=True, execution_timeout=timedelta(seconds=2))

with DAG(dag_id="sensors", schedule=None, catchup=False):
    ask = VitrinaRunPipelineOperator(task_id="ask", pipeline=PIPELINE, wait_for_completion=False)
    ASKED = "{{ ti.xcom_pull(task_ids='ask')['id'] }}"
    poked = VitrinaRunSensor(task_id="poked", run_id=ASKED, poke_interval=1)
    deferred = VitrinaRunSensor(task_id="deferred", run_id=ASKED, deferrable=True)
    since = "{{ ti.xcom_pull(task_ids='ask')['requested_at'] }}"
    fresh = VitrinaPipelineFreshSensor(
        task_id="fresh", pipeline=PIPELINE, since=since, max_age=3600, poke_interval=1, deferrable=True
    )
    fresh_poked = VitrinaPipelineFreshSensor(task_id="fresh_poked", pipeline=PIPELINE, since=since, poke_interval=1)
    ask >> [poked, deferred, fresh, fresh_poked]
