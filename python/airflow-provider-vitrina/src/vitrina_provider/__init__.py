"""Apache Airflow runs the pipelines of Vitrina."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_NAME = "Vitrina"


def get_provider_info() -> dict[str, Any]:
    """What Airflow asks for when it starts; it imports nothing else of this package until it is needed."""
    return {
        "package-name": "airflow-provider-vitrina",
        "name": _NAME,
        "description": "Runs the pipelines of Vitrina and waits for them.",
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
            "console_url": _field("string", "Console's URL, when people reach it elsewhere than Airflow does"),
            "ca_file": _field("string", "File with the certificate authority to trust"),
            "timeout": _field("number", "Seconds to wait for an answer (30)"),
            "retry_limit": _field("integer", "How often to ask again while nobody answers (10)"),
        },
    }


def _field(kind: str, label: str) -> dict[str, Any]:
    return {"label": label, "schema": {"type": [kind, "null"]}}
