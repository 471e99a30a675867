"""Reads the C++ sources of a tree: which files there are, and what each includes."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(root, folders, suffixes=(".h", ".cpp")):
    """Paths relative to root, sorted."""
    found = (path for folder in folders for path in (root / folder).rglob("*"))
    return sorted(path.relative_to(root) for path in found if path.suffix in suffixes)


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))
