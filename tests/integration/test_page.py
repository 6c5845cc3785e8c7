"""The page at `/` of the listener for HTTP: what it is made of, who may read by its cookie, and in headless Chromium what
is on it, at several widths, by keyboard, live."""

import concurrent.futures
import http.client
import json
import re
import shutil
import ssl
import time

import pytest
from conftest import DEADLINE, model, section, wait_for
from test_api import READER, SHOP, TLS, X, Api, bearer

import chromium

PARTS = ("/", "/page.css", "/page.js")
browsers = pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here (Debian package chromium)")


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"shop {SHOP} decide,feedback m\nreader {READER} read\none {READER}1 read n\n")
    path.chmod(0o600)
    return path


def raw(api, method, path, body=None, headers=None):
    """(status, headers, text)"""
    connection = api.connect()
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    got = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return got


def login(api, token):
    status, headers, text = raw(api, "POST", "/login", json.dumps({"token": token}), {"Content-Type": "application/json"})
    assert (status, text) == (204, "")
    cookie, *attributes = headers["Set-Cookie"].split("; ")
    return cookie, set(attributes)


def test_page_loads_nothing_but_its_own_parts_of_few_bytes(daemon):
    api = Api()
    daemon(api.section + model())
    got = {path: raw(api, "GET", path) for path in PARTS}
    assert [status for status, _, _ in got.values()] == [200, 200, 200]
    assert [headers["Content-Type"].split(";")[0] for _, headers, _ in got.values()] == ["text/html", "text/css", "text/javascript"]
    assert sum(len(text.encode()) for _, _, text in got.values()) <= 150_000
    for _, headers, text in got.values():
        assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-cache"
        assert re.findall(r"https?://[^\"' ]+", text) in ([], ["http://www.w3.org/2000/svg"])
    assert set(re.findall(r'(?:href|src)="([^"#]*)"', got["/"][2])) == {"data:,", "/page.css", "/page.js", "/"}
    assert raw(api, "HEAD", "/")[0] == 200 and raw(api, "GET", "/page.css/")[0] == 404
    assert raw(api, "POST", "/", "{}", {"Content-Type": "application/json"})[0] == 405


def test_page_is_shown_to_strangers_but_no_figure(daemon, tokens):
    api = Api(tokens=tokens)
    daemon(api.section + model() + model("n"))
    for path in PARTS:
        status, headers, text = raw(api, "GET", path)
        assert status == 200 and "Server" not in headers
    assert json.loads(raw(api, "GET", "/v1/session")[2]) == {"tokens": True}
    for path in ("/v1/models", "/v1/models/m", "/v1/models/m/history", "/v1/models/m/decision?id=a", "/v1/status"):
        api.problem(401, "no_token", "GET", path)
    kind = {"Content-Type": "application/json"}
    for body, status in (({"token": "wrong" * 5}, 401), ({"token": ""}, 401), ({"token": 1}, 400), ({}, 400), ([], 400)):
        got, headers, _ = raw(api, "POST", "/login", json.dumps(body), kind)
        assert got == status and "Set-Cookie" not in headers
    assert raw(api, "POST", "/login", json.dumps({"token": READER}), {"Content-Type": "text/plain"})[0] == 415
    for path in ("/login", "/logout"):  # strangers' bodies take no room
        api.problem(413, "too_large", "POST", path, json.dumps({"token": "x" * 2000}), kind)
    assert raw(api, "GET", "/login")[0] == 405


