"""The HTML view of trained models in headless Chromium: drawn without complaint, by keyboard and by touch, on a wide screen
and on a phone's."""

import os
import subprocess

import pytest

import chromium

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here (Debian package chromium)")

WIDE, PHONE = (1280, 900), (390, 844)
SHAPES = ("axis", "oblique", "values", "linear", "softmax", "leaf", "deep", "forest", "boosted", "hostile", "bare")


@pytest.fixture(scope="module")
def browser():
    one = chromium.Chromium()
    yield one
    one.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def page(shape):
        path = folder / f"{shape}.html"
        if not path.exists():
            path.write_bytes(subprocess.run([os.environ["TRAINED_PRINT"], shape, "html"], check=True, stdout=subprocess.PIPE).stdout)
        return path.as_uri()
    return page


def focused(browser):
    """What has the focus: its place in the tree, its label and whether its ring is drawn."""
    return browser.run("""(() => { const e = document.activeElement, card = e.querySelector('.card');
        return card && { place: Number(e.dataset.place), label: e.getAttribute('aria-label'), open: e.getAttribute('aria-expanded'),
                         ring: e.matches(':focus-visible') && parseFloat(getComputedStyle(card).strokeWidth) >= 3,
                         seen: (() => { const a = card.getBoundingClientRect(), b = document.getElementById('scroll').getBoundingClientRect();
                             return a.top >= b.top - 1 && a.bottom <= b.bottom + 1 && a.left >= b.left - 1; })() }; })()""")


def into_tree(browser):
    """Tab, from the button before the picture."""
    browser.run("document.getElementById([...document.querySelectorAll('.bar button')].filter((b) => !b.hidden).pop().id).focus()")
    browser.press("Tab")
    return focused(browser)


def items(browser):
    return browser.run("document.querySelectorAll('[role=treeitem]').length")


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("size", (WIDE, PHONE), ids=("wide", "phone"))
@pytest.mark.parametrize("shape", SHAPES)
def test_page_is_drawn_without_complaint_or_overflow(browser, pages, shape, size, dark):
    browser.open(pages(shape), *size, dark=dark)
    assert items(browser) >= 1
    assert browser.run("document.documentElement.scrollWidth") <= size[0]
    browser.run("document.getElementById('open').click()")
    browser.run("document.querySelector('details').open = true")
    assert browser.run("document.documentElement.scrollWidth") <= size[0]
    light = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (light < 80) == dark
    assert browser.complaints() == []


def test_page_roles_say_what_the_tree_is(browser, pages):
    browser.open(pages("axis"), *WIDE)
    assert browser.run("document.querySelectorAll('[role=tree]').length") == 1
    assert browser.run("document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length") == 1
    root = browser.run("""(() => { const e = document.querySelector('[data-place="0"]');
        return ['aria-level', 'aria-expanded', 'aria-selected', 'aria-setsize'].map((name) => e.getAttribute(name)); })()""")
    assert root == ["1", "true", "true", "1"]
    names = browser.run("""[...document.querySelectorAll('[role=treeitem]')].map((e) => e.getAttribute('aria-label'))""")
    assert all(names) and "rows" in names[0] and names[1].startswith("no: ")
    assert browser.run("[...document.querySelectorAll('button, select')].every((e) => (e.textContent || e.ariaLabel).trim())")


