"""Show outputs of examples as they are printed: with empty lines instead of doctest's marker for them."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page without the markers, and without the empty line that ends an example."""
    return markdown.replace("<BLANKLINE>", "").replace("\n\n```\n", "\n```\n")
