"""A preprocessor for mdBook that makes the links of docs/ valid on the site.

A page in docs/ may link to any file of the repository, but the site contains only docs/: links to other files lead to the
repository instead. mdBook also renders README.md as index.html without changing the links to it.
"""

import json
import posixpath
import re
import sys

# An inline link with a relative target: [text](target), [text](target#anchor).
LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
# Fenced blocks and code spans contain no links.
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.M | re.S)


def site_link(path, target, files):
    """The target of a link on the site, for a link of the page `path` (relative to docs/)."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if joined.startswith("../"):
        return files + joined.removeprefix("../")
    return re.sub(r"(^|/)README\.md$", r"\1index.md", target)


def rewrite(path, text, files):
    """The text of the page `path` with its links replaced."""
    parts = CODE.split(text)
    parts[::2] = [
        LINK.sub(lambda m: m[1] + site_link(path, m[2], files) + m[3], part) for part in parts[::2]
    ]
    return "".join(parts)


def visit(items, files):
    """Rewrites all chapters below `items`."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            path = chapter.get("source_path") or chapter.get("path")
            if path:
                chapter["content"] = rewrite(path, chapter["content"], files)
            visit(chapter["sub_items"], files)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    repository = context["config"]["output"]["html"]["git-repository-url"]
    visit(book["items"], f"{repository}/blob/main/")
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
