"""Parts of every HTML page: its style, tables and pictures, and formulas as MathML; one file that needs no network."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files

from matplotlib.figure import Figure

from genlaws.render.style import house_style

# The page runs no script and fetches nothing, whatever text a model wrote.
PAGE_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MAX_QUOTED_CHARACTERS = 4000  # of a quoted text
# Characters that are not printable: control characters except line ends and tabs, unpaired surrogates, and those that
# change the direction of the following text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@cache
def static_text(name: str, package: str = "genlaws.render") -> str:
    """Return a style sheet or a script of the pages, to embed in one."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")


def formula(*parts: str) -> str:
    """Return parts side by side as a formula on a line of its own."""
    return f'<math display="block"><mrow>{"".join(parts)}</mrow></math>'


def side_by_side(*formulas: str) -> str:
    """Return formulas next to one another, or below one another where there is no room."""
    return f'<div class="formulas">{"".join(formulas)}</div>'


def inline(*parts: str) -> str:
    """Return parts side by side as a formula within a sentence."""
    return f"<math><mrow>{''.join(parts)}</mrow></math>"


def symbol(letters: str, below: str = "", above: str = "") -> str:
    """Return a symbol with an index below and one above, if there are any."""
    base = f"<mi>{_text(letters)}</mi>"
    low, high = (f"<mi>{_text(one)}</mi>" if one else "" for one in (below, above))
    if low and high:
        return f"<msubsup>{base}{low}{high}</msubsup>"
    if low or high:
        tag = "msub" if low else "msup"
        return f"<{tag}>{base}{low or high}</{tag}>"
    return base


def number(digits: str) -> str:
    """Return a number."""
    return f"<mn>{_text(digits)}</mn>"


def sign(character: str) -> str:
    """Return an operator or a sign of relation, such as + or =."""
    return f"<mo>{_text(character)}</mo>"


def words(text: str) -> str:
    """Return a text inside a formula, with space around it."""
    return f'<mspace width="1em"></mspace><mtext>{_text(text)}</mtext><mspace width="1em"></mspace>'


def together(*parts: str) -> str:
    """Return parts as one group, for an exponent or under a root."""
    return f"<mrow>{''.join(parts)}</mrow>"


def over(top: str, bottom: str) -> str:
    """Return a fraction."""
    return f"<mfrac>{top}{bottom}</mfrac>"


def power(base: str, exponent: str) -> str:
    """Return a power."""
    return f"<msup>{base}{exponent}</msup>"


def root(*inside: str) -> str:
    """Return a square root."""
    return f"<msqrt>{''.join(inside)}</msqrt>"


def brackets(*inside: str) -> str:
    """Return parts in round brackets."""
    return f"<mrow><mo>(</mo>{''.join(inside)}<mo>)</mo></mrow>"


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def escaped(text: object) -> str:
    """Return a text as escaped HTML, safe for text from any source."""
    return html.escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True)


def whole_page(heading: str, parts: Iterable[str]) -> str:
    """Return a page with a heading and these parts, which are HTML."""
    head = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escaped(heading)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{PAGE_SECURITY_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{static_text('document.css')}</style></head><body><main>",
        f"<h1>{escaped(heading)}</h1>",
    ]
    return "\n".join([*head, *parts, "</main></body></html>"]) + "\n"


def number_table(rows: Iterable[tuple[str, str, str]], *, wrapped: bool = False) -> str:
    """Return a table of names, values and what they mean; long values are `wrapped`."""
    cells = (
        f'<tr><th scope="row">{escaped(name)}</th><td class="number">{escaped(value)}</td>'
        f"<td>{escaped(meaning)}</td></tr>"
        for name, value, meaning in rows
    )
    return f'<table class="numbers{" wrapped" if wrapped else ""}">{"".join(cells)}</table>'


def data_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with named columns, which scrolls by itself where the page is narrow."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in columns)
    lines = ("".join(f'<td class="number">{escaped(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<p class="soft table-caption">{escaped(caption)}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def folded(summary: str, inside: str) -> str:
    """Return HTML that is shown when its summary is clicked, and on paper."""
    return f"<details><summary>{escaped(summary)}</summary>{inside}</details>"


def paragraphs(sentences: Iterable[str], kind: str = "") -> str:
    """Return each text as a paragraph; `kind` is a class of the style."""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return "".join(f"{opening}{escaped(sentence)}</p>" for sentence in sentences)


def quoted(text: str) -> str:
    """Return a text as it was written, line by line; a very long one is cut, with a note."""
    rest = len(text) - MAX_QUOTED_CHARACTERS
    shown = text if rest <= 0 else f"{text[:MAX_QUOTED_CHARACTERS]}… ({rest:,} characters more)"
    return f'<pre dir="auto">{escaped(shown)}</pre>'


def picture(drawn: Figure | Callable[[], Figure], caption: str, name: str) -> str:
    """Return a picture with its caption.

    Parameters
    ----------
    drawn : Figure or callable
        The figure, or what returns it; called in the house style.
    caption : str
        Also read aloud in place of the picture.
    name : str
        Of this picture, different from that of all others on the page.
    """
    text = io.StringIO()
    with house_style():
        figure = drawn if isinstance(drawn, Figure) else drawn()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = _own_names(svg[svg.index("<svg") :], name)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escaped(caption)}"', 1)
    return f"<figure>{svg}<figcaption>{escaped(caption)}</figcaption></figure>"


def _own_names(svg: str, name: str) -> str:
    """Make the ids of a picture unique on the page; unreferenced ids are removed."""
    used = set(re.findall(r'(?:url\(#|href="#)([\w-]+)', svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", svg)
    return re.sub(r'(url\(#|href="#)(?=[\w-])', lambda found: f"{found[1]}{name}-", svg)
