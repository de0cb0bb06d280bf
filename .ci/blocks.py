#!/usr/bin/env python3
"""Checks the generated blocks of documents against the stored runs in results/, or writes them.

Usage: blocks.py NETDYNO [--write]

A block lies between `<!-- NAME:begin netdyno COMMAND -->` and `<!-- NAME:end -->` and holds what COMMAND prints. COMMAND may end
with `| rows NAME..`, which keeps the headline and these rows of the first table. Pictures that COMMAND draws (`-o FILE`,
`--picture FILE`, relative to the root) are checked, too; a block of `netdyno plot` is a link to its picture. The check fails if
a block or a picture differs from its run, if a file in results/ is not used, if it does not reproduce its stored verdicts, or
if a workload has two runs.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?P<begin><!-- (?P<name>\w+):begin netdyno (?P<command>[^\n]*?) -->\n)(?P<text>.*?)(?P<end>\n<!-- (?P=name):end -->)", re.S)


def output(netdyno, arguments):
    """What netdyno prints for the arguments."""
    done = subprocess.run([netdyno, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"netdyno {shlex.join(arguments)} failed with {done.returncode}")
    return done.stdout


def expanded(words):
    """The words with the patterns of files in results/ replaced by the files."""
    for word in words:
        if word.startswith("results/") and "*" in word:
            yield from sorted(map(str, Path().glob(word)))
        else:
            yield word


def rows(text, names):
    """The headline, the header and the named rows of the first table, in the table's order."""
    headline, table = text.split("\n\n")[:2]
    header, body = table.split("\n")[:2], table.split("\n")[2:]
    kept = [row for row in body if row.strip("| ").split(" ")[0] in names]
    if len(kept) != len(names):
        sys.exit(f"the table has {len(kept)} of the rows {' '.join(names)}")
    return "\n".join([headline, "", *header, *kept])


def drawn(netdyno, arguments, folder):
    """What netdyno prints, and the pictures that it draws into the folder, by the files that the arguments name."""
    arguments, pictures = list(arguments), {}
    for at, option in enumerate(arguments[:-1]):
        if option in ("-o", "--picture"):
            picture = folder / Path(arguments[at + 1]).name
            pictures[arguments[at + 1]], arguments[at + 1] = picture, str(picture)
    text = output(netdyno, arguments)
    return text, {name: picture.read_bytes() for name, picture in pictures.items()}


def generated(netdyno, block, folder):
    """The text of a block, its pictures, and the files that it comes from."""
    command, _, kept = block["command"].partition(" | rows ")
    arguments = list(expanded(shlex.split(command)))
    text, pictures = drawn(netdyno, arguments, folder)
    files = {word for word in arguments if word.startswith("results/")}
    if arguments[0] == "plot":
        text = block["text"]
    return (rows(text, kept.split()) if kept else text).strip("\n"), pictures, files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("netdyno", help="path of the program")
    parser.add_argument("--write", action="store_true", help="write the blocks instead of checking them")
    options = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files", "*.md"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    findings, used, blocks = [], set(), 0
    for name in tracked:
        document = Path(name)
        text = document.read_text()
        new = text
        for match in BLOCK.finditer(text):
            with tempfile.TemporaryDirectory() as folder:
                block, pictures, files = generated(options.netdyno, match, Path(folder))
            used |= files
            blocks += 1
            for picture, content in pictures.items():
                if not Path(picture).is_file() or Path(picture).read_bytes() != content:
                    findings.append(f"{picture}: differs from {' '.join(sorted(files))}")
                    if options.write:
                        Path(picture).write_bytes(content)
            if block != match["text"]:
                findings.append(f"{name}: the block {match['name']} differs from {' '.join(sorted(files))}")
                new = new.replace(match[0], match["begin"] + block + match["end"])
        if options.write and new != text:
            document.write_text(new)
    if options.write:
        print("\n".join([*findings, f"{len(findings)} blocks and pictures rewritten; {blocks} blocks in all"]))
        return 0
    for file in sorted(map(str, Path("results").glob("**/*.netdyno"))):
        if file not in used:
            findings.append(f"{file}: no document uses it")
        replayed = subprocess.run([options.netdyno, "replay", file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if replayed.returncode != 0:
            findings.append(f"{file}: {replayed.stdout.strip()}")
        workload = json.loads(output(options.netdyno, ["show", file, "--format", "json"]))["run"]["workload"]
        if Path(file).parent == Path("results") and Path(file).stem != workload:
            findings.append(f"{file}: a run of {workload}; results/ has one run per workload, named after it")
    print("\n".join(findings) or f"{blocks} blocks agree with their runs")
    if findings:
        print(f"Remedy: {sys.argv[0]} {options.netdyno} --write, or replace the run.")
    return len(findings) > 0


if __name__ == "__main__":
    sys.exit(main())
