"""Runs Vitrina pipelines from Apache Airflow."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_NAME = "Vitrina"


def get_provider_info() -> dict[str, Any]:
    """Metadata that Airflow reads at startup; everything else in this package is imported only when needed."""
    return {
        "package-name": "airflow-provider-vitrina",
        "name": _NAME,
        "description": "Runs Vitrina pipelines and waits for them.",
        "versions": [__version__],
        "integrations": [{"integration-name": _NAME, "external-doc-url": "", "tags": ["service"]}],
        "hooks": [_modules("hooks")],
        "operators": [_modules("operators")],
        "sensors": [_modules("sensors")],
        "triggers": [_modules("triggers")],
        "extra-links": ["vitrina_provider.links.vitrina.VitrinaRunLink"],
        "connection-types": [_connection_type()],
    }


def _modules(kind: str) -> dict[str, Any]:
    return {"integration-name": _NAME, "python-modules": [f"vitrina_provider.{kind}.vitrina"]}


def _connection_type() -> dict[str, Any]:
    return {
        "connection-type": "vitrina",
        "hook-name": _NAME,
        "hook-class-name": "vitrina_provider.hooks.vitrina.VitrinaHook",
        "ui-field-behaviour": {
            "hidden-fields": ["login", "extra"],
            "relabeling": {"host": "Host or URL of the API", "schema": "http or https", "password": "Token"},
            "placeholders": {
                "host": "vitrina.example.com or http://127.0.0.1:8080",
                "schema": "https",
                "password": "vitrina tokens create --name airflow --role operator",
            },
        },
        "conn-fields": {
            "console_url": _field("string", "URL of the console, if users reach it at another address than Airflow does"),
            "ca_file": _field("string", "File with the certificate authority to trust"),
            "timeout": _field("number", "Seconds to wait for a response (30)"),
            "retry_limit": _field("integer", "Number of retries while the server does not respond (10)"),
        },
    }


def _field(kind: str, label: str) -> dict[str, Any]:
    return {"label": label, "schema": {"type": [kind, "null"]}}
