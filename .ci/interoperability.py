"""Reads the report of a run against our own stack, and fails if a pair with it failed."""

import json
import sys

PAIRS_MIN = 30

cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if "netdyno" in cell["label"]]
bad = [cell for cell in cells if cell["status"] != "ok"]
for cell in bad:
    print(cell["label"], cell["status"], cell.get("reason") or "")
print(f"{len(cells) - len(bad)} of {len(cells)} pairs work")
sys.exit(bool(bad) or len(cells) < PAIRS_MIN)
