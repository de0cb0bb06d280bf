"""Reads the report of a run against our own stack and fails if a pair with our stack failed."""

import json
import sys

path, pairs = sys.argv[1], int(sys.argv[2])
cells = [cell for cell in json.load(open(path))["cells"] if "netdyno" in cell["label"]]
bad = [cell for cell in cells if cell["status"] != "ok"]
for cell in bad:
    print(cell["label"], cell["status"], cell.get("reason") or "")
print(f"{len(cells) - len(bad)} of {len(cells)} pairs passed")
sys.exit(bool(bad) or len(cells) < pairs)
