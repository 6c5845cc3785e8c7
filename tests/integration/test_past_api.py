"""Decisions of the past over HTTP: explained byte for byte as `coppiced --explain` does, found by how their ids begin, by a
process beside the loop, of which there is one at a time."""

import concurrent.futures
import json
import os
import socket
import time

import pytest
from conftest import end_windows, model, pack, section, wait_for
from test_api import READER, SHOP, X, Api, fits
from test_page import login, raw, tokens  # noqa: F401

def past(one, name, id):
    done = one.run("--explain", name, str(id))
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def ask(api, query, name="m"):
    """What it answers, and the text."""
    status, headers, text = raw(api, "GET", f"/v1/models/{name}/decision?{query}")
    assert status == 200 and headers["Content-Type"] == "application/json", text
    assert fits(json.loads(text), {"$ref": "/Decision"})
    return json.loads(text), text


def search(api, prefix, name="m", **more):
    query = "&".join(f"{key}={value}" for key, value in more.items())
    found = api.ok(f"/v1/models/{name}/decisions?prefix={prefix}&{query}")
    assert fits(found, {"$ref": "/Decisions"})
    return found


def counts(one):
    client = one.client()
    told = client.status()["past"]
    client.close()  # asked often
    return told


def held(daemon, tmp_path, text):
    """A daemon whose answers about the past wait while a file is there."""
    file = tmp_path / "held"
    file.touch()
    return daemon(text, env={"COPPICED_TEST_PAST": str(file)}), file


def test_past_decisions_are_explained_as_the_program_explains_them(daemon):
    api = Api()
    one = daemon(api.section + model() + model("d", learner="dgt") + model("v", learner="value"))
    client = one.client()
    for i in range(40):
        for name in "mdv":
            client.decide(name, f"{name}-{i}", [i % 5, i % 3, 1])
            if i % 4:
                client.feedback(name, f"{name}-{i}", [0.25, 0.5] if name == "v" else (i % 3) / 2)
    client.ok("checkpoint")
    for i in range(40, 60):
        client.decide("m", f"m-{i}", [i % 5, i % 3, 1])
        client.feedback("m", f"m-{i}", 1)
    one.kill()
    one.start()
    for name, i in (("m", 1), ("m", 39), ("m", 41), ("m", 59), ("d", 17), ("v", 22)):
        got, text = ask(api, f"id={name}-{i}", name)
        assert text.startswith('{"found":true,' + past(one, name, f"{name}-{i}")[1:-1] + ',"t":')
        assert got["waits"] is False and got["ended"]["how"] == "feedback" and got["state"] == "decision"
        if name != "v":
            assert got["feedback"] == [{"t": got["ended"]["t"], "loss": got["ended"]["loss"], "result": "applied"}]
        assert got["t"] <= got["ended"]["t"] <= time.time() + 1
        assert ask(api, f"record={got['record']}", name)[0] == got
    assert ask(api, "id=m-41")[0]["ended"]["loss"] == 1 and ask(api, "id=m-1")[0]["ended"]["loss"] == 0.5
    waiting = ask(api, "id=m-4")[0]
    assert waiting["waits"] is True and "ended" not in waiting
    got = counts(one)
    assert got["started"] == got["found"] >= 12 and not any(got[key] for key in ("not_found", "failed", "dropped", "refused"))


def test_how_decisions_ended_is_told(daemon):
    api = Api()
    one = daemon(api.section + model(pending_max=2) + model("w", reward_window="10ms", default_loss=0.75) +
                 model("n", reward_window="10ms") + model("l", reward="last", reward_window="1h"))
    client = one.client()
    for i in range(3):
        client.decide("m", f"m-{i}", X)
    for name in "wnl":
        client.decide(name, "x", X)
    for loss in (0.25, 0.5):
        assert client.feedback("l", "x", loss) == "recorded"
    end_windows(one, client, "l")
    for name, how in (("w", "default"), ("n", "unanswered"), ("l", "recorded")):
        wait_for(lambda: client.model(name)["pending"] == 0, "the window's end")
        client.decide(name, "y", X)  # the end's record is written with the next one's at the latest
        ended = ask(api, "id=x", name)[0]["ended"]
        assert ended["how"] == how and ended.get("loss") == {"w": 0.75, "l": 0.5}.get(name)
    assert [f["loss"] for f in ask(api, "id=x", "l")[0]["feedback"]] == [0.25, 0.5]
    assert ask(api, "id=m-0")[0]["ended"] == {"how": "pushed_out", "t": ask(api, "id=m-0")[0]["ended"]["t"]}


