class ExportError(Exception):
    """What ends the export. One line: what was expected, what was found, what to do."""


def first_line(error):
    """The first line of an exception's text, or the name of its class when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
