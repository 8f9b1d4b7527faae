"""
Builds the demo marts of Vitrina with its provider, two dimensions at a time and then the aggregate.

Needs airflow-provider-vitrina and a connection `vitrina_default` of the type Vitrina: host, and a token of the role
operator.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from vitrina_provider.operators.vitrina import VitrinaRunPipelineOperator
from vitrina_provider.sensors.vitrina import VitrinaPipelineFreshSensor

with DAG(
    dag_id="vitrina_marts",
    schedule=None,
    catchup=False,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=30)},
):
    dimensions = VitrinaRunPipelineOperator.partial(task_id="dimensions", deferrable=True).expand(
        pipeline=["film_dim_full", "genre_dim_full"]
    )

    ratings = VitrinaRunPipelineOperator(
        task_id="ratings",
        pipeline="film_rating_agg_full",
        execution_timeout=timedelta(hours=1),
        on_kill_action="pause",
    )

    # Represents a DAG that reads the mart and does not know what fills it.
    is_fresh = VitrinaPipelineFreshSensor(
        task_id="is_fresh",
        pipeline="film_rating_agg_full",
        max_age=timedelta(hours=1),
        timeout=timedelta(hours=2).total_seconds(),
    )

    dimensions >> ratings >> is_fresh
