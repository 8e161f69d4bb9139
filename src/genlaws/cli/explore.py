"""``genlaws explore``: serve the explorer, a page with sliders for every law, on this machine."""

from __future__ import annotations

import json as json_module
import sys
import threading
import webbrowser
from typing import Annotated

from cyclopts import Parameter

from genlaws.cli.output import Json
from genlaws.core.imports import require_installed

DEFAULT_PORT = 8765


def explore(
    *,
    host: Annotated[
        str | None, Parameter(help="Name or address to listen on; 127.0.0.1, only this machine, if left out.")
    ] = None,
    port: Annotated[int, Parameter(help="Port to listen on; 0 for any free one.")] = DEFAULT_PORT,
    browser: Annotated[bool, Parameter(help="Open the page in the browser.")] = True,
    json: Json = False,
) -> None:
    """Serve the page until Ctrl-C."""
    require_installed("plotly", "starlette", "uvicorn", "python_multipart")
    from genlaws.web.serving import LOCAL_HOST, is_loopback, serve

    name = LOCAL_HOST if host is None else host
    if not is_loopback(name):
        warning = (
            f"Anyone who can reach {name or 'this machine'} over the network may now use this page and measure sets."
        )
        print(f"genlaws: {warning}", file=sys.stderr)

    def ready(address: str) -> None:
        """Print the address of the page, and open it."""
        document = json_module.dumps({"result": {"address": address}, "files": []})  # one line, read while it serves
        print(document if json else f"The page is at {address}\nCtrl-C stops it.", flush=True)
        if browser:  # in a thread of its own: the browser requests the page once the server has started
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve(name, port, open_to_others=host is not None, ready=ready)
