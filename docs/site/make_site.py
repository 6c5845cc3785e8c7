#!/usr/bin/env python3
"""The documents as a site of plain HTML that needs no server: docs/site/make_site.py FOLDER

Every document of docs is a page, README.md of docs the first one; so are the manual pages written by hand, and files of
the repository that a document links to. FOLDER is emptied first. A link that leads nowhere is an error.
"""

import html
import json
import os
import posixpath
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import markdown_page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INDEX = "docs/README.md"
MANUALS = ("coppiced.8", "coppice-lease.8", "coppice-mpi.1", "coppice.1", "coppice.conf.5")
SECTIONS = (("Tutorial", "tutorial/"), ("How-to", "how-to/"), ("Concepts", "concepts/"), ("Reference", "reference/"),
            ("Evidence", "evidence/"), ("Source", "contributing/"))
SOURCE = ("architecture.html", "glossary.html", "SECURITY.html", "CHANGELOG.html")  # pages beside the folders
REFERENCE = re.compile(r'(<(?:a|img)\b[^>]*?\b(?:href|src)=")([^"]*)(")')
NAMED = re.compile(r'(<a href="([^"#]*)(#[^"]*)?">)([\w./-]+\.md)(</a>)')
PICTURES = (".svg", ".png")


@dataclass
class Page:
    source: str  # from the repository's root
    address: str  # from the site's
    title: str = ""
    body: str = ""
    heads: list = field(default_factory=list)  # (level, anchor, text)


def address_of(source):
    """Where a file of the repository is in the site."""
    if source == INDEX:
        return "index.html"
    if source.startswith("docs/"):
        source = source.removeprefix("docs/")
    else:
        source = "files/" + source
    if source.endswith(PICTURES):
        return source
    return re.sub(r"\.(?:md|scd)$", "", source) + ".html"


def page_of(source):
    text, page = (ROOT / source).read_text(encoding="utf-8"), Page(source, address_of(source))
    if source.endswith(".md"):
        page.body, page.heads = markdown_page.to_html(text)
    elif source.endswith(".scd"):
        page.body, page.heads = markdown_page.manual_to_html(text)
    else:
        page.body = f'<h1>{source}</h1>\n<pre tabindex="0"><code>{html.escape(text, quote=False)}</code></pre>\n'
    page.title = page.heads[0][2] if page.heads else source
    return page


