"""A report's essentials for a notebook: its tables and its conclusion, without style sheets or scripts."""

from __future__ import annotations

from html import escape
from typing import Any, Union

# A text, or (text, tone).
Cell = Union[str, tuple[str, str]]

COLOURS = {"good": "#1a7f37", "fair": "#9a6700", "bad": "#cf222e"}
MOST_ROWS = 30  # shown of a table


def essentials(document: dict[str, Any]) -> str:
    title = document["title"]
    parts = [f"<h4>{escape(title)}</h4>"] if title else []
    parts += [SHOWN[block["kind"]](block) for block in document["blocks"]]
    return "<div>" + "\n".join(parts) + "</div>"


def cell(entry: Cell, tag: str = "td", align: str = "left") -> str:
    content, tone = (entry, "plain") if isinstance(entry, str) else entry
    styles = [f"text-align:{align}"]
    if tone in COLOURS:
        styles.append(f"color:{COLOURS[tone]}")
    if tone == "strong":
        styles.append("font-weight:bold")
    return f'<{tag} style="{";".join(styles)}">{escape(content)}</{tag}>'


def panel(block: dict[str, Any]) -> str:
    rows = [f"<tr>{cell((name, 'faint'))}{cell(value)}</tr>" for name, value in block["facts"]]
    return titled(block["title"], rows)


def table(block: dict[str, Any]) -> str:
    columns = [(each["title"], "left" if each["left"] else "right") for each in block["columns"]]
    head = "".join(cell((name, "strong"), "th", align) for name, align in columns)
    rows = [
        "<tr>" + "".join(cell(each, "td", align) for each, (_, align) in zip(row, columns)) + "</tr>"
        for row in block["rows"][:MOST_ROWS]
    ]
    left = len(block["rows"]) - MOST_ROWS
    note = f"{left} more rows" if left > 0 else block["note"]
    below = f"<p><small>{escape(note)}</small></p>" if note else ""
    return titled(block["title"], [f"<tr>{head}</tr>", *rows]) + below


def titled(title: str, rows: list[str]) -> str:
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{''.join(rows)}</table>"


def paragraph(block: dict[str, Any]) -> str:
    return "<p>" + cell(block["text"], "span") + "</p>"


def code(block: dict[str, Any]) -> str:
    return f"<pre>{escape(block['text'])}</pre>"


SHOWN = {"panel": panel, "table": table, "paragraph": paragraph, "code": code}
