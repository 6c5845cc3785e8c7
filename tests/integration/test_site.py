"""The documents as a site (docs/site): every document is a page, every link and anchor leads somewhere, nothing comes from
elsewhere; in headless Chromium nothing is cut at a phone's width, and the search finds pages by words of their text."""

import html.parser
import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DEADLINE, wait_for

import chromium

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("markdown", reason="there is no python3-markdown (tools/install-deps site)")
sys.path.insert(0, str(ROOT / "docs" / "site"))
import markdown_page  # noqa: E402

browsers = pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here (Debian package chromium)")


def make(folder, status=0):
    done = subprocess.run([sys.executable, ROOT / "docs/site/make_site.py", folder], capture_output=True, text=True, timeout=10 * DEADLINE)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    make(folder)
    return folder


class Reader(html.parser.HTMLParser):
    """Anchors, links and what is loaded, of one page; elements that are not closed in order are counted."""

    EMPTY = {"meta", "link", "img", "input", "br", "hr", "wbr"}

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self.open, self.crossed = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors += [of["id"]] if "id" in of else []
        self.links += [of["href"]] if tag == "a" else []
        self.loaded += [of[key] for key in ("src", "href") if key in of and tag != "a"]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)


@pytest.fixture(scope="module")
def pages(site):
    return {str(file.relative_to(site)): Reader(file.read_text()) for file in sorted(site.rglob("*.html"))}


def test_every_document_is_a_page_in_the_menu(site, pages):
    documents = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    expected = {"index.html" if name == "README.md" else re.sub(r"\.md$", ".html", name) for name in documents}
    expected |= {f"reference/{name}.html" for name in ("coppice.1", "coppiced.8", "coppice-lease.8", "coppice-mpi.1", "coppice.conf.5")}
    assert expected <= set(pages) and all(name in expected or name.startswith("files/") or not name.count(".") == 1 for name in pages)
    assert expected <= {posixpath.normpath(link) for link in pages["index.html"].links if not re.match(r"\w+:|#", link)}


def test_pages_are_whole(site, pages):
    for name, page in pages.items():
        assert page.open == [] and page.crossed == [], name
        assert len(page.anchors) == len(set(page.anchors)), name


def test_every_link_leads_somewhere(site, pages):
    for name, page in pages.items():
        for link in [*page.links, *page.loaded]:
            if re.match(r"(https?|data|mailto):", link):
                assert link not in page.loaded or link == "data:,", f"{name} loads {link}"
                continue
            file, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), file)) if file else name
            assert (site / target).is_file(), f"{name}: {link}"
            assert not anchor or anchor in pages[target].anchors, f"{name}: {link}"


def test_headings_and_code_of_documents_are_on_their_pages(site):
    for path in (ROOT / "docs").rglob("*.md"):
        name = "index" if path.name == "README.md" else path.relative_to(ROOT / "docs").with_suffix("")
        text = path.read_text()
        shown = (site / f"{name}.html").read_text()
        body = re.search(r'<main id="text">(.*)</main>', shown, re.S)[1]
        prose = re.sub(r"^( *)```.*?\n\1```$", "", text, flags=re.M | re.S)
        assert len(re.findall(r"<h[1-6][ >]", body)) == len(re.findall(r"^#+ ", prose, re.M)), path
        assert body.count("<pre") >= len(re.findall(r"^ *```", text, re.M)) // 2, path
        assert "```" not in re.sub(r"<pre.*?</pre>|<code>.*?</code>", "", body, flags=re.S), path
        assert body.count("<table>") == len(re.findall(r"^\|[ :]*-[-:| ]*\|$", prose, re.M)), path


def test_a_folder_of_somebody_is_not_emptied(tmp_path):
    (tmp_path / "letter").write_text("mine")
    assert "expected a new or empty folder" in make(tmp_path, status=1)
    assert (tmp_path / "letter").read_text() == "mine"


def test_made_twice_it_is_the_same(site, tmp_path):
    for _ in range(2):
        make(tmp_path / "again")
    files = {file.relative_to(site): file.read_bytes() for file in site.rglob("*") if file.is_file()}
    assert files == {file.relative_to(tmp_path / "again"): file.read_bytes() for file in (tmp_path / "again").rglob("*") if file.is_file()}


