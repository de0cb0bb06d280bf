"""A pytest plugin that skips the tests in the list SKIPPED: lines of `PATTERN # reason`, where PATTERN matches the name
of a test or its name with its class."""

import fnmatch
import os
import re

import pytest


def listed() -> list[tuple[str, str]]:
    with open(os.environ["SKIPPED"], encoding="utf-8") as file:
        lines = [line.split(" # ", 1) for line in file if line.strip() and not line.startswith("#")]
    return [(pattern.strip(), reason.strip()) for pattern, reason in lines]


def pytest_collection_modifyitems(config, items):
    patterns = {pattern: [reason, 0] for pattern, reason in listed()}
    for item in items:
        name = re.sub(r"\[.*", "", item.name)
        names = (name, f"{item.cls.__name__}::{name}" if item.cls else name)
        for pattern, found in patterns.items():
            if any(fnmatch.fnmatchcase(name, pattern) for name in names):
                item.add_marker(pytest.mark.skip(reason=found[0]))
                found[1] += 1
    # Only some files of the suite may be run, and sync and asyncio use one list.
    unused = [pattern for pattern, found in patterns.items() if found[1] == 0]
    if unused:
        config.issue_config_time_warning(UserWarning(f"patterns without a test: {unused}"), stacklevel=2)
