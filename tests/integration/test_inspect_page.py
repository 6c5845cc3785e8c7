"""The page of served and replayed models (inspect --view html): what is on it, that it is well-formed and bounded, and that
Chromium draws it without complaint."""

import json
import re
from html.parser import HTMLParser

import pytest
from bandit_logs import coppice, replay
from conftest import model
import test_refit
from test_feature_names import NAMES, PEOPLE, objects, teach, write_log

import chromium

EMPTY = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """The texts of a page by the element that they stand in; every element must end where it should."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if data.strip() and self.open[-1] not in ("script", "style"):
            self.texts.append((self.open[-1], data))

    def of(self, tag):
        return [text for t, text in self.texts if t == tag]


def page_of(path, *args):
    text = coppice("inspect", path, "--view", "html", *args)[0]
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")  # all is in it
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return text, Page(text), json.loads(found.group(1))["trees"] if found else []


def write_csv(path, names=("price", "age", "distance"), count=3000):
    """What is best depends on the first two columns, and on the product of the last with itself."""
    with open(path, "w") as log:
        log.write(",".join(names) + ",action,probability,cost\n")
        for i in range(count):
            x = [((i * k) % 101) / 50 - 1 for k in range(3, 3 + 2 * len(names), 2)]
            action = i % 3
            cost = int((x[0] > 0) == (action == 0)) if action < 2 else int(abs(x[-1]) > 0.5)
            log.write(",".join(f"{v:.3f}" for v in x) + f",{action},0.3333,{cost}\n")
    return path


def checkpoint(one):
    one.stop()
    return max(one.state.glob("*.checkpoint"))


def test_page_of_a_replayed_ensemble(tmp_path):
    saved = tmp_path / "a.model"
    replay(write_csv(tmp_path / "log.csv"), "--save", saved, format="csv")
    text, page, trees = page_of(saved)
    assert {"price", "age", "distance", "constant"} <= set(page.of("td"))
    assert any(re.fullmatch(r"(price|age|distance)\*(price|age|distance)", name) for name in page.of("td"))
    assert page.of("h4")[:3] == ["arm 0", "arm 1", "arm 2"]
    assert {"linear", "trees", "quadratic", "forest"} <= set(page.of("td"))
    assert any(re.fullmatch(r"\d+ trees, \d+ leaves", kind) for kind in page.of("td"))
    assert any("left out" in p for p in page.of("p"))  # of the products
    assert {t["name"].split()[0] for t in trees} == {"trees", "forest"}
    oblique = next(t for t in trees if t["name"] == "trees 0")
    assert set(oblique["names"].values()) <= {"price", "age", "distance"} and oblique["nodes"][0]["w"]
    grown = next(t for t in trees if t["name"] == "forest 0")
    assert re.match(r"(price|age|distance) ≥ ", grown["nodes"][0]["y"])
    assert all(re.match(r"arm \d \(", leaf["v"]) for leaf in oblique["leaves"] + grown["leaves"])


def test_leaves_favour_the_arm_that_is_best(tmp_path):
    log, saved = tmp_path / "log.csv", tmp_path / "a.model"
    log.write_text("x,action,probability,cost\n" + "".join(
        f"{(i % 7) / 7},{i % 3},0.3333,{int(i % 3 != 2)}\n" for i in range(3000)))
    replay(log, "--learner", "dgt", "--height", "2", "--save", saved, format="csv")
    assert set(re.findall(r"leaf \d: (arm \d)", coppice("inspect", saved, "--tree", "0")[0])) == {"arm 2"}
    assert {leaf["v"][:5] for leaf in page_of(saved)[2][0]["leaves"]} == {"arm 2"}


def test_page_of_all_models_of_a_checkpoint(daemon):
    text = model("mix", **dict(features=0, bits=10)) + model("tree", "dgt", features=0, bits=10)
    text += model("price", "value", features=2, trees=2) + model("dense")
    one = daemon(text)
    client = one.client()
    for name in ("mix", "tree"):
        teach(client, objects, name=name)
    for i in range(50):
        action = client.decide("price", i, [i % 5, 1])
        client.feedback("price", i, [abs(y - 0.9) for y in action["probe"]])
    path = checkpoint(one)
    _, page, trees = page_of(path)
    assert page.of("h2")[:4] == ["mix", "tree", "price", "dense"]
    assert NAMES[objects] & set(page.of("td"))
    assert {"mix: trees 0", "mix: forest 0", "tree: dgt 0", "price: trees 0", "dense: trees 1"} <= {t["name"] for t in trees}
    sparse = next(t for t in trees if t["name"] == "tree: dgt 0")
    assert set(sparse["names"].values()) <= NAMES[objects] and sparse["nodes"][0]["w"]
    _, page, trees = page_of(path, "--model", "price", "--tree", "1", "--top", "1")
    assert page.of("h2")[0] == "price" and [t["name"] for t in trees] == ["price: trees 1"]
    assert len([td for td in page.of("td") if td in ("x0", "x1", "constant")]) == 1
    assert "no tree 2" in coppice("inspect", path, "--view", "html", "--model", "price", "--tree", "2", status=1)[1]
    assert "no model 'x'" in coppice("inspect", path, "--view", "html", "--model", "x", status=1)[1]
    assert "coppice train" in coppice("inspect", path, "--view", "dot", status=1)[1]


def test_page_draws_the_trees_of_a_refit(daemon):
    one = daemon(test_refit.refit_model())
    client = one.client()
    test_refit.teach(client, 3000)
    client.ok("refit", "m")
    test_refit.ended(client)
    client.ok("promote", "m")
    _, page, trees = page_of(checkpoint(one))
    assert "trees of a batch fit" in page.of("td")
    tree = next(t for t in trees if t["name"] == "m: refit 0")
    assert {leaf["v"][:5] for leaf in tree["leaves"]} == {"arm 0", "arm 1", "arm 2"}
    left = next(leaf for leaf in tree["leaves"] if leaf["v"].startswith("arm 0"))
    assert float(left["v"][7:-1]) < 0  # a loss turned round


def test_page_names_products_of_hashed_features(tmp_path):
    saved = tmp_path / "a.model"
    replay(write_log(tmp_path / "log.json", 900), "--features", "hashed", "--bits", "12", "--save", saved, format="dsjson")
    _, page, trees = page_of(saved)
    products = {f"User^name{p}*Item^id{k}" for p in PEOPLE for k in range(3)}
    shown = {name for td in page.of("td") for name in td.split(" | ")}
    assert len(products & shown) >= 6 and "product" not in shown
    assert {t["name"].split()[0] for t in trees} == {"trees", "leaves"}
    assert any(leaf["v"].startswith("Item^id") for t in trees if t["name"] == "leaves 8" for leaf in t["leaves"])


def test_page_takes_given_names_and_keeps_them_texts(daemon, tmp_path):
    one = daemon(model(features=2))
    teach(one.client(), lambda i: [i % 7, i % 3])
    path = checkpoint(one)
    names = tmp_path / "names"
    names.write_text("<script>alert(1)</script>\n\"&'\x1b[2J\n")
    text, page, trees = page_of(path, "--names", names)
    assert "<script>alert(1)</script>" in page.of("td") and "<script>alert" not in text
    assert any("\\x1b" in td for td in page.of("td")) and "\x1b" not in text
    assert "<script>alert(1)</script>" in trees[0]["names"].values()
    names.write_text("one\n")
    assert "1 names, expected 2" in coppice("inspect", path, "--view", "html", "--names", names, status=1)[1]


@pytest.mark.parametrize("shape", [dict(arms=300, features=200, height=4, trees=4), dict(features=0, bits=16, height=6),
                                   dict(learner="dgt", arms=50, features=300, height=10, trees=None)])
def test_page_of_a_large_model_is_bounded(daemon, shape):
    one = daemon(model(**shape))
    client = one.client()
    for i in range(30):
        x = {f"name{i}-{k}": 1 for k in range(100)} if shape["features"] == 0 else [(i * k) % 7 for k in range(shape["features"])]
        client.decide("m", i, x)
        client.feedback("m", i, i % 2)
    text, page, trees = page_of(checkpoint(one))
    assert trees and len(text) < 1_500_000
    if shape.get("arms") == 300:
        assert any("more arms are left out" in p for p in page.of("p"))
        assert max(len(re.findall("<h4>", part)) for part in text.split("<h3>")) <= 24


@pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here (Debian package chromium)")
def test_page_is_drawn_without_complaint_or_overflow(tmp_path):
    saved, path = tmp_path / "a.model", tmp_path / "a.html"
    replay(write_csv(tmp_path / "log.csv", ("price" * 30, "age", "distance")), "--save", saved, format="csv")
    coppice("inspect", saved, "--view", "html", "--out", path)
    browser = chromium.Chromium()
    try:
        for size in ((1280, 900), (390, 844)):
            for dark in (False, True):
                browser.open(path.as_uri(), *size, dark=dark)
                assert browser.run("document.querySelectorAll('[role=treeitem]').length") > 1
                assert browser.run("document.documentElement.scrollWidth") <= size[0]
                browser.run("(() => { const t = document.getElementById('tree'); t.value = t.options.length - 1;"
                            "t.dispatchEvent(new Event('change')); })()")
                assert browser.run("document.querySelector('svg').getAttribute('aria-label')") == "forest 1"
                assert browser.run("document.documentElement.scrollWidth") <= size[0]
                light = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
                assert (light < 80) == dark and browser.complaints() == []
    finally:
        browser.close()
