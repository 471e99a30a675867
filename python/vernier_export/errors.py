import sys


class ExportError(Exception):
    """What ends the export. One line: what was expected, what was found, what to do."""


def first_line(error):
    """The first line of an exception's text that says something, or the name of its class."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def import_torch():
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ExportError(
            f"{sys.executable} has no PyTorch ({first_line(error)}); choose one that has with "
            "--python, or install it: pip install torch"
        ) from error


def similar(name, names):
    """The end of a line that says there is no such name: those that look like it."""
    import difflib

    close = difflib.get_close_matches(name, names, 3)
    return f"; did you mean {', '.join(close)}?" if close else ""
