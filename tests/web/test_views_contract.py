"""The contract of the API over every view of the registry."""

import csv
import io
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from genlaws.core.panel import CSV_COLUMNS
from genlaws.web.app import make_app
from genlaws.web.openapi import AnswerBody
from toy_explorer import ADDRESS

VIEWS = ("semanticity", "rules-facts", "relations", "residual-stream")


@pytest.fixture(scope="module")
def real():
    """Return a client of the application as it is."""
    with TestClient(make_app(), base_url=ADDRESS) as client:
        yield client


def test_views_come_in_the_order_of_the_page(real):
    assert tuple(one["name"] for one in real.get("/api/views").json()["views"]) == VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_answers_at_its_defaults(real, name):
    reply = real.get(f"/api/views/{name}")
    assert reply.status_code == 200
    AnswerBody.model_validate(reply.json())
    listed = next(one for one in real.get("/api/views").json()["views"] if one["name"] == name)
    defaults = {key: schema["default"] for key, schema in listed["schema"]["properties"].items()}
    assert reply.json()["settings"] == defaults
    for panel in reply.json()["panels"]:
        table = real.get(f"/api/views/{name}/panels/{panel['name']}.csv")
        rows = list(csv.reader(io.StringIO(table.text)))
        assert rows[0] == list(CSV_COLUMNS)
        assert len(rows) - 1 == sum(len(curve["x"]) for curve in panel["curves"])


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_refuses_a_number_beyond_its_range_by_name(real, name):
    listed = next(one for one in real.get("/api/views").json()["views"] if one["name"] == name)
    ranges = {key: one for key, one in listed["schema"]["properties"].items() if "maximum" in one}
    assert ranges
    for key, schema in ranges.items():
        reply = real.get(f"/api/views/{name}", params={key: schema["maximum"] + 1})
        assert reply.status_code == 422
        assert reply.json()["setting"] == key
        assert "must" in reply.json()["error"]


def test_application_loads_no_framework_for_networks():
    program = "import sys; from genlaws.web.app import make_app; make_app(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