@pytest.mark.parametrize("size", (WIDE, PHONE), ids=("wide", "phone"))
def test_arrow_keys_move_through_the_tree(browser, pages, size):
    browser.open(pages("oblique"), *size)
    at = into_tree(browser)
    assert at["place"] == 0 and at["ring"] and at["seen"]
    browser.press("ArrowRight")  # it is open: to its first child
    first = focused(browser)
    assert first["label"].startswith("no: ") and first["ring"] and first["seen"]
    browser.press("ArrowLeft")  # open: closes
    assert focused(browser)["open"] == "false" and focused(browser)["place"] == first["place"]
    few = items(browser)
    browser.press("ArrowRight")
    assert focused(browser)["open"] == "true" and items(browser) == few + 2
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")  # closed: to the parent
    assert focused(browser)["place"] == 0
    browser.press("End")
    last = focused(browser)
    assert last["place"] != 0 and last["ring"] and last["seen"]
    browser.press("Home")
    assert focused(browser)["place"] == 0
    browser.press("*")
    assert items(browser) > few
    seen = set()
    for _ in range(items(browser) - 1):
        browser.press("ArrowDown")
        at = focused(browser)
        assert at["ring"] and at["seen"], at
        seen.add(at["place"])
    assert len(seen) == items(browser) - 1 and min(seen) < 0
    browser.press("ArrowUp")
    assert focused(browser)["place"] != at["place"]
    assert browser.complaints() == []


def test_enter_closes_and_the_panel_follows(browser, pages):
    browser.open(pages("axis"), *WIDE)
    into_tree(browser)
    browser.press("Enter")
    assert items(browser) == 1 and focused(browser)["open"] == "false"
    browser.press(" ")
    assert items(browser) > 1
    browser.press("ArrowDown")
    place = focused(browser)["place"]
    assert f"Node {place}" in browser.run("document.getElementById('detail').textContent")
    assert "How rows get here" in browser.run("document.getElementById('detail').textContent")


def centre_of(browser, selector):
    return browser.run(f"(() => {{ const b = document.querySelector('{selector}').getBoundingClientRect();"
                       "return [b.x + b.width / 2, b.y + b.height / 2]; })()")


def test_touch_chooses_and_opens_on_a_phone(browser, pages):
    browser.open(pages("axis"), *PHONE)
    before = items(browser)
    browser.tap(*centre_of(browser, "[data-place=\"1\"] .card"))
    assert browser.run("document.querySelector('[aria-selected=true]').dataset.place") == "1"
    assert items(browser) == before
    browser.tap(*centre_of(browser, "[data-place=\"1\"] .toggle"))
    assert items(browser) < before
    width, height = browser.run("(() => { const b = document.querySelector('.toggle rect').getBoundingClientRect();"
                                "return [b.width, b.height]; })()")
    assert width >= 24 and height >= 24  # WCAG 2.2, target size
    assert browser.complaints() == []


def test_mouse_pans_the_picture(browser, pages):
    browser.open(pages("deep"), *WIDE)
    browser.run("document.getElementById('open').click()")
    before = browser.run("[document.getElementById('scroll').scrollLeft, document.getElementById('scroll').scrollTop]")
    browser.drag(600, 400, 450, 250)
    after = browser.run("[document.getElementById('scroll').scrollLeft, document.getElementById('scroll').scrollTop]")
    assert after[0] == pytest.approx(before[0] + 150, abs=2) and after[1] == pytest.approx(before[1] + 150, abs=2)


def test_list_chooses_the_tree_of_a_forest(browser, pages):
    browser.open(pages("forest"), *WIDE)
    assert browser.run("document.getElementById('tree').options.length") == 30
    first = browser.run("document.querySelector('svg').outerHTML")
    browser.run("(() => { const t = document.getElementById('tree'); t.value = '7'; t.dispatchEvent(new Event('change')); })()")
    assert browser.run("document.querySelector('svg').getAttribute('aria-label')") == "tree 7"
    assert browser.run("document.querySelector('svg').outerHTML") != first
    browser.open(pages("axis"), *WIDE)
    assert not browser.run("document.getElementById('pick').checkVisibility()")


def test_names_stay_texts(browser, pages):
    browser.open(pages("hostile"), *WIDE)
    browser.run("document.getElementById('open').click()")
    assert browser.run("document.title") == "people.model"
    assert browser.run("document.querySelectorAll('img, i, b, script:not([id])').length - "
                       "document.querySelectorAll('.legend i, td i, .meter b').length") == 1  # the page's own script
    assert "<script>" in browser.run("document.getElementById('detail').textContent")
    assert browser.complaints() == []