class Site:
    def __init__(self):
        self.pages, self.pictures, self.wrong = {}, set(), []
        documents = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
        for source in [*documents, *(f"docs/reference/{name}.scd" for name in MANUALS)]:
            self.add(source)

    def add(self, source):
        """Makes the page, and those that it links to."""
        if source not in self.pages:
            page = self.pages[source] = page_of(source)
            page.body = REFERENCE.sub(lambda match: match[1] + self.link(page, html.unescape(match[2])) + match[3], page.body)
            page.body = NAMED.sub(lambda match: self.named(page, match), page.body)

    def link(self, page, link):
        """The link of a document as that of its page."""
        file, mark, anchor = link.partition("#")
        if re.match(r"\w+:", link) or not file:
            return html.escape(link)
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), file))
        if not (ROOT / target).is_file():
            self.wrong.append(f"{page.source}: links to {link}, which is not there")
            return html.escape(link)
        if target.endswith(PICTURES):
            self.pictures.add(target)
        else:
            self.add(target)
        return html.escape(posixpath.relpath(address_of(target), posixpath.dirname(page.address) or ".") + mark + anchor)

    def named(self, page, match):
        """A link whose text is a file's name gets that page's title."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.address), html.unescape(match[2])))
        title = next((one.title for one in self.pages.values() if one.address == target), match[4])
        return match[1] + html.escape(title) + match[5]

    def check(self):
        """Anchors, once all pages are there."""
        anchors = {page.address: {anchor for _, anchor, _ in page.heads} for page in self.pages.values()}
        for page in self.pages.values():
            for _, link, _ in REFERENCE.findall(page.body):
                file, _, anchor = html.unescape(link).partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(page.address), file)) if file else page.address
                if anchor and not re.match(r"\w+:", link) and anchor not in anchors[target]:
                    self.wrong.append(f"{page.source}: links to {link}, where no such heading is")


def ordered(pages):
    """[(section, [page])], as the first page has them and then by name."""
    found = list(dict.fromkeys(re.findall(r'href="([^"#]+)', next(page for page in pages if page.address == "index.html").body)))
    place = {address: number for number, address in enumerate(found)}
    sections = []
    for title, folder in SECTIONS:
        mine = [page for page in pages if page.address.startswith(folder) or (title == "Source" and page.address in SOURCE)]
        sections.append((title, sorted(mine, key=lambda page: (place.get(page.address, len(place)), page.address))))
    return sections


def menu(page, sections, up):
    out = [f'<a href="{up}index.html"{" aria-current=page" * (page.address == "index.html")}>All documents</a>']
    for title, pages in sections:
        out.append(f"<h2>{title}</h2>\n<ul>")
        for one in pages:
            here = ' aria-current="page"' if one is page else ""
            out.append(f'<li><a href="{up}{one.address}"{here}>{html.escape(one.title)}</a></li>')
        out.append("</ul>")
    return "\n".join(out)


def on_this_page(page):
    heads = [(anchor, text) for level, anchor, text in page.heads if level == 2]
    if len(heads) < 4 or page.address == "index.html":
        return ""
    links = "".join(f'<li><a href="#{anchor}">{html.escape(text)}</a></li>' for anchor, text in heads)
    return f'<details class="heads"><summary>On this page</summary><ul>{links}</ul></details>\n'


def whole(page, sections, frame):
    up = "../" * page.address.count("/")
    body = re.sub(r'(<img\b[^>]*\bsrc="([^"]*)"[^>]*>)', r'<a class="picture" href="\2">\1</a>', page.body)
    body = re.sub(r"(</h1>\n?)", lambda match: match[1] + on_this_page(page), body, count=1)
    parts = {"TITLE": html.escape(page.title if page.address == "index.html" else f"{page.title} - coppice"), "UP": up,
             "MENU": menu(page, sections, up), "BODY": body}
    return re.sub(r"@(TITLE|UP|MENU|BODY)@", lambda match: parts[match[1]], frame)


def plain(text):
    text = re.sub(r"</?(?:a|code|em|i|strong|wbr)\b[^>]*>", "", text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def entries(page):
    """[address, title, heading, text] of each part of a page."""
    found = []
    for part in re.split(r"(?=<h[1-6])", page.body):
        head = re.match(r'<h([1-6])(?: id="([^"]*)")?>(.*?)</h\1>(.*)', part, re.S)
        if head:
            first = head[1] == "1"
            found.append([page.address + ("" if first else f"#{head[2]}"), page.title, "" if first else plain(head[3]), plain(head[4])])
    return found


def write(folder, name, text):
    Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text(text, encoding="utf-8")


def main(folder):
    site = Site()
    site.check()
    if site.wrong:
        sys.exit("\n".join(site.wrong))
    if os.path.exists(folder) and not os.path.exists(Path(folder, "site.css")) and os.listdir(folder):
        sys.exit(f"{folder}: expected a new or empty folder, or one with a site")
    shutil.rmtree(folder, ignore_errors=True)
    pages = list(site.pages.values())
    sections, frame = ordered(pages), (HERE / "frame.html").read_text(encoding="utf-8")
    for page in pages:
        write(folder, page.address, whole(page, sections, frame))
    for picture in site.pictures:
        target = Path(folder, address_of(picture))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, target)
    index = [entry for page in pages for entry in entries(page)]
    write(folder, "search-index.js", f"window.searchIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n")
    for name in ("site.css", "search.js"):
        write(folder, name, (HERE / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