def test_losses_by_their_names_are_told(daemon):
    api = Api()
    named = {"losses": ["click=1", "seconds"], "loss_ranges": ["seconds=0:600"]}
    one = daemon(api.section + model(**named) + model("l", reward="last", reward_window="1h", **named))
    client = one.client()
    for name in "ml":
        client.decide(name, "x", X)
        client.ok("feedback", name, {"id": "x", "losses": {"click": 0.25, "seconds": 30}})
        end_windows(one, client, name)
        client.decide(name, "y", X)
        got = ask(api, "id=x", name)[0]
        assert (got["ended"]["how"], got["ended"]["loss"]) == ("feedback" if name == "m" else "recorded", 0.25)
        assert got["ended"]["losses"] == got["feedback"][0]["losses"] == {"click": 0.25, "seconds": 30}


def test_ids_of_all_kinds_are_found(daemon):
    api = Api()
    one = daemon(api.section + model())
    client = one.client()
    ids = ["17", 17, -3, 2**63 + 5, b"\x01\xfe", "a b&c/ü", "-x", "a" * 64]
    for id in ids:
        client.decide("m", id, X)
        client.feedback("m", id, 0)
    for query, id in (("id=17", "17"), ("number=17", 17), ("number=-3", -3), (f"number={2**63 + 5}", 2**63 + 5),
                      ("binary=01fe", "01fe"), ("id=a%20b%26c%2F%C3%BC", "a b&c/ü"), ("id=-x", "-x"), ("id=" + "a" * 64, "a" * 64)):
        got, _ = ask(api, query)
        assert got["id"] == id and not got["waits"]
    assert [row["id"] for row in search(api, "")["decisions"]] == ["a" * 64, "-x", "a b&c/ü", "01fe", 2**63 + 5, -3, 17, "17"]
    assert [row["id"] for row in search(api, "17")["decisions"]] == [17, "17"]
    assert [(row["id"], row.get("binary")) for row in search(api, "01")["decisions"]] == [("01fe", True)]
    assert [row["id"] for row in search(api, "-")["decisions"]] == ["-x", -3]
    for query in ("", "?id=", "?id=1&number=1", "?x=1", "?number=1e3", "?number=18446744073709551616", "?number=-9223372036854775809",
                  "?id=" + "x" * 65, "?binary=0", "?binary=0x", "?binary=FF", "?record=0", "?record=x"):
        api.problem(400, "bad_request", "GET", "/v1/models/m/decision" + query)
    for query in ("", "?prefix=" + "x" * 129, "?prefix=a&limit=0", "?prefix=a&limit=101", "?prefix=a&before=x", "?prefix=a&waiting=1"):
        api.problem(400, "bad_request", "GET", "/v1/models/m/decisions" + query)
    assert client.error("decision", "m", {})["code"] == client.error("decisions", "m", {"prefix": "a\0"})["code"] == "bad_request"


