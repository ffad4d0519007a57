"""Show Python sessions as they are printed: outputs apart from code, with empty lines instead of doctest's marker."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page with its sessions marked as such, without markers and without the empty line at their end."""
    sessions = markdown.replace("```python\n>>> ", "```pycon\n>>> ")
    return sessions.replace("<BLANKLINE>", "").replace("\n\n```\n", "\n```\n")
