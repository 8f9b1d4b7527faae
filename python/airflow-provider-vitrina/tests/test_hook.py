"""Tests the hook against a real API, given by VITRINA_TEST_URL and VITRINA_TEST_TOKEN."""

from __future__ import annotations

import asyncio
import json
import os
import unittest
import uuid
from types import SimpleNamespace
from unittest.mock import patch

import httpx
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowException

from vitrina_provider import calls
from vitrina_provider.errors import VitrinaApiError
from vitrina_provider.hooks.vitrina import VitrinaHook, server_of

URL = os.environ["VITRINA_TEST_URL"]
TOKEN = os.environ["VITRINA_TEST_TOKEN"]
FILM_DIM = "11111111-1111-1111-1111-111111111111"


def hook(**fields) -> VitrinaHook:
    """A hook whose connection comes from the environment, as Airflow reads it."""
    name = f"vitrina_{uuid.uuid4().hex}"
    given = {"conn_type": "vitrina", "host": URL, "password": TOKEN, **fields}
    os.environ[f"AIRFLOW_CONN_{name.upper()}"] = json.dumps(given)
    return VitrinaHook(name)


class Requests(unittest.TestCase):
    def test_finds_a_pipeline_by_its_name_or_its_id(self):
        self.assertEqual(hook().pipeline_id("film_dim_full"), FILM_DIM)
        self.assertEqual(hook().pipeline_id(FILM_DIM.upper()), FILM_DIM)

    def test_names_the_pipeline_that_does_not_exist(self):
        with self.assertRaisesRegex(VitrinaApiError, 'PIPELINE_NOT_FOUND: The pipeline "film_di" does not exist'):
            hook().pipeline_id("film_di")

    def test_returns_the_same_run_for_the_same_key_and_marks_the_replay(self):
        call = calls.request_run(FILM_DIM, external_ref="test", key=uuid.uuid4().hex)
        first, second = hook().send(call), hook().send(call)
        self.assertEqual(first.body["run_id"], second.body["run_id"])
        self.assertEqual([first.replayed, second.replayed], [False, True])
        run = hook().get_run(first.body["run_id"], wait=60)
        self.assertEqual([run["status"], run["external_ref"]], ["SUCCESS", "test"])

    def test_does_not_block_while_it_waits(self):
        async def both():
            await hook().aserver()
            return await asyncio.gather(*(hook().asend(calls.status(FILM_DIM)) for _ in range(2)))

        self.assertEqual([answer.body["name"] for answer in asyncio.run(both())], ["film_dim_full"] * 2)


class Refusals(unittest.TestCase):
    def test_reports_code_sentence_hint_and_request(self):
        run = str(uuid.uuid4())
        with self.assertRaises(VitrinaApiError) as caught:
            hook().get_run(run)
        error = caught.exception
        self.assertEqual([error.code, error.facts["status"]], ["RUN_NOT_FOUND", 404])
        self.assertIn(run, error.detail)
        for part in (error.code, error.detail, error.hint, error.facts["request_id"]):
            self.assertTrue(part)
            self.assertIn(part, str(error))

    def test_reports_every_invalid_field(self):
        call = calls.request_run(FILM_DIM, external_ref="x" * 501, key="k")
        with self.assertRaisesRegex(VitrinaApiError, "REQUEST_INVALID: .*external_ref: "):
            hook().send(call)

    def test_reports_a_wrong_token_without_repeating_it(self):
        with self.assertRaises(VitrinaApiError) as caught:
            hook(password="not-the-token").get_status(FILM_DIM)
        self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
        self.assertNotIn("not-the-token", str(caught.exception))

    def test_recognizes_a_response_that_is_not_from_vitrina(self):
        with self.assertRaisesRegex(VitrinaApiError, "ROUTE_NOT_FOUND|HTTP_404"):
            hook(host=f"{URL}/elsewhere").get_status(FILM_DIM)

    def test_retries_while_the_server_does_not_respond_and_then_fails(self):
        with patch("vitrina_provider.hooks.vitrina.time.sleep") as slept:
            with self.assertRaisesRegex(VitrinaApiError, "SERVER_UNREACHABLE: No Vitrina API responds"):
                hook(host="http://127.0.0.1:9", extra={"retry_limit": 3}).get_status(FILM_DIM)
        self.assertEqual([call.args[0] for call in slept.call_args_list], [1, 2, 4])


class Connections(unittest.TestCase):
    def url(self, **fields) -> str:
        return server_of(Connection(conn_id="c", conn_type="vitrina", password="t", **fields)).url

    def test_accepts_the_address_in_one_field_or_in_three(self):
        self.assertEqual(self.url(host="http://127.0.0.1:8080/"), "http://127.0.0.1:8080")
        self.assertEqual(self.url(host="vitrina", schema="http", port=8080), "http://vitrina:8080")
        self.assertEqual(self.url(host="https://vitrina/etl/api/v1"), "https://vitrina/etl")

    def test_sends_the_token_over_https_unless_http_is_allowed(self):
        self.assertEqual(self.url(host="vitrina"), "https://vitrina")

    def test_names_the_missing_field_of_a_connection(self):
        for lack, fields in (("host", {"host": None}), ("token", {"password": None})):
            with self.assertRaisesRegex(AirflowException, f"has no {lack}"):
                server_of(SimpleNamespace(**{"conn_id": "c", "host": "h", "password": "p", **fields}))

    def test_is_tested_by_the_form(self):
        self.assertEqual(hook().test_connection(), (True, f"Vitrina responds at {URL}."))
        good, message = hook(password="wrong").test_connection()
        self.assertFalse(good)
        self.assertIn("UNAUTHENTICATED", message)

    def test_links_to_the_public_address_of_the_console(self):
        self.assertEqual(hook().console_url("r"), f"{URL}/ui/runs/r")
        elsewhere = hook(extra={"console_url": "https://console.example.com/ui/"})
        self.assertEqual(elsewhere.console_url("r"), "https://console.example.com/ui/runs/r")
        page = httpx.get(hook().console_url("r"))
        self.assertEqual(page.status_code, 200)


if __name__ == "__main__":
    unittest.main()
