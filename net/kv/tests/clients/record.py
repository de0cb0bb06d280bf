"""Writes the counts of a complete run to the block `clients` of a document: `record.py DOCUMENT TABLE`."""

import datetime
import re
import sys
from pathlib import Path

document, rows = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8").rstrip()
date = datetime.datetime.now(datetime.UTC).date()
table = f"Run on {date}.\n\n| suite | protocol | passed | skipped |\n|---|---|---|---|\n{rows}"
block = re.compile(r"(<!-- clients:begin .*? -->\n).*?(<!-- clients:end -->)", re.S)
text, count = block.subn(lambda found: f"{found[1]}{table}\n{found[2]}", document.read_text(encoding="utf-8"))
if count != 1:
    sys.exit(f"{document} has {count} blocks `clients` instead of one")
document.write_text(text, encoding="utf-8")
