"""Somebody who looks at the page: a window, what it requested, and what went wrong in it."""

import json
from urllib.parse import urlsplit
from urllib.request import urlopen

VIEWS = ("semanticity", "rules-facts", "relations", "residual-stream")
PATIENCE = 20_000  # milliseconds; several processes may share a core
PLOTTED = """() => Object.fromEntries([...document.querySelectorAll(".workbench figure.panel")].map((figure) => [
    figure.dataset.panel,
    figure.querySelector(".panel-plot").data.map((one) => [one.name ?? "", [...one.x], [...one.y]]),
]))"""
REFUSED = "Failed to load resource: the server responded with a status of 4"


class Reader:
    """One window of the browser.

    Attributes
    ----------
    problems, foreign : list of str
        Errors in the console and in scripts; requests to other places than the server.
    refused : list of str
        Requests that the server answered with a status of 4xx, which the console mentions.
    most_at_once : int
        Questions to a view under way at the same time.
    """

    def __init__(self, context, address, *, width=1400, height=900, scheme="light", script=None):
        self.context, self.address = context, address
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if script is not None:
            self.page.add_init_script(script)
        self.problems, self.foreign, self.refused, self.questions = [], [], [], []
        self.under_way, self.most_at_once = set(), 0
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._request)
        self.page.on("requestfinished", self._answered)
        self.page.on("requestfailed", self._answered)

    def _console(self, message):
        if message.type in {"error", "warning"}:
            stored = self.refused if message.text.startswith(REFUSED) else self.problems
            stored.append(message.text)

    def _request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and f"{parts.scheme}://{parts.netloc}" != self.address:
            self.foreign.append(request.url)
        if parts.path.startswith("/api/views/"):
            self.questions.append(request.url)
            self.under_way.add(request)
            self.most_at_once = max(self.most_at_once, len(self.under_way))

    def _answered(self, request):
        self.under_way.discard(request)

    def go(self, path):
        """Open a path and wait until it shows what it has."""
        self.page.goto(self.address + path)
        self.settle()

    def follow(self, path):
        """Go to another part of the page by its link, which loads nothing again."""
        self.page.locator(f"header a[href='{path}']").click()
        self.settle()

    def settle(self):
        """Wait until the page is ready: the first page with its claims, or a view with an answer and no question."""
        self.page.wait_for_selector(".claims-section details, .results[aria-busy='false'] figure .main-svg")

    def settle_at(self, query):
        """Wait until the address holds these settings, and the picture is theirs."""
        self.page.wait_for_function("(query) => location.search === query", arg=query)
        self.settle()

    def plotted(self):
        """Return name, x and y of all that is drawn, picture by picture."""
        return self.page.evaluate(PLOTTED)

    def wait_for_other_plot(self, before):
        """Wait until something else is drawn."""
        same = f"(before) => JSON.stringify(({PLOTTED})()) !== before"
        self.page.wait_for_function(same, arg=json.dumps(before, separators=(",", ":"), ensure_ascii=False))

    def slider(self):
        """Return the first slider that can be seen."""
        return self.page.locator("input[type=range]:visible").first

    def ask(self, path):
        """Return what the server answers to a path, as text."""
        with urlopen(self.address + path, timeout=30) as reply:
            return reply.read().decode()

    def close(self):
        """Close the window."""
        self.page.close()
