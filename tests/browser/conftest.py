"""The explorer served in this process, and windows of a browser to look at it."""

import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reader import Reader

STARTED_WITHIN = 60.0  # seconds


@pytest.fixture(scope="session")
def address():
    """Return the address of the real application with the real views."""
    import uvicorn

    from genlaws.web.app import make_app
    from genlaws.web.serving import address_of, listen

    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(), log_level="warning", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    latest = time.monotonic() + STARTED_WITHIN
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < latest, "the server took too long to start"
        time.sleep(0.02)
    yield address_of("127.0.0.1", listening.getsockname()[1]).rstrip("/")
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture(scope="module")
def profile(browser):
    """Return what windows share: the scripts that the browser has read and compiled before."""
    shared = browser.new_context()
    yield shared
    shared.close()


@pytest.fixture
def open_reader(profile, address):
    """Return a function that opens a window of its own; what went wrong in it fails the test at the end."""
    readers = []

    def opened(path="/", **options):
        reader = Reader(profile, address, **options)
        readers.append(reader)
        reader.go(path)
        return reader

    yield opened
    for reader in readers:
        reader.close()
    for reader in readers:
        assert reader.problems == []
        assert reader.foreign == []