def test_search_goes_back_in_steps_and_tells_how_far(daemon):
    api = Api()
    one = daemon(api.section + model() + model("n") + section("journal", {"segment": "64KiB", "keep": "64MiB"}))
    client = one.client()
    for i in range(0, 2000, 50):
        client.ok("decide_batch", "m", {"items": [{"id": f"{'ab'[k % 2]}-{k}", "x": X} for k in range(i, i + 50)]})
        client.ok("decide_batch", "n", {"items": [{"id": f"a-{k}", "x": X} for k in range(i, i + 50)]})
        client.ok("feedback_batch", "m", {"items": [{"id": f"a-{k}", "loss": 0.5} for k in range(i, i + 50, 2)]})
    assert len(list((one.state / "journal").iterdir())) > 3
    seen, before = [], {}
    while True:
        got = search(api, "a-", limit=64, **before)
        assert got["state"] == "done" and len(got["decisions"]) <= 64 and got["looked"]["from"] <= got["looked"]["to"]
        assert all(row["ended"]["how"] == "feedback" and row["ended"]["loss"] == 0.5 for row in got["decisions"])
        seen += got["decisions"]
        if "more" not in got:
            break
        before = {"before": got["more"]}
    assert [row["id"] for row in seen] == [f"a-{i}" for i in range(1998, -1, -2)]
    assert [row["record"] for row in seen] == sorted((row["record"] for row in seen), reverse=True)
    assert got["looked"]["from"] == 1 and abs(got["looked"]["since"] - time.time()) < 600
    waiting = search(api, "b-", waiting="true")
    assert [row["id"] for row in waiting["decisions"]] == [f"b-{i}" for i in range(1999, 1959, -2)]
    assert all(row["waits"] for row in waiting["decisions"]) and waiting["looked"] == {"waiting": 20, "of": 1000}
    journal = search(api, "b-")["decisions"]
    assert [row["id"] for row in journal] == [row["id"] for row in waiting["decisions"]] and all(row["waits"] for row in journal)
    assert search(api, "zzz")["decisions"] == [] and search(api, "zzz")["looked"]["from"] == 1
    assert search(api, "a-1998")["decisions"][0]["a"] == seen[0]["a"] and 0 < seen[0]["p"] <= 1


def test_waiting_decision_of_a_long_table_is_found_by_its_whole_id(daemon):
    api = Api()
    client = daemon(api.section + model()).client()
    client.decide("m", "first", X)
    client.decide("m", 12345678, X)
    for i in range(0, 4000, 500):
        client.ok("decide_batch", "m", {"items": [{"id": f"u{k}", "x": X} for k in range(i, i + 500)]})
    assert [row["id"] for row in search(api, "first", waiting="true")["decisions"]] == ["first"]
    assert [row["id"] for row in search(api, "12345678", waiting="true")["decisions"]] == [12345678]
    got = search(api, "firs", waiting="true")
    assert got["decisions"] == [] and got["looked"] == {"waiting": 2000, "of": 4002}
    assert [row["id"] for row in search(api, "firs")["decisions"]] == ["first"]  # in the journal


def test_what_the_model_was_like_may_be_forgotten_before_the_decision(daemon):
    api = Api()
    one = daemon(api.section + model() + section("journal", {"segment": "64KiB", "keep": "256KiB"}) +
                 section("checkpoint", {"every": "1h", "keep": 1}))
    client = one.client()

    def grow(first, last):
        for i in range(first, last, 100):
            client.ok("decide_batch", "m", {"items": [{"id": f"u{k}", "x": X} for k in range(i, i + 100)]})
            client.ok("feedback_batch", "m", {"items": [{"id": f"u{k}", "loss": 0.25} for k in range(i, i + 100)]})
    grow(0, 6000)
    client.ok("checkpoint")
    grow(6000, 6100)

    def oldest():
        client.ok("checkpoint")
        got = search(api, "zzz")
        return got["looked"]["from"] > 1 and got
    wait_for(oldest, "the oldest segments to go")
    grow(6100, 6200)
    assert ask(api, "id=u6150")[0]["state"] == "decision"
    got = search(api, "", limit=100)
    old = got["decisions"][-1]
    while "more" in got:
        got = search(api, "", limit=100, before=got["more"])
        old = (got["decisions"] or [old])[-1]
    told = ask(api, f"record={old['record']}")[0]
    assert told["state"] == "record" and "no longer known" in told["why"] and told["id"] == old["id"]
    assert told["ended"] == old["ended"] and told["a"] == old["a"] and told["p"] == old["p"]
    detail = api.problem(404, "unknown_decision", "GET", "/v1/models/m/decision?id=u0")
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(got["looked"]["since"]))
    assert f"looked through the journal's records {got['looked']['from']} to " in detail and detail.endswith(", since " + since)