def test_cookie_reads_and_changes_nothing(daemon, tokens):
    api = Api(tokens=tokens)
    one = daemon(api.section + model() + model("n"))
    cookie, attributes = login(api, READER)
    assert attributes == {"Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"}
    assert READER not in cookie
    one.logged('event=page_login name="reader" done=yes')
    session = json.loads(raw(api, "GET", "/v1/session", headers={"Cookie": cookie})[2])
    assert session == {"tokens": True, "name": "reader", "rights": ["read"]}
    for path in ("/v1/models", "/v1/models/m", "/v1/models/m/history", "/v1/models/m/view", "/v1/models/m/decisions?prefix=a", "/v1/status", "/v1/version"):
        assert raw(api, "GET", path, headers={"Cookie": f"other=1; {cookie}"})[0] == 200, path
    shop, _ = login(api, SHOP)  # may decide by its token, not by its cookie
    for verb, body in (("decide", {"id": "u", "x": X}), ("feedback", {"id": "u", "loss": 0}), ("explain", {"x": X})):
        for who in (cookie, shop):
            api.problem(401, "no_token", "POST", f"/v1/models/m/{verb}", json.dumps(body),
                        {"Content-Type": "application/json", "Cookie": who})
    api.problem(403, "forbidden", "GET", "/v1/models/m", headers={"Cookie": shop})
    assert one.client().model()["decisions"] == 0


