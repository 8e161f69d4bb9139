"""Headers of every answer, host names of the server, requests of other sites, and the list of files."""

import gzip

import pytest
from starlette.testclient import TestClient

from genlaws.render.scripts import PLOTLY_STYLE_HASH, panel_script, plotly_script
from genlaws.web.app import make_app
from genlaws.web.security import SECURITY_HEADERS, hosts_of
from toy_explorer import ADDRESS


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/", 200),
        ("/a-line", 200),
        ("/none-such", 404),
        ("/static/panels.js", 200),
        ("/static/none.js", 404),
        ("/api/views", 200),
        ("/api/views/a-line?slope=9", 422),
        ("/api-docs", 200),
        ("/openapi.json", 200),
    ],
)
def test_every_answer_carries_the_headers(client, address, status):
    reply = client.get(address)
    assert reply.status_code == status
    for name, value in SECURITY_HEADERS.items():
        assert reply.headers[name] == value
    assert "server" not in reply.headers


def test_policy_allows_nothing_from_elsewhere_and_nothing_inline():
    parts = dict(part.split(" ", 1) for part in SECURITY_HEADERS["Content-Security-Policy"].split("; "))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == parts["connect-src"] == "'self'"
    assert parts["style-src"] == f"'self' '{PLOTLY_STYLE_HASH}'"
    assert parts["frame-ancestors"] == "'none'"
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.7", "", "[::1", "localhost.", "a b"]
)
def test_other_hosts_are_refused(client, host):
    reply = client.get("/api/views", headers={"Host": host})
    assert reply.status_code == 421
    assert reply.json()["error"].startswith("The host must be one of 127.0.0.1, ::1, localhost; got ")
    assert "content-security-policy" in reply.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9", "localhost:8765", "LOCALHOST", "[::1]:8765"])
def test_own_hosts_are_answered(client, host):
    assert client.get("/api/views", headers={"Host": host}).status_code == 200


def test_in_a_network_addresses_will_do_but_foreign_names_will_not(line_view):
    hosts = hosts_of(("box", "localhost"), addresses=True)
    with TestClient(make_app(hosts, [line_view]), base_url="http://192.168.1.5:8765") as client:
        assert client.get("/api/views").status_code == 200
        assert client.get("/api/views", headers={"Host": "box:8765"}).status_code == 200
        assert client.get("/api/views", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": ADDRESS, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_site_is_refused(client, headers):
    reply = client.post("/api/measure", headers=headers, files={"file": ("a.npy", b"")}, data={"kind": "embeddings"})
    assert reply.status_code == 403
    assert "another site" in reply.json()["error"]


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]
)
def test_a_form_of_this_page_is_read(client, headers):
    reply = client.post("/api/measure", headers=headers, files={"file": ("a.npy", b"")}, data={"kind": "embeddings"})
    assert reply.status_code == 422


@pytest.mark.parametrize(
    "name", ["index.html", "..%2fapp.py", "%2e%2e/app.py", "....//app.py", "page.js%00.css", "../../numerics/errors.py"]
)
def test_no_other_file_is_served(client, name):
    assert client.get(f"/static/{name}").status_code == 404


def test_plotly_is_compressed_and_cached(client):
    reply = client.get("/static/plotly.min.js")
    assert reply.headers["content-encoding"] == "gzip"
    assert int(reply.headers["content-length"]) < 0.35 * len(reply.content)
    assert reply.text == plotly_script()
    assert "max-age=604800" in reply.headers["cache-control"]
    again = client.get("/static/plotly.min.js", headers={"If-None-Match": reply.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", ""])
def test_a_file_comes_plain_where_gzip_is_not_wanted(client, accepted):
    reply = client.get("/static/panels.js", headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in reply.headers
    assert reply.text == panel_script()
    assert reply.headers["cache-control"] == "no-cache"


def test_page_is_served_at_every_view_and_to_people_who_mistyped(client):
    page = client.get("/").text
    assert client.get("/a-line?slope=0.5").text == page
    lost = client.get("/a-lime", headers={"Accept": "text/html"})
    assert (lost.status_code, lost.text) == (404, page)
    assert client.get("/a-lime", headers={"Accept": "application/json"}).json()["error"]


def test_compressed_files_are_what_they_were(client):
    with client.stream("GET", "/static/panels.css", headers={"Accept-Encoding": "gzip"}) as reply:
        packed = b"".join(reply.iter_raw())
    assert gzip.decompress(packed).decode() == client.get("/static/panels.css").text