def test_what_is_not_there_is_a_problem(daemon):
    api = Api()
    one = daemon(api.section + model() + section("journal", {"enabled": False}))
    one.client().decide("m", "a", X)
    assert ask(api, "id=a")[0]["waits"]
    assert "the 1 that wait for their feedback: there is no journal" in api.problem(404, "unknown_decision", "GET", "/v1/models/m/decision?id=b")
    api.problem(404, "unknown_decision", "GET", "/v1/models/m/decision?record=1")
    assert [row["id"] for row in search(api, "a")["decisions"]] == ["a"]
    api.problem(404, "unknown_model", "GET", "/v1/models/zz/decision?id=a")
    api.problem(404, "unknown_model", "GET", "/v1/models/zz/decisions?prefix=a")


def test_rights_are_those_of_reading(daemon, tokens):  # noqa: F811
    api = Api(tokens=tokens)
    one = daemon(api.section + model() + model("n"))
    one.client().decide("m", "a", X)
    one.client().feedback("m", "a", 1)
    cookie, _ = login(api, READER)
    shop, _ = login(api, SHOP)
    only, _ = login(api, READER + "1")
    for path in ("/v1/models/m/decision?id=a", "/v1/models/m/decisions?prefix=a", "/v1/models/m/decisions?prefix=a&waiting=true"):
        assert raw(api, "GET", path, headers={"Cookie": cookie})[0] == 200
        api.problem(401, "no_token", "GET", path)
        for who in (shop, only):
            api.problem(403, "forbidden", "GET", path, headers={"Cookie": who})
        api.problem(405, "bad_method", "POST", path, "{}", {"Content-Type": "application/json", "Authorization": f"Bearer {READER}"})
    assert counts(one)["started"] == 2


def test_one_looks_at_a_time_and_the_loop_serves_on(daemon, tmp_path):
    api = Api()
    one, file = held(daemon, tmp_path, api.section + model())
    client = one.client()
    for i in range(20):
        client.decide("m", i, X)
        client.feedback("m", i, 0)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        first = pool.submit(api.ask, "GET", "/v1/models/m/decision?number=0")
        wait_for(lambda: counts(one)["started"] == 1, "the first to begin")
        others = [pool.submit(api.ask, "GET", f"/v1/models/m/decision?number={i}") for i in range(1, 12)]
        wait_for(lambda: counts(one)["refused"] == 3, "those beyond the queue to be refused")
        same = pool.submit(api.ask, "GET", "/v1/models/m/decision?number=0")  # is no further one
        for i in range(100):
            client.decide("m", f"more-{i}", X)
            assert client.feedback("m", f"more-{i}", 1) == "applied"
        assert search(api, "", waiting="true")["decisions"] == []
        assert counts(one)["started"] == 1
        file.unlink()
        answers = [f.result() for f in others]
        assert sorted(status for status, _, _ in answers) == [200] * 8 + [429] * 3
        for status, headers, reply in answers:
            if status == 429:
                assert reply["code"] == "busy" and headers["Retry-After"] == "1"
        assert first.result()[0] == 200 and first.result()[2] == same.result()[2]
    got = counts(one)
    assert got == {"started": 9, "found": 9, "not_found": 0, "failed": 0, "dropped": 0, "refused": 3}
    assert client.status()["api"]["limited"] == 0  # of no token
    assert "client_limited" not in one.log()


def children(one):
    path = f"/proc/{one.process.pid}/task/{one.process.pid}/children"
    return [int(pid) for pid in open(path).read().split()]


