"""How a task identifies its runs, and how it handles their results."""

from __future__ import annotations

import unittest
from types import SimpleNamespace

from airflow.sdk.exceptions import AirflowFailException

from vitrina_provider import get_provider_info
from vitrina_provider.errors import VitrinaRunFailed, VitrinaRunStopped
from vitrina_provider.operators.vitrina import VitrinaRunPipelineOperator
from vitrina_provider.runs import idempotency_key, is_of_task, require_success, run_reference, task_reference
from vitrina_provider.sensors.vitrina import VitrinaPipelineFreshSensor
from vitrina_provider.triggers.vitrina import VitrinaFreshTrigger, VitrinaRunTrigger


def ti(**changes) -> SimpleNamespace:
    task = SimpleNamespace(retries=3)
    given = {"dag_id": "dag", "task_id": "task", "run_id": "manual 1", "map_index": -1, "max_tries": 3}
    return SimpleNamespace(**{**given, "task": task, **changes})


def key(instance: SimpleNamespace, **changes) -> str:
    given = {"pipeline_id": "p", "external_ref": run_reference(instance), **changes}
    return idempotency_key(instance, **given)


class Names(unittest.TestCase):
    def test_a_retry_has_the_key_of_the_previous_attempt(self):
        self.assertEqual(key(ti(try_number=1)), key(ti(try_number=2)))

    def test_everything_else_has_a_separate_key(self):
        others = [{"dag_id": "x"}, {"task_id": "x"}, {"run_id": "x"}, {"map_index": 0}, {"max_tries": 4}]
        keys = {key(ti())} | {key(ti(**other)) for other in others}
        keys |= {key(ti(), after="run"), key(ti(), pipeline_id="x"), key(ti(), external_ref="x")}
        self.assertEqual(len(keys), 9)

    def test_a_key_is_valid_for_the_api(self):
        self.assertRegex(key(ti(dag_id="д" * 250)), r"^[\x21-\x7e]{1,255}$")

    def test_a_reference_is_readable_and_never_too_long(self):
        self.assertEqual(run_reference(ti()), "airflow:dag:task:manual 1")
        self.assertEqual(run_reference(ti(map_index=2)), "airflow:dag:task:manual 1:2")
        self.assertEqual(run_reference(ti(), "mine"), "mine")
        long = [run_reference(ti(dag_id="d" * 250, task_id="t" * 250, run_id=f"{n}", max_tries=99)) for n in "12"]
        self.assertLessEqual(max(map(len, long)), 500)
        self.assertNotEqual(*long)

    def test_a_cleared_task_recognizes_its_earlier_runs_and_requests_a_new_one(self):
        cleared = run_reference(ti(max_tries=5))
        self.assertEqual(cleared, "airflow:dag:task:manual 1#2")
        for text, is_own in ((cleared, True), ("airflow:dag:task:manual 1", True), ("other", False), (None, False)):
            self.assertEqual(is_of_task({"external_ref": text}, task_reference(ti())), is_own)


class Ends(unittest.TestCase):
    def run_of(self, status: str, **changes) -> dict:
        error = {"error": None, "error_code": None, "error_hint": None}
        return {"status": status, "pipeline_name": "film_dim", "batch_history": [1], **error, **changes}

    def test_reports_a_success_without_its_batches(self):
        self.assertNotIn("batch_history", require_success(self.run_of("SUCCESS"), "url"))

    def test_a_failure_contains_the_error_of_vitrina(self):
        failed = self.run_of("FAILED", error="Rows differ.", error_code="BRAKE", error_hint="Look.")
        with self.assertRaisesRegex(VitrinaRunFailed, r"ended FAILED\. BRAKE: Rows differ\. Look\. See url"):
            require_success(failed, "url")

    def test_a_run_that_a_user_stopped_is_not_retried(self):
        for status in ("PAUSED", "CANCELLED"):
            with self.assertRaises(VitrinaRunStopped) as caught:
                require_success(self.run_of(status), "url")
            self.assertIsInstance(caught.exception, AirflowFailException)


class Shapes(unittest.TestCase):
    def test_triggers_survive_serialization(self):
        run = {"vitrina_conn_id": "c", "run_id": "r", "pipeline_id": "p", "on_kill_action": "pause", "deadline": 1.5}
        fresh = {"vitrina_conn_id": "c", "pipeline_id": "p", "max_age": 1.0, "since": None, "poke_interval": 2.0}
        for trigger, given in ((VitrinaRunTrigger, run), (VitrinaFreshTrigger, fresh)):
            path, kwargs = trigger(**given).serialize()
            self.assertEqual([path, kwargs], [f"vitrina_provider.triggers.vitrina.{trigger.__name__}", given])

    def test_unknown_options_are_rejected_when_the_dag_is_parsed(self):
        with self.assertRaisesRegex(ValueError, 'on_kill_action is "stop"'):
            VitrinaRunPipelineOperator(task_id="t", pipeline="p", on_kill_action="stop")
        with self.assertRaisesRegex(ValueError, "needs max_age or since"):
            VitrinaPipelineFreshSensor(task_id="t", pipeline="p")

    def test_the_form_of_the_connection_names_its_fields(self):
        [connection] = get_provider_info()["connection-types"]
        self.assertEqual(connection["ui-field-behaviour"]["relabeling"]["password"], "Token")
        self.assertIn("console_url", connection["conn-fields"])


if __name__ == "__main__":
    unittest.main()
