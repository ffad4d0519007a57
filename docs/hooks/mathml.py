"""Convert formulas to MathML while the site is built, so that browsers display them without a script."""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([\(\[])(.*?)\\[\)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Return the page with its formulas converted to MathML."""

    def formula(found: re.Match[str]) -> str:
        display = "inline" if found[2] == "(" else "block"
        return convert(html.unescape(found[3]), display=display)

    return _FORMULA.sub(formula, content)