def ended(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def leave(api, path):
    """Asks, and does not wait for the answer."""
    asker = socket.create_connection(("127.0.0.1", api.port))
    asker.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return asker


def test_question_is_dropped_when_its_asker_has_gone(daemon, tmp_path):
    api = Api()
    one, file = held(daemon, tmp_path, api.section + model())
    client = one.client()
    for id in "ab":
        client.decide("m", id, X)
        client.feedback("m", id, 0)
    askers = [leave(api, "/v1/models/m/decision?id=a"), leave(api, "/v1/models/m/decisions?prefix=b")]
    [pid] = wait_for(lambda: counts(one)["started"] == 1 and children(one), "the process")
    for asker in askers:
        asker.close()
    wait_for(lambda: counts(one)["dropped"] == 2, "both to be dropped")
    wait_for(lambda: ended(pid), "the process to end")
    assert counts(one)["started"] == 1
    file.unlink()
    assert ask(api, "id=a")[0]["ended"]["loss"] == 0
    assert client.ok("decision", "m", {"id": "a", "seq": 7})["seq"] == 7


@pytest.mark.parametrize("how", ("kill", "stop"))
def test_process_ends_with_the_daemon(daemon, tmp_path, how):
    api = Api()
    one, _ = held(daemon, tmp_path, api.section + model())
    client = one.client()
    client.decide("m", "a", X)
    client.feedback("m", "a", 0)
    asker = leave(api, "/v1/models/m/decision?id=a")
    [pid] = wait_for(lambda: counts(one)["started"] == 1 and children(one), "the process")
    assert not ended(pid)
    bound = lambda: next(line for line in open(f"/proc/{pid}/limits") if line.startswith("Max address space")).split()[3]
    wait_for(lambda: bound() != "unlimited", "the process to step back")
    assert os.sched_getscheduler(pid) == os.SCHED_IDLE and os.getpriority(os.PRIO_PROCESS, pid) == 10
    assert int(open(f"/proc/{pid}/oom_score_adj").read()) == 1000
    assert "m" in open(f"/proc/{pid}/cmdline").read().split("\0") and "a" not in open(f"/proc/{pid}/cmdline").read().split("\0")
    getattr(one, how)()
    wait_for(lambda: ended(pid), "the process to end")
    asker.close()


def test_failure_is_answered_counted_and_logged(daemon):
    api = Api()
    one = daemon(api.section + model())
    client = one.client()
    client.decide("m", "a", X)
    client.feedback("m", "a", 0)
    text = one.config.read_text()
    one.config.write_text("nonsense")
    assert api.problem(500, "internal", "GET", "/v1/models/m/decision?id=a").startswith("past: ")
    one.logged("event=past_failed verb=decision model=m")
    one.config.write_text(text)
    wait_for(lambda: api.ask("GET", "/v1/models/m/decision?id=a")[0] == 200, "the answer to be looked for again")
    assert counts(one)["failed"] >= 1


def test_verbs_are_asked_again_over_the_request_socket(daemon):
    one = daemon(model())
    client = one.client()
    client.decide("m", "a", X)
    waits = client.ok("decision", "m", {"id": "a"})
    assert waits.pop("waits") is True and waits == client.ok("explain", "m", {"id": "a"})
    client.feedback("m", "a", 0)
    assert client.ok("decision", "m", {"id": "a", "seq": "s"}) == {"state": "looking", "seq": "s"}

    def answer(verb, body):
        return wait_for(lambda: (r := client.ok(verb, "m", body))["state"] != "looking" and r, "the answer")
    assert answer("decision", {"id": "a", "seq": 2})["seq"] == 2
    assert [row["id"] for row in answer("decisions", {"prefix": "a"})["decisions"]] == ["a"]
    assert client.ok("decisions", "m", {"prefix": "a", "waiting": True})["decisions"] == []
    assert wait_for(lambda: (r := client.request("decision", "m", {"id": "b"}))[0] == "error" and r, "the refusal")[1]["code"] == "unknown_decision"
    for body, why in (({"limit": 0}, "limit: 0; expected 1 to 100"), ({"before": "x"}, "before: got a string"), ({"prefix": "x" * 129}, "prefix: 129 bytes"),
                      ({"waiting": 1}, "waiting: got")):
        assert why in client.error("decisions", "m", body)["message"]
    assert client.raw("decision", "m", pack({"record": -1}))[0] == "error"