def test_cookie_of_tls_is_for_tls_alone(daemon, tokens, tmp_path):
    key = tmp_path / "server.key"
    shutil.copy(TLS / "server.key", key)
    key.chmod(0o600)
    api = Api(tokens=tokens, certificate=TLS / "server.crt", key=key)
    daemon(api.section + model() + model("n"))
    connection = http.client.HTTPSConnection("127.0.0.1", api.port, timeout=DEADLINE, context=ssl._create_unverified_context())
    connection.request("POST", "/login", json.dumps({"token": READER}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    assert answer.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Strict; Secure")
    connection.request("GET", "/v1/models", headers={"Cookie": answer.headers["Set-Cookie"].split(";")[0]})
    answer = connection.getresponse()
    assert answer.status == 200 and len(json.loads(answer.read())["models"]) == 2
    connection.close()


def test_cookie_of_a_token_for_one_model_reads_that_model(daemon, tokens):
    api = Api(tokens=tokens)
    daemon(api.section + model() + model("n"))
    cookie, _ = login(api, READER + "1")
    assert json.loads(raw(api, "GET", "/v1/session", headers={"Cookie": cookie})[2])["models"] == ["n"]
    assert raw(api, "GET", "/v1/models/n", headers={"Cookie": cookie})[0] == 200
    for path in ("/v1/models/m", "/v1/models", "/v1/status"):
        api.problem(403, "forbidden", "GET", path, headers={"Cookie": cookie})


def test_cookie_that_was_altered_or_whose_token_is_gone_is_refused(daemon, tokens):
    api = Api(tokens=tokens)
    one = daemon(api.section + model() + model("n"))
    cookie, _ = login(api, READER)
    name, end, signature = cookie.removeprefix("coppice=").split(".")
    later = str(int(end) + 1)
    for wrong in (f"shop.{end}.{signature}", f"{name}.{later}.{signature}", f"{name}.{end}.{signature[::-1]}",
                  f"{name}.{end}.{signature[:-1]}", f"{name}.{end}.", f"{name}.{signature}", signature, "", ".", "..", "." * 200,
                  "x" * 1000, READER):
        api.problem(401, "no_token", "GET", "/v1/models", headers={"Cookie": f"coppice={wrong}"})
    assert raw(api, "GET", "/v1/models", headers={"Cookie": cookie})[0] == 200
    tokens.write_text(f"reader {READER}2 read\n")  # another token of the same name
    one.client().ok("reload")
    api.problem(401, "no_token", "GET", "/v1/models", headers={"Cookie": cookie})
    status, headers, _ = raw(api, "POST", "/logout", "{}", {"Content-Type": "application/json"})
    assert status == 204 and headers["Set-Cookie"].startswith("coppice=; Path=/; Max-Age=0; ")


def test_history_adds_up_to_what_was_counted(daemon):
    api = Api()
    one = daemon(api.section + model(arm_names=None))
    client = one.client()
    for i in range(60):
        client.decide("m", i, X)
        if i % 3:
            client.feedback("m", i, i % 2)
    history = wait_for(lambda: (h := client.ok("history", "m")) and sum(h["decisions"]) == 60 and sum(h["losses"]) == 40 and h,
                       "the intervals of the last decision and of its loss to end")
    count = len(history["decisions"])
    assert history["model"] == "m" and history["interval"] == 1 and abs(history["began"] - time.time()) < 600
    assert {len(history[key]) for key in ("losses", "mean_loss", "effective_share")} == {count}
    assert sum(n * mean for n, mean in zip(history["losses"], history["mean_loss"]) if n) == pytest.approx(20)
    assert [sum(at) for at in zip(*(arm["decisions"] for arm in history["arms"]))] == history["decisions"]
    for n, share in zip(history["decisions"], history["effective_share"]):
        assert (share is None) == (n == 0) and (share is None or 0 < share <= 1 + 1e-9)
    assert api.ok("/v1/models/m/history")["arms"]
    durations, propensities = history["durations"], history["propensities"]
    assert durations["decide"]["count"] >= 60 and 0 < durations["decide"]["p50"] <= durations["decide"]["p99"]
    assert 0 < propensities["least"] <= 1 and 0 < propensities["effective_share"] <= 1
    assert one.client().error("history", "zz")["code"] == "unknown_model"


def test_decision_that_waits_is_explained_by_ids_of_both_kinds(daemon):
    api = Api()
    client = daemon(api.section + model()).client()
    client.decide("m", "17", X)
    client.decide("m", 17, [1, 2, 3])
    client.decide("m", "a b&c/ü", X)
    for query, id in (("id=17", "17"), ("number=17", 17), ("id=a%20b%26c%2F%C3%BC", "a b&c/ü")):
        got = api.ok(f"/v1/models/m/decision?{query}")
        assert got.pop("found") is True and got.pop("waits") is True
        assert got == {k: v for k, v in client.ok("explain", "m", {"id": id}).items()}
    for query in ("id=18", "number=18", "number=-9223372036854775808"):
        assert "no decision of this id" in api.problem(404, "unknown_decision", "GET", f"/v1/models/m/decision?{query}")
    assert client.model()["pending"] == 3


def test_view_shows_what_the_serving_model_has_learned(daemon, tmp_path):
    (tmp_path / "features").write_text("age\nhour\nvisits\n")
    (tmp_path / "arms").write_text("news\nsport\n<b>music</b>\n")
    api = Api()
    one = daemon(api.section + model(feature_names=str(tmp_path / "features"), arm_names=str(tmp_path / "arms")) +
                 model("s", features=0, bits=8) + model("v", learner="value") +
                 model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2))
    client = one.client()
    for i in range(200):
        a = client.decide("m", i, [i % 7, i % 5, i % 3])["a"]
        client.feedback("m", i, int(a != i % 3))
        a = client.decide("s", i, {f"user=u{i % 9}": 1, "<i>x</i>": 2})["a"]
        client.feedback("s", i, int(a != i % 3))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # of all models at once, several times each
        got = list(pool.map(lambda name: raw(api, "GET", f"/v1/models/{name}/view"), list("msvr") * 5))
    for status, headers, text in got:
        assert status == 200 and headers["Content-Type"].startswith("text/html")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "sandbox allow-scripts" in policy and "connect-src" not in policy
        assert "as it served at" in text and "<script src" not in text
    pages = {name: text for name, (_, _, text) in zip("msvr", got)}
    assert "age" in pages["m"] and "<h4>news</h4>" in pages["m"] and "&lt;b&gt;music" in pages["m"] and "<b>music" not in pages["m"]
    assert "user=u" in pages["s"] and "<i>x" not in pages["s"]
    assert raw(api, "HEAD", "/v1/models/m/view")[0] == 200
    assert api.problem(404, "unknown_model", "GET", "/v1/models/zz/view")
    assert client.ok("view", "m")["state"] in ("drawing", "done")
    assert client.model()["decisions"] == 200


# ---- in the browser ----


@pytest.fixture(scope="module")
def browser():
    one = chromium.Chromium()
    yield one
    one.close()


LONGEST = "a-loss_whose.name-has-31-letter"


@pytest.fixture
def served(daemon, tmp_path):
    """A daemon with two models, of which one has learned a little; its client and the page's address."""
    (tmp_path / "arms").write_text("news\nsport\n<b>music</b>\n")
    (tmp_path / "features").write_text("age\nhour\nvisits\n")
    api = Api()
    one = daemon(api.section + model("front-page", arm_names=str(tmp_path / "arms"), feature_names=str(tmp_path / "features"),
                                     holdout=0.3, losses=["missed=1", LONGEST], loss_ranges=[f"{LONGEST}=-1e6:1e6"]) + model("a" * 64, learner="value", value_range=(0, 10)))
    client = one.client()
    for i in range(300):
        x = [i % 7 / 7, i % 5 / 5, i % 3 / 3]
        a = client.decide("front-page", i, x)["a"]
        if i % 10:
            client.ok("feedback", "front-page", {"id": i, "losses": {"missed": int(a != i % 3), LONGEST: -123456.789}})
    client.decide("front-page", "person-7", [0.5, 0.25, 1])
    wait_for(lambda: sum(client.ok("history", "front-page")["decisions"]) == 301, "the interval to end")
    return one, client, f"http://127.0.0.1:{api.port}/"


def text(browser, id):
    return browser.run(f"document.getElementById({json.dumps(id)}).innerText")


def until(browser, expression, what):
    return wait_for(lambda: browser.run(expression), what)


def live(browser):
    until(browser, "document.getElementById('live').textContent === 'Live'", "the page to be live")


def complaints(browser, url):
    return [one for one in browser.complaints() if not one.startswith("request: " + url) and one != "request: data:,"]


CUT = """[...document.querySelectorAll('body *')].filter((e) => {
    const box = e.getBoundingClientRect(), clipped = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible';
    return box.width > 0 && !e.classList.contains('skip') && !(e instanceof SVGElement && e.tagName !== 'svg')
        && (box.right > innerWidth + 0.5 || box.left < -0.5 || (clipped && !['INPUT'].includes(e.tagName) && e.tagName !== 'svg'));
}).map((e) => e.tagName + '#' + e.id)"""


@browsers
@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("width", (320, 768, 1280))
def test_page_shows_the_figures_and_cuts_nothing(browser, served, width, dark):
    one, client, url = served
    browser.open(url, width, 900, dark=dark)
    live(browser)
    browser.run("document.getElementById('past-id').value = 'person-7', document.getElementById('past-form').requestSubmit()")
    until(browser, "document.querySelectorAll('#why table').length > 0", "the explanation")
    assert browser.run(CUT) == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert text(browser, "model-title") == "front-page"
    assert "301" in text(browser, "facts") and "sport" in text(browser, "arms") and "<b>music</b>" in text(browser, "arms")
    assert re.search(r"gain|groups need losses", text(browser, "gain")) and "off" in text(browser, "refit")
    assert all(name in text(browser, "gain") for name in ("missed", LONGEST, "Named losses", "Gain in each named loss"))
    assert "p99" in text(browser, "times") and "ok" in text(browser, "journal")
    why = text(browser, "why")
    assert "propensity" in why and re.search(r"\b(age|hour|visits)\b", why)
    assert browser.run("document.querySelectorAll('svg[role=img]').length") >= 4
    assert browser.run("[...document.querySelectorAll('svg[role=img]')].every((e) => e.getAttribute('aria-label').length > 10)")
    colours = browser.run("(() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; })()")
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert (lightness[0] > lightness[1]) == dark
    assert complaints(browser, url) == []


def curve(browser):
    return browser.run("document.querySelector('#curve svg').getAttribute('aria-label')")


@browsers
@pytest.mark.parametrize("width", (320, 1280))
def test_page_draws_the_loss_that_was_chosen(browser, served, width):
    _, client, url = served
    browser.open(url, width, 900)
    live(browser)
    assert browser.run("[...document.querySelectorAll('#curve-loss option')].map((e) => e.textContent)") == [
        "what is learned", "missed", LONGEST]
    assert browser.run("document.getElementById('curve-loss').labels[0].textContent") == "Loss"
    assert curve(browser).startswith("Mean loss over")
    browser.run("document.getElementById('curve-loss').focus()")
    assert browser.run("document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("ArrowDown")
    until(browser, "document.querySelector('#curve svg').getAttribute('aria-label').startsWith('Mean of missed over')", "the curve")
    browser.press("ArrowDown")
    until(browser, f"document.querySelector('#curve svg').getAttribute('aria-label').startsWith('Mean of {LONGEST} over')", "the next")
    assert "from -1.23e+5 to -1.23e+5" in curve(browser) and "-1.23e+5" in text(browser, "curve")
    assert browser.run(CUT) == [] and browser.run("document.documentElement.scrollWidth") <= width
    client.decide("front-page", "more", [0, 0, 0])
    until(browser, "document.getElementById('facts').innerText.includes('302')", "the next look")
    assert browser.run("document.activeElement.id") == "curve-loss" and LONGEST in curve(browser)  # what was chosen stays
    browser.run("document.querySelector('#models li:nth-child(2) a').click()")
    until(browser, "document.getElementById('curve-choice').hidden", "the model without names")
    browser.run("document.querySelector('#models li:nth-child(1) a').click()")
    until(browser, "!document.getElementById('curve-choice').hidden", "the model with names")
    assert curve(browser).startswith("Mean loss over") and browser.run("document.getElementById('curve-loss').value") == ""
    assert complaints(browser, url) == []


@browsers
def test_page_has_landmarks_labels_and_headings(browser, served):
    _, _, url = served
    browser.open(url, 1280, 900)
    live(browser)
    assert browser.run("['header', 'main', 'nav', 'footer'].map((tag) => document.querySelectorAll(tag).length)") == [1, 1, 1, 1]
    assert browser.run("document.documentElement.lang") == "en" and browser.run("document.querySelectorAll('h1').length") == 1
    assert browser.run("""[...document.querySelectorAll('section')].every((e) =>
        document.getElementById(e.getAttribute('aria-labelledby')).textContent.length > 0 || e.closest('[hidden]'))""")
    assert browser.run("[...document.querySelectorAll('input, select')].every((e) => e.labels.length === 1)")
    assert browser.run("[...document.querySelectorAll('table')].every((e) => e.caption.textContent && e.querySelector('th[scope=row]'))")
    assert browser.run("document.getElementById('live').getAttribute('role')") == "status"


@browsers
def test_page_goes_by_keyboard(browser, served):
    _, _, url = served
    browser.open(url, 1280, 900)
    live(browser)
    seen = []
    for _ in range(6):
        browser.press("Tab")
        seen.append(browser.run("document.activeElement.textContent.slice(0, 10)"))
        ring = browser.run("(() => { const e = document.activeElement; return e.matches(':focus-visible') && getComputedStyle(e).outlineStyle; })()")
        assert ring == "solid", seen
    assert seen[0] == "Skip to th" and seen[1] == "Pause" and seen[2].startswith("front-page") and seen[3].startswith("aaaa")
    browser.run("document.querySelector('#models li:nth-child(2) a').focus()")
    browser.press("Enter")
    until(browser, "document.getElementById('model-title').textContent === 'a'.repeat(64)", "the other model")
    until(browser, "document.activeElement.id === 'model-title'", "the focus to follow")
    assert browser.run("document.querySelectorAll('#models [aria-current]').length") == 1
    assert browser.run(CUT) == []


@browsers
def test_page_is_live_without_reload_and_pauses(browser, served):
    _, client, url = served
    browser.open(url, 1280, 900)
    live(browser)
    browser.run("document.title = 'not loaded again'")
    browser.run("document.querySelector('#models a').focus()")
    client.decide("front-page", "more", [0, 0, 0])
    until(browser, "document.getElementById('facts').innerText.includes('302')", "the new decision")
    assert browser.run("document.title") == "not loaded again"
    assert browser.run("document.activeElement === document.querySelector('#models a')")
    browser.run("document.getElementById('pause').click()")
    until(browser, "document.getElementById('live').textContent === 'Paused'", "the pause")
    assert browser.run("document.getElementById('pause').getAttribute('aria-pressed')") == "true"
    assert complaints(browser, url) == []


SEARCH = """document.getElementById('past-id').value = %s, document.getElementById('past-form').requestSubmit()"""
LOOKED = "document.getElementById('past-told').textContent.includes('records of the journal')"


def find(browser, prefix):
    """The ids that a search shows."""
    browser.run("document.getElementById('past-told').textContent = ''")
    browser.run(SEARCH % json.dumps(prefix))
    until(browser, LOOKED, "the search to end")
    return browser.run("[...document.querySelectorAll('#past-found strong')].map((e) => e.textContent)")


@browsers
@pytest.mark.parametrize("width", (320, 768, 1280))
def test_page_finds_decisions_by_their_id(browser, served, width):
    one, client, url = served
    ids = ["u" * 64, b"\x00\xff" * 32, 2**64 - 1, -5, "past-<b>1</b>", "past-2"]
    for id in ids:
        client.decide("front-page", id, [0, 0.5, 1])
        client.ok("feedback", "front-page", {"id": id, "losses": {"missed": 0.25}})
    one.restart()
    browser.open(url, width, 900)
    live(browser)

    def why():
        until(browser, "document.querySelectorAll('#why dl').length > 0", "the explanation")
        return text(browser, "why")
    assert find(browser, "past-") == ["past-2", "past-<b>1</b>"]
    assert browser.run("[...document.querySelectorAll('#past-found button')].map((e) => e.getAttribute('aria-expanded'))") == ["false"] * 2
    assert "loss 0.25" in text(browser, "past-found") and browser.run(CUT) == []
    browser.run("document.querySelectorAll('#past-found button')[1].focus()")
    browser.press("Enter")
    told = why()
    played = json.loads(one.run("--explain", "front-page", "past-<b>1</b>").stdout)
    assert played["arm"] in told and "loss 0.25" in told and "as it was when the decision was made" in told and "visits" in told
    assert browser.run("document.querySelectorAll('#past-found li')[1].contains(document.getElementById('why'))")
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true" and browser.run(CUT) == []
    browser.press("Enter")
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert browser.run("document.getElementById('why').children.length") == 0
    for id, shown in (("u" * 64, "u" * 64), ("00ff" * 32, "00ff" * 32), (str(2**64 - 1), str(2**64 - 1)), ("-5", "-5")):
        assert find(browser, id) == [shown]
        assert played and "loss 0.25" in why() and browser.run(CUT) == []  # a whole id is explained at once
    assert find(browser, "nobody") == [] and text(browser, "past-told").startswith("Nothing found. Looked through")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert complaints(browser, url) == []


@browsers
def test_page_looks_further_back_and_forgets_the_search_of_another_model(browser, served):
    _, client, url = served
    browser.open(url, 768, 900)
    live(browser)
    shown = find(browser, "1")
    assert shown == [str(i) for i in range(299, -1, -1) if str(i).startswith("1")][:20]
    assert "waits for its feedback" in text(browser, "past-found") and not browser.run("document.getElementById('past-more').hidden")
    browser.run("document.getElementById('past-more').click()")
    until(browser, "document.querySelectorAll('#past-found li').length === 40", "more of them")
    assert browser.run("document.activeElement === document.querySelectorAll('#past-found button')[20]")
    browser.run("document.querySelector('#models li:nth-child(2) a').click()")
    until(browser, "document.querySelectorAll('#past-found li').length === 0", "them to go")
    assert browser.run("document.getElementById('past-more').hidden") and complaints(browser, url) == []
    assert client.status()["past"]["failed"] == 0


@browsers
def test_page_shows_what_is_left_where_the_model_is_no_longer_known(browser, served):
    _, _, url = served
    browser.open(url, 320, 900)
    live(browser)
    feedback = [{"t": 1.5, "loss": [0.25, 1], "result": "recorded"}, {"t": 2, "loss": 0.5, "result": "recorded"}]
    left = {"found": True, "id": "x", "a": 1, "p": 0.5, "t": 1, "record": 3, "state": "record", "why": "no checkpoint is kept",
            "waits": False, "feedback": feedback, "ended": {"how": "recorded", "t": 3, "loss": [0.25, 1]}}
    browser.run(f"put(document.getElementById('why'), explanation({json.dumps(left)}))")
    shown = text(browser, "why")
    for part in ("arm 1", "not any more: no checkpoint is kept", "loss at its window's end 0.25, 1", "Feedback that came"):
        assert part in shown
    assert "expert" not in shown and browser.run(CUT) == [] and complaints(browser, url) == []


@browsers
def test_page_tells_who_decided_and_gives_no_verdict_where_the_split_is_wrong(browser, served):
    _, _, url = served
    browser.open(url, 320, 900)
    live(browser)
    told = {"found": True, "id": "x", "a": 1, "p": 1, "t": 1, "by": "holdout", "agrees": False, "own_p": 0.25, "state": "decision", "experts": []}
    browser.run(f"put(document.getElementById('why'), explanation({json.dumps(told)}))")
    shown = text(browser, "why")
    assert "the control group" in shown and "another one" in shown and "0.25" in shown and "explored" not in shown
    browser.run(f"put(document.getElementById('why'), explanation({json.dumps({**told, 'by': 'conservative'})}))")
    assert "the baseline, since the policy was kept back" in text(browser, "why") and browser.run(CUT) == []
    limited = {key: value for key, value in told.items() if key not in ("by", "agrees", "own_p")}
    browser.run(f"put(document.getElementById('why'), explanation({json.dumps({**limited, 'limit': 'share_max'})}))")
    assert "its probability decided by" in text(browser, "why") and "the largest share of an arm" in text(browser, "why")
    group = {"decisions": 9, "losses": 9, "mean_loss": 0.5}
    held = {"gain": 1, "low": 0.5, "high": 1.5, "odds": 1e61, "suspicious": True, "policy": group, "control": group}
    note = "model_alarms_text({ holdout: %s })"
    assert browser.run(note % json.dumps(held)) == ["1 alarm", "bad"]
    assert browser.run(note % json.dumps({**held, "suspicious": False})) == ["gain 1", "good"]
    assert browser.run("model_alarms_text({ evicted: 2, holdout: %s })" % json.dumps({**held, "suspicious": False})) == ["1 alarm", "bad"]
    browser.run(f"put(document.getElementById('gain'), gain({json.dumps({'holdout': held})}))")
    shown = text(browser, "gain")
    assert "No verdict, since units are not split as promised" in shown and "is better" not in shown
    assert browser.run("document.querySelectorAll('#gain .good').length") == 0
    unknown = {"losses": 7, "effective_sample_size": 0, "gain": None, "low": -0.5, "high": 0.5}
    browser.run(f"put(document.getElementById('gain'), gain({json.dumps({'arm_gains': [{**unknown, 'arm': 'news'}, unknown]})}))")
    assert "There is no control group" in text(browser, "gain")
    cells = browser.run("[...document.querySelectorAll('#gain table tr')].map((row) => [...row.children].map((e) => e.textContent))")
    assert cells == [["arm", "gain", "from", "to", "worth"], ["news", "–", "-0.5", "0.5", "0"], ["arm 1", "–", "-0.5", "0.5", "0"]]
    assert browser.run(CUT) == [] and complaints(browser, url) == []


@browsers
@pytest.mark.parametrize("width", (320, 1280))
def test_page_lists_the_last_refits(browser, served, width):
    _, _, url = served
    browser.open(url, width, 900)
    live(browser)
    history = [{"time": 2, "outcome": "timeout", "reason": "it took longer than its time_limit", "seconds": 9, "processor": 8},
               {"time": 1, "outcome": "made", "reason": "", "seconds": 9, "processor": 8, "n": 17, "state": "rolled back", "changed": 3,
                "promoted": True, "verdict": "worse", "events": 900, "gain": -0.125, "low": -0.25, "high": -0.0625}]
    browser.run(f"put(document.getElementById('refit'), refits({json.dumps({'refit': {'history': history, 'kept': [18, 17]}})}))")
    shown = text(browser, "refit")
    for part in ("The last refits", "timeout (it took longer", "17", "rolled back", "worse: gain -0.125, between -0.25 and -0.0625", "18, 17"):
        assert part in shown
    assert browser.run("document.querySelectorAll('#refit ol li').length") == 2 and browser.run(CUT) == []
    assert complaints(browser, url) == []


@browsers
def test_page_without_a_journal_finds_what_waits(browser, daemon):
    api = Api()
    one = daemon(api.section + model() + section("journal", {"enabled": False}))
    url = f"http://127.0.0.1:{api.port}/"
    one.client().decide("m", "abc", X)
    browser.open(url, 320, 900)
    live(browser)
    browser.run(SEARCH % '"ab"')
    until(browser, "document.getElementById('past-told').textContent.includes('there is no journal')", "the search to end")
    assert text(browser, "past-found").startswith("abc") and browser.run(CUT) == []
    browser.run("document.querySelector('#past-found button').click()")
    until(browser, "document.querySelectorAll('#why table').length > 0", "the explanation")
    assert complaints(browser, url) == [] and one.client().status()["past"]["started"] == 0


@browsers
def test_page_leads_to_what_the_model_has_learned(browser, served):
    _, _, url = served
    browser.open(url, 768, 900)
    live(browser)
    address = browser.run("document.getElementById('view').href")
    assert address == url + "v1/models/front-page/view"
    browser.open(address, 390, 844)
    assert "front-page" in browser.run("document.querySelector('h1').textContent")
    assert "visits" in browser.run("document.body.innerText")
    browser.open(url + "v1/models/" + "a" * 64 + "/view", 320, 700)  # a long name is wrapped
    assert browser.run("document.querySelector('h1').textContent") == "a" * 64
    assert browser.run("document.documentElement.scrollWidth") <= 320
    assert complaints(browser, url) == []


@browsers
def test_page_logs_in_and_out(browser, daemon, tokens):
    api = Api(tokens=tokens)
    daemon(api.section + model() + model("n"))
    url = f"http://127.0.0.1:{api.port}/"
    browser.open(url, 320, 700)
    until(browser, "!document.getElementById('login').hidden", "the form")
    assert browser.run(CUT) == [] and complaints(browser, url) == []
    assert browser.run("document.activeElement.id") == "token"

    def send(token):
        browser.run(f"document.getElementById('token').value = {json.dumps(token)}, document.getElementById('login-form').requestSubmit()")
    send(READER)
    live(browser)
    assert browser.run("[...document.querySelectorAll('#models strong')].map((e) => e.textContent)") == ["m", "n"]
    assert browser.run("document.cookie") == "" and browser.run("document.getElementById('login').hidden")
    assert browser.run("""fetch('/v1/models/m/decide', { method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: '{"id": 1, "x": [0, 0, 0]}' }).then((answer) => answer.status)""") == 401
    browser.run("document.getElementById('logout').click()")
    until(browser, "!document.getElementById('login').hidden", "the form again")
    assert browser.run("document.getElementById('content').hidden")
    send("wrong" * 5)
    until(browser, "document.getElementById('login-error').textContent === 'No such token.'", "the refusal")
    send(READER + "1")
    live(browser)
    assert browser.run("[...document.querySelectorAll('#models strong')].map((e) => e.textContent)") == ["n"]
    assert browser.run("document.getElementById('daemon').hidden")
    send_nothing = browser.run("document.getElementById('token').value")
    assert send_nothing == ""
