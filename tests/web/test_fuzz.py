"""Any request that the OpenAPI document allows, and many that it does not: no 500, and answers as documented."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks

from genlaws.web.app import make_app
from genlaws.web.views import all_views
from toy_explorer import LINE

HOST = "testserver"  # what the client calls the server
VIEWS = ("semanticity", "rules-facts", "relations", "residual-stream", LINE.name)
PLAIN = ("/api/views", "/api/claims", "/openapi.json")  # nothing can be wrong with these
ASKED = (
    "/api/measure",
    *(f"/api/views/{name}{rest}" for name in VIEWS for rest in ("", "/panels/{panel}.csv")),
)
RIGHT, WRONG = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
CHECKED = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
# The same requests each time, few enough for the suite; none is made smaller, since the first shows what is wrong.
FEW = settings(
    max_examples=8,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def documented():
    """Return the document with the application that it describes."""
    return schemathesis.openapi.from_asgi("/openapi.json", make_app((HOST,), (*all_views(), LINE)))


def test_every_address_of_the_document_is_tried(documented):
    assert set(documented.raw_schema["paths"]) == {*PLAIN, *ASKED}


@pytest.mark.parametrize(
    ("path", "mode"), [*((path, RIGHT) for path in PLAIN), *((path, mode) for path in ASKED for mode in (RIGHT, WRONG))]
)
def test_answers_are_as_documented(documented, path, mode):
    (method,) = documented.raw_schema["paths"][path]
    tried = []

    @FEW
    @given(case=documented[path][method.upper()].as_strategy(generation_mode=mode))
    def ask(case):
        """Ask once."""
        tried.append(case.call_and_validate(checks=CHECKED).status_code)

    ask()
    assert (422 if mode is WRONG or path == "/api/measure" else 200) in tried
