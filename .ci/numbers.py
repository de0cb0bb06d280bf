#!/usr/bin/env python3
"""Fails on a measured figure that is typed by hand into a document: a ratio or a throughput outside a generated block.

Usage: numbers.py DOCUMENT.. A generated block lies between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Code, published figures
(`<!-- published:begin -->`) and the rates of simulated links (Mbit/s) are not measurements of ours.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- (\w+):begin.*?-->.*?<!-- \1:end -->", re.S)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
FIGURES = [
    ("ratio", re.compile(r"\b\d+(?:\.\d+)?x\b")),
    ("ratio", re.compile(r"\b\d+(?:\.\d+)? times (?:as|more|less|fewer|faster|slower|the|that|its|lower|higher|larger|smaller)\b")),
    ("ratio", re.compile(r"\b\d+(?:\.\d+)? % (?:as|more|less|fewer|faster|slower|of the ceiling|lower|higher)\b")),
    ("throughput", re.compile(r"\b\d[\d.,]* ?[kMG]?B/s\b")),
    ("throughput", re.compile(r"\b\d[\d.,]* ?[kMG]/s\b")),
    ("throughput", re.compile(r"\b\d[\d.,]* (?:thousand |million )?(?:messages|requests|operations|ops|reads|packets)(?:/s| a second| per second)")),
]


def blanked(text, pattern):
    """The text without the matches, with the same lines."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def main():
    found = 0
    for name in sys.argv[1:]:
        text = blanked(blanked(Path(name).read_text(), BLOCK), CODE)
        for number, line in enumerate(text.split("\n"), 1):
            for kind, pattern in FIGURES:
                for match in pattern.finditer(line):
                    print(f"{name}:{number}: {kind} typed by hand: {match.group()}")
                    found += 1
    if found:
        print("Take the figure from a stored run: put it into a block that netdyno generates, or remove it.")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
