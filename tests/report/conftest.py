"""A page as a browser takes it apart."""

from html.parser import HTMLParser

import pytest

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checker(HTMLParser):
    """Keeps what is open, what was said, and what the page would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.fetched, self.tags, self.ids, self.links = [], [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.fetched += [value for name, value in attributes if name in {"src", "data"}]
        away = [value for name, value in attributes if name.endswith("href")]
        self.links += [value[1:] for value in away if value.startswith("#")]
        self.fetched += [value for value in away if not value.startswith("#")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="session")
def read_page():
    """Return a function from HTML to what is in it; the HTML must be whole."""

    def read(html):
        page = Checker()
        page.feed(html)
        page.close()
        assert page.open == []
        return page

    return read