@pytest.mark.parametrize("text,parts", [
    ("a\n- b\n  c\n- d", ["<p>a</p>", "<li>b\nc</li>", "<li>d</li>"]),
    ("1. a\n\n   ```c\n   x  < y;\n   ```\n\n2. b", ["<pre", "x  &lt; y;", "<p>b</p>"]),
    ("- a\n  - b\n    c\n- d", ["<li>a<ul>\n<li>b\nc</li>\n</ul>\n</li>\n<li>d</li>"]),
    ("```sh not-run=root\n# a\n```", ['<code class="language-sh"># a\n</code>']),
    ("| a | b |\n|---|---|\n| `x \\| y` | z |", ["<code>x | y</code>", "<td>z</td>"]),
    ("## A `b_c`, d\n\n## A b", ['id="a-b_c-d"', 'id="a-b"']),
    ("    $ a\n\n    b", ["<code>$ a\n\nb\n</code>"]),
])
def test_markdown_becomes_html(text, parts):
    made = re.sub(r"(?<=>)\n(?=</?[uo]l)", "", markdown_page.to_html(text)[0])
    for part in parts:
        assert part in made or part in markdown_page.to_html(text)[0]


def test_manual_source_becomes_html():
    made, heads = markdown_page.manual_to_html("a(1)\n\n# SOME TITLE\n\n*b_c* _D_[=_E_]\n\tF *g*\n\th <i>.\n\n```\n*x*\n\ny\n```\n")
    assert "<dt><code>b_c</code> <i>D</i>[=<i>E</i>]</dt><dd>F <code>g</code> h &lt;i&gt;.</dd>" in made
    assert "<code>*x*\n\ny\n</code>" in made and heads[1:] == [(2, "some-title", "Some title")]


# ---- in a browser


@pytest.fixture(scope="module")
def browser():
    one = chromium.Chromium()
    yield one
    one.close()


CUT = """[...document.querySelectorAll("body *")].filter((one) => {
	if (one.getBoundingClientRect().right <= innerWidth + 1 || one.matches(".skip"))
		return false;
	for (let outer = one.parentElement; outer; outer = outer.parentElement)
		if (/auto|scroll/.test(getComputedStyle(outer).overflowX) && outer.getBoundingClientRect().right <= innerWidth + 1)
			return false;
	return true;
}).map((one) => one.tagName + ": " + one.textContent.slice(0, 60))"""


@browsers
def test_nothing_is_cut_at_a_phones_width(site, pages, browser):
    for number, name in enumerate(pages):
        browser.open((site / name).as_uri(), 320, 700, dark=number % 2 == 1)
        assert browser.run("document.documentElement.scrollWidth") == 320, name
        assert browser.run(CUT) == [], name
        assert browser.complaints() == [], name


@browsers
def test_pages_are_light_and_dark(site, browser):
    shades = []
    for dark in (False, True):
        browser.open((site / "index.html").as_uri(), 1200, 800, dark=dark)
        shades.append([int(browser.run(f'getComputedStyle(document.body).{name}.match(/\\d+/)[0]')) for name in ("backgroundColor", "color")])
    assert shades[0][0] > 200 > 60 > shades[0][1] and shades[1][0] < 60 < 200 < shades[1][1]


@browsers
def test_menu_opens_on_a_phone_and_is_there_on_a_desk(site, browser):
    height = 'document.querySelector("nav").getBoundingClientRect().height'
    browser.open((site / "how-to/backup.html").as_uri(), 320, 700)
    assert browser.run(height) == 0
    browser.run('document.querySelector("header label").click()')
    assert browser.run(height) > 700
    browser.open((site / "how-to/backup.html").as_uri(), 1200, 800)
    assert browser.run(height) > 500 and browser.run('getComputedStyle(document.querySelector("header label")).display') == "none"


def look_for(browser, text):
    """[(address, text)] of what the search shows."""
    browser.run("document.getElementById('words').focus()")
    wait_for(lambda: browser.run("window.searchIndex !== undefined"), "the index")
    browser.run(f"document.getElementById('words').value = {json.dumps(text)}")
    browser.run("document.getElementById('words').dispatchEvent(new Event('input'))")
    return browser.run("[...document.querySelectorAll('#found li a')].map((one) => [one.href, one.parentElement.innerText])")


@browsers
def test_search_finds_pages_by_words_of_their_text(site, browser):
    browser.open((site / "how-to/backup.html").as_uri(), 320, 700)
    for text, page in (("least_propensity 0.004", "reference/options"), ("coppice ctl backup", "how-to/backup"),
                       ("clock_tolerance", "reference/coppice.conf.5"), ("Rollback PREDECESSOR", "reference/protocol"),
                       ("DESTDIR", "how-to/install")):
        assert any(f"/{page}.html" in address for address, _ in look_for(browser, text)), text
    assert look_for(browser, "no-such-word-anywhere") == []
    assert browser.run("document.getElementById('found').innerText") == "Nothing has all of these words."
    address, _ = look_for(browser, "rollback predecessor")[0]
    browser.run("document.getElementById('search').requestSubmit()")
    wait_for(lambda: browser.run("location.href") == address, "the first place that was found")
    assert browser.complaints() == []
