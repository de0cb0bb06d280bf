"""Checks a site that mdBook built: every internal link leads to a file and, with an anchor, to an element of that page.

Usage: check_links.py SITE DOCS. Also fails if a page of DOCS is not part of the site.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages that mdBook generates for itself, with links relative to other folders.
GENERATED = {"404.html", "toc.html"}
REFERENCES = {"a": "href", "img": "src", "link": "href", "script": "src"}


class Page(HTMLParser):
    """The references and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.references, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(value for name, value in attrs if name == "id" or (tag, name) == ("a", "name"))
        reference = attributes.get(REFERENCES.get(tag))
        if reference is not None:
            self.references.append(reference)


def broken_links(site):
    """Every broken reference, as text."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name in GENERATED:
            continue
        for reference in page.references:
            url = urlsplit(reference)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{path.relative_to(site)}: no file {reference}"
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: no anchor {reference}"


def missing_pages(site, docs):
    """Every page of `docs` that SUMMARY.md omits, as text."""
    for path in sorted(docs.rglob("*.md")):
        relative = path.relative_to(docs)
        name = "index.html" if path.name == "README.md" else path.with_suffix(".html").name
        if path.name != "SUMMARY.md" and not (site / relative.parent / name).is_file():
            yield f"{docs.name}/SUMMARY.md: no entry for {relative}"


def main():
    site, docs = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wrong = list(dict.fromkeys([*broken_links(site), *missing_pages(site, docs)]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(wrong)} broken links and missing pages")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
