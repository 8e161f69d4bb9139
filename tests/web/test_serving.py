"""The command itself: a process that answers over HTTP, and stops on a signal."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from genlaws.cli import run
from genlaws.core.errors import InputError
from genlaws.web import serving
from genlaws.web.serving import address_of, is_loopback, listen, serve
from genlaws.web.static_files import PAGE_FOLDER, PANEL_FOLDER, PLOTLY, served_files

LONGEST = 60  # seconds that a busy machine may take


@pytest.fixture
def started():
    """Start the command and return it with its address; it is killed at the end if it is still there."""
    command = [sys.executable, "-W", "error", "-m", "genlaws", "explore", "--no-browser", "--port", "0", "--json"]
    # A suite that runs in the background ignores Ctrl-C, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    try:
        yield process, json.loads(process.stdout.readline())["result"]["address"]
    finally:
        process.kill()
        process.communicate()


def get(address):
    with urllib.request.urlopen(address, timeout=LONGEST) as reply:
        return reply.headers, json.loads(reply.read())


def test_command_answers_over_http_and_stops_on_ctrl_c(started):
    process, address = started
    assert address.startswith("http://127.0.0.1:")
    headers, listed = get(f"{address}api/views")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Server"] is None
    first = listed["views"][0]["name"]
    assert get(f"{address}api/views/{first}")[1]["panels"]
    foreign = urllib.request.Request(f"{address}api/views", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(foreign, timeout=LONGEST)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONGEST)
    assert (process.returncode, out, err) == (130, "", "genlaws: Stopped.\n")


def test_a_port_in_use_is_said_in_a_sentence(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["explore", "--no-browser", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"genlaws: http://127.0.0.1:{port}/ cannot be opened: Address already in use.")
    assert "--port" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--port", "70000"], "at most 65535"), (["--host", "no.such.host.invalid"], "host must be a name")],
)
def test_a_wrong_port_or_host_is_wrong_input(capsys, arguments, words):
    assert run(["explore", "--no-browser", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_others_are_let_in_only_if_that_was_meant():
    with pytest.raises(InputError, match=r"host must be one that only this machine reaches, .*; got '0"):
        serve("0.0.0.0")


def test_command_warns_that_others_may_use_it(monkeypatch, capsys):
    requested = []

    def only_ready(host, port, *, open_to_others, ready):
        """Say that the server is there without starting it."""
        requested.append((host, port, open_to_others))
        ready(address_of(host, port))

    monkeypatch.setattr(serving, "serve", only_ready)
    assert run(["explore", "--host", "0.0.0.0", "--port", "9", "--no-browser"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("genlaws: Anyone who can reach 0.0.0.0 over the network may")
    assert said.out.startswith("The page is at http://127.0.0.1:9/\n")
    assert run(["explore", "--no-browser"]) == 0
    assert capsys.readouterr().err == ""
    assert requested == [("0.0.0.0", 9, True), ("127.0.0.1", 8765, False)]


def test_browser_is_opened_unless_disabled(monkeypatch):
    import threading
    import webbrowser

    opened = threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.set())
    monkeypatch.setattr(serving, "serve", lambda host, port, *, open_to_others, ready: ready(address_of(host, port)))
    assert run(["explore", "--no-browser"]) == 0
    assert not opened.wait(0.05)
    assert run(["explore"]) == 0
    assert opened.wait(LONGEST)


@pytest.mark.parametrize(
    ("host", "alone", "address"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:80/"),
        ("localhost", True, "http://localhost:80/"),
        ("::1", True, "http://[::1]:80/"),
        ("127.9.9.9", True, "http://127.9.9.9:80/"),
        ("0.0.0.0", False, "http://127.0.0.1:80/"),
        ("192.168.1.5", False, "http://192.168.1.5:80/"),
        ("localhost.evil.example", False, "http://localhost.evil.example:80/"),
    ],
)
def test_hosts_of_this_machine_alone_are_known(host, alone, address):
    assert is_loopback(host) is alone
    assert address_of(host, 80) == address


def test_port_zero_takes_a_free_one():
    with listen("127.0.0.1", 0) as one, listen("127.0.0.1", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
        assert os.get_inheritable(one.fileno()) is False


def test_no_two_static_files_have_one_name():
    names = [path.name for folder in (PAGE_FOLDER, PANEL_FOLDER) for path in folder.iterdir()]
    assert len(names) == len(set(names))
    assert set(served_files()) - {PLOTLY} <= set(names)
