"""Prints a line of JSON per package of this environment, with its metadata and installed files."""

import importlib.metadata
import json

NAMED = {"homepage", "home-page", "source", "source code", "repository", "code", "github"}

for found in importlib.metadata.distributions():
    urls = [url.partition(",") for url in found.metadata.get_all("Project-URL") or []]
    places = [url.strip() for label, _, url in urls if label.strip().lower() in NAMED]
    home = found.metadata.get("Home-page")
    package = {
        "name": found.metadata["Name"],
        "version": found.version,
        "addresses": places + ([home] if home else []),
        "folder": str(found.locate_file("")),
        "files": [str(file) for file in found.files or []],
    }
    print(json.dumps(package))
