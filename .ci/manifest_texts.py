#!/usr/bin/env python3
"""Writes the texts of TOML manifests as Markdown, one paragraph for each string, for a check of prose.

Usage: manifest_texts.py FOLDER MANIFEST..
"""

import sys
import tomllib
from pathlib import Path


def texts(value):
    """The strings with at least one space, in order."""
    if isinstance(value, str) and " " in value.strip():
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def main():
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        paragraphs = list(texts(tomllib.loads(Path(name).read_text())))
        (folder / (name.replace("/", "_") + ".md")).write_text("\n\n".join(paragraphs) + "\n")


if __name__ == "__main__":
    main()
