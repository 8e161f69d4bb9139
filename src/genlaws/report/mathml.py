"""Formulas as MathML, which browsers show without a script: small parts that are put side by side."""

from __future__ import annotations

import html


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
    """Return words inside a formula, with room around them."""
    return f'<mspace width="1em"></mspace><mtext>{_text(text)}</mtext><mspace width="1em"></mspace>'


def together(*parts: str) -> str:
    """Return parts as one, for an exponent or under a root."""
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
