"""The listener for HTTP and JSON, by a client that shares nothing with us: http.client, sockets, json."""

import contextlib
import http.client
import json
import re
import signal
import socket
import ssl
import threading
import urllib.request
import warnings
from pathlib import Path

import pytest
from conftest import DEADLINE, free_port, model, section, wait_for

ROOT = Path(__file__).resolve().parents[2]
X = [0.25, 1.0, 3.5]


TYPED = {"Content-Type": "application/json"}


class Api:
    def __init__(self, port=None, host="127.0.0.1", **options):
        self.port = port or free_port()
        self.section = section("api", {"listen": [f"{host}:{self.port}"], **options})

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """(status, headers, what the JSON means)"""
        c = connection or self.connect()
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None and headers is None else headers or {}
        c.request(method, path, body, given)
        response = c.getresponse()
        text = response.read()
        if connection is None:
            c.close()
        return response.status, response.headers, json.loads(text) if text else None

    def ok(self, path, body=None, connection=None):
        status, headers, reply = self.ask("GET" if body is None else "POST", path, body, connection=connection)
        assert status == 200, reply
        assert headers["Content-Type"] == "application/json"
        return reply

    def problem(self, status, code, method, path, body=None, headers=None):
        got, sent, reply = self.ask(method, path, body, headers)
        assert (got, reply["code"]) == (status, code), reply
        keys = {"type", "title", "status", "code", "detail"}
        if path.startswith("/personalizer/"):  # its clients read another type, and the code in another place
            assert sent["Content-Type"] == "application/json"
            assert reply.pop("error") == {"code": code, "message": reply["detail"]}
        else:
            assert sent["Content-Type"] == "application/problem+json"
        assert set(reply) == keys and reply["status"] == status
        return reply["detail"]


@pytest.fixture
def api():
    return Api()


def test_api_decides_and_learns_as_the_request_socket_does(daemon, api):
    """Two daemons of one seed, one asked by HTTP, one by ZeroMQ, answer alike and learn alike."""
    one, other = daemon(api.section + model()), daemon(model())
    client = other.client()
    connection = api.connect()
    for i in range(200):
        x = [i % 3 - 1, (i * 7 % 11) / 5, 0.5]
        got = api.ok("/v1/models/m/decide", {"id": f"u{i}", "x": x}, connection)
        assert got == client.decide("m", f"u{i}", x)
        loss = 0.25 if got["a"] == i % 3 else 1
        assert api.ok("/v1/models/m/feedback", {"id": f"u{i}", "loss": loss}, connection) == {
            "id": f"u{i}", "result": client.feedback("m", f"u{i}", loss)}
    assert one.client().model()["mean_loss"] == client.model()["mean_loss"]
    assert api.ok("/v1/models/m/explain", {"x": X}, connection) == client.ok("explain", "m", {"x": X})


def test_api_kinds_of_models_and_batches_are_answered(daemon, api):
    daemon(api.section + model() + model("s", features=0) +
           model("v", learner="value", feedback="bins", value_range=[0, 1], height=None, trees=None) +
           model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2))
    named = {"User": {"name": "tom", "age": 31}, "tags": [1, 2]}
    assert api.ok("/v1/models/s/decide", {"id": 17, "x": named})["id"] == 17
    value = api.ok("/v1/models/v/decide", {"id": "b", "x": X})
    assert value["probe"] == [value["y"]] and value["p"] > 0
    ranked = api.ok("/v1/models/r/rank", {"id": "c", "x": X, "c": [[1, 0], [0, 1]], "order": True})
    assert sorted(ranked["order"]) == [0, 1]
    items = [{"id": 1, "x": X}, {"id": 2, "x": [1]}, {"id": 3, "x": X, "seq": "s"}]
    batch = api.ok("/v1/models/m/decide_batch", {"items": items})["items"]
    assert [item.get("code") for item in batch] == [None, "bad_features", None]
    assert batch[2]["seq"] == "s" and "seq" not in batch[0]
    results = api.ok("/v1/models/m/feedback_batch", {"items": [{"id": 1, "loss": 0}, {"id": 9, "loss": 0}]})["items"]
    assert [r["result"] for r in results] == ["applied", "unknown"]
    batch = api.ok("/v1/models/r/rank_batch", {"items": [{"id": i, "x": X, "c": [[1, 0]]} for i in range(3)]})
    assert [item["a"] for item in batch["items"]] == [0, 0, 0]
    api.ok("/v1/models/m/decide", {"id": "d", "x": X, "defer": True})
    assert api.ok("/v1/models/m/activate", {"id": "d"})["result"] == "applied"


def test_api_arms_have_names(daemon, api, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("left\nmiddle\nright\n")
    daemon(api.section + model(arm_names=names))
    told = OPENAPI["components"]["schemas"]
    asked = {"id": "a", "x": X, "mask": ["middle"]}
    action = api.ok("/v1/models/m/decide", asked)
    assert fits(asked, told["Context"]) and (action["a"], action["arm"]) == (1, "middle")
    assert api.ok("/v1/models/m/explain", {"x": X, "mask": ["right"]})["arm"] == "right"
    learned = {"id": "b", "x": X, "a": "right", "p": 0.5, "loss": 1}
    assert fits(learned, told["Feedback"]) and api.ok("/v1/models/m/feedback", learned)["result"] == "applied"
    detail = api.problem(400, "bad_request", "POST", "/v1/models/m/decide", {"id": "c", "x": X, "mask": ["\u0001"]})
    assert detail.startswith("mask[0]: no arm has the name")


def test_api_repeated_id_gets_its_first_decision(daemon, api):
    daemon(api.section + model())
    first = api.ok("/v1/models/m/decide", {"id": "u", "x": X})
    assert api.ok("/v1/models/m/decide", {"id": "u", "x": [0, 0, 0]}) == {**first, "repeated": True}


def test_api_models_and_version_are_shown(daemon, api):
    one = daemon(api.section + model() + model("n"))
    models = api.ok("/v1/models")["models"]
    assert [m["name"] for m in models] == ["m", "n"]
    assert api.ok("/v1/models/n") == one.client().model("n")
    version = one.client().status()["version"]
    assert api.ok("/v1/version") == {"version": version, "protocol": 1}
    for path, status in (("/v1/models/m", 200), ("/v1/models/x", 404), ("/x", 404)):
        assert (api.ask("GET", path)[0], api.ask("GET", path)[1]["Server"]) == (status, f"coppiced/{version}")
    c = api.connect()
    c.request("HEAD", "/v1/version")
    assert c.getresponse().status == 200


def test_api_what_is_wrong_has_its_status_and_code(daemon, api):
    daemon(api.section + model())
    decide = "/v1/models/m/decide"
    typed = {"Content-Type": "application/json"}
    assert "id" in api.problem(400, "bad_request", "POST", decide, {"x": X})
    assert "got 1 values, expected 3" in api.problem(422, "bad_features", "POST", decide, {"id": 1, "x": [1]})
    assert "column 8" in api.problem(400, "bad_request", "POST", decide, '{"id": ')
    assert "UTF-8" in api.problem(400, "bad_request", "POST", decide, b'{"id": "\xff"}', typed)
    assert "JSON object" in api.problem(400, "bad_request", "POST", decide, "[]", typed)
    for kind, status in (("application/json; charset=utf-8", 400), ('application/json;charset="UTF-8"', 400), ("Application/JSON ;a=b", 400),
                         ("application/json; charset=latin-1", 415), ("application/json; charset=utf-16", 415)):
        api.problem(status, "bad_type" if status == 415 else "bad_request", "POST", decide, "{}", {"Content-Type": kind})
    assert "loss" in api.problem(422, "bad_loss", "POST", "/v1/models/m/feedback", {"id": 1, "loss": 7})
    assert "'z'" in api.problem(404, "unknown_model", "POST", "/v1/models/z/decide", {"id": 1, "x": X})
    assert "'z'" in api.problem(404, "unknown_model", "GET", "/v1/models/z")
    for path in ("/x", "/v1", "/v1/models/", "/v1/models/m/", "/v1/models/m/dance", "/v1/models/m/decide/x", "/metrics",
                 f"/v1/models/{'m' * 65}"):
        assert "/v1/models/NAME" in api.problem(404, "unknown_path", "GET", path)
    assert "POST" in api.problem(405, "bad_method", "GET", decide)
    assert api.ask("GET", decide)[1]["Allow"] == "POST"
    assert "GET, HEAD" in api.problem(405, "bad_method", "DELETE", "/v1/models/m")
    for wrong in ({"Content-Type": "text/plain"}, {"Content-Type": "application/jsonx"}, {"X": "y"}):
        assert "application/json" in api.problem(415, "bad_type", "POST", decide, "{}", wrong)
    assert "Content-Encoding" in api.problem(415, "bad_type", "POST", decide, "{}", {**typed, "Content-Encoding": "gzip"})
    assert api.ask("POST", decide, '{"id": 1, "x": [1, 2, 3]}', {"content-type": "Application/JSON; charset=utf-8"})[0] == 200


def test_api_paths_are_read_to_their_ends(daemon, api):
    """%00 ends no name, and a path may stand behind an address."""
    daemon(api.section + model())
    body = json.dumps({"id": "u", "x": X})
    assert api.ask("GET", "/v1/models/%6D")[0] == 200
    assert "name in the path" in api.problem(400, "bad_request", "GET", "/v1/models/m%00")
    assert "name in the path" in api.problem(400, "bad_request", "POST", "/v1/models/m%00x/decide", body)
    api.problem(404, "unknown_path", "POST", "/v1/models/m/decide%00", body)
    assert api.ask("POST", f"http://127.0.0.1:{api.port}/v1/models/m/decide", body, TYPED)[0] == 200
    assert api.ok("/v1/models/m/decision?id=u")["found"]
    assert "no decision of this id" in api.problem(404, "unknown_decision", "GET", "/v1/models/m/decision?id=u%00v")


def test_api_long_bodies_are_refused_and_the_connection_of_short_ones_goes_on(daemon, api):
    daemon(section("sockets", {"requests": ["tcp://127.0.0.1:%d" % free_port()], "message_limit": "2KiB"}) +
           api.section + model(), start=False).launch()
    wait_for(lambda: reachable(api.port), "the listener")
    path = "/v1/models/m/decide"
    assert "2048" in api.problem(413, "too_large", "POST", path, "{" + " " * 5000 + "}")
    c = api.connect()
    chunks = iter([b"{"] + [b" " * 1000] * 50)
    c.request("POST", path, chunks, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}, encode_chunked=True)
    response = c.getresponse()
    assert response.status == 413 and json.loads(response.read())["code"] == "too_large"
    assert api.ok(path, {"id": 1, "x": X}, c)["id"] == 1


def reachable(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def test_api_requests_of_many_connections_are_under_way_at_once(daemon, api):
    one = daemon(api.section + model())
    failures = []

    def work(k):
        try:
            c = api.connect()
            for i in range(50):
                assert api.ok("/v1/models/m/decide", {"id": f"{k}-{i}", "x": X}, c)["id"] == f"{k}-{i}"
                assert api.ok("/v1/models/m/feedback", {"id": f"{k}-{i}", "loss": 0}, c)["result"] == "applied"
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]
    assert one.client().model()["learned"] == 800


def test_api_pipelined_and_split_requests_are_answered_in_order(daemon, api):
    daemon(api.section + model())
    raw = b""
    for i in range(20):
        body = json.dumps({"id": i, "x": X}).encode()
        raw += b"POST /v1/models/m/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" \
               b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.create_connection(("127.0.0.1", api.port), timeout=DEADLINE) as s:
        for at in range(0, len(raw), 37):
            s.sendall(raw[at:at + 37])
        text = b""
        while text.count(b'"greedy"') < 20:
            got = s.recv(65536)
            assert got, text
            text += got
    ids = [json.loads(part[:part.index(b"}") + 1])["id"] for part in (b"{" + p for p in text.split(b"{")[1:])]
    assert ids == list(range(20))


def test_api_silent_connections_keep_nobody_out(daemon, api):
    daemon(api.section + model())
    silent = [socket.create_connection(("127.0.0.1", api.port)) for _ in range(1100)]
    assert api.ok("/v1/models/m/decide", {"id": 1, "x": X})["id"] == 1
    for s in silent:
        s.close()


def test_api_closed_connections_leave_nothing_behind(daemon, api):
    """A client that goes while its request is under way: the decision stands, and a later request with its id gets it."""
    one = daemon(api.section + model())
    for i in range(200):
        body = json.dumps({"id": i, "x": X}).encode()
        with socket.create_connection(("127.0.0.1", api.port)) as s:
            s.sendall(b"POST /v1/models/m/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    client = one.client()
    wait_for(lambda: client.model()["decisions"] == 200, "all decisions")
    assert api.ok("/v1/models/m/decide", {"id": 7, "x": X})["repeated"]


def test_api_is_gone_after_a_stop_and_back_after_a_restart(daemon, api):
    one = daemon(api.section + model())
    first = api.ok("/v1/models/m/decide", {"id": "u", "x": X})
    one.signal(signal.SIGKILL)
    one.process.wait(DEADLINE)
    assert not reachable(api.port)
    one.start()
    assert api.ok("/v1/models/m/decide", {"id": "u", "x": X}) == {**first, "repeated": True}
    assert api.ok("/v1/models/m/feedback", {"id": "u", "loss": 1})["result"] == "applied"
    one.stop()
    assert not reachable(api.port)


def test_api_wrong_configurations_are_refused(daemon, api):
    def refused(text, expected):
        result = daemon(text + model(), start=False).run("--check")
        assert result.returncode == 1 and expected in result.stderr, result.stderr

    refused(section("api", {}), "listen: missing in section api")
    refused(section("api", {"listen": ["0.0.0.0:5580"]}), "can be reached from other machines")
    refused(section("api", {"listen": ["127.example.org:5580"]}), "can be reached from other machines")
    refused(section("api", {"listen": ["10.127.0.1:5580"]}), "can be reached from other machines")
    refused(section("api", {"listen": [f"127.0.0.1:{5580 + i}" for i in range(9)]}), "expected at most 8")
    refused(section("api", {"listen": ["127.0.0.1"]}), "expected ADDRESS:PORT")
    refused(section("api", {"listen": ["127.0.0.1:5580", "127.0.0.1:5580"]}), "stands there twice")
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    one = daemon(Api(taken.getsockname()[1]).section + model(), start=False).launch()
    one.wait(1)
    assert "api: listen: cannot bind 127.0.0.1" in one.log()
    taken.close()
    assert f'listen = {{ "127.0.0.1:{api.port}" }}' in daemon(api.section + model(), start=False).run("--print-config").stdout


OPENAPI = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def fits(value, schema):
    """Whether a value is of the part of JSON Schema that the document uses; all its words are known here."""
    assert set(schema) <= {"$ref", "description", "type", "required", "properties", "items", "oneOf", "enum", "minLength",
                           "pattern", "nullable", "additionalProperties"}, schema
    if "$ref" in schema:
        return fits(value, OPENAPI["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if "oneOf" in schema:
        return any(fits(value, one) for one in schema["oneOf"])
    kind = schema["type"]
    if value is None:
        return schema.get("nullable", False)
    if not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool)):
        return False
    if kind == "object":
        known = schema.get("properties", {})
        if "properties" in schema and not schema.get("additionalProperties") and not set(value) <= set(known):
            return False
        return set(schema.get("required", ())) <= set(value) and all(
            fits(value[key], known[key]) for key in known if key in value)
    if kind == "array":
        return all(fits(one, schema["items"]) for one in value)
    return value in schema.get("enum", [value]) and (kind != "string" or len(value) >= schema.get("minLength", 0))


def test_api_document_has_the_paths_that_there_are():
    rows = re.findall(r'{ "(/(?:v1|personalizer/v1.0)/[^"]*)", "\w*", (true|false),', (ROOT / "daemon" / "api" / "api_route.c").read_text())
    assert len(rows) > 10
    assert {(path.replace("events/*", "events/{event}").replace("*", "{model}"), "post" if post == "true" else "get") for path, post in rows} == {
        (path, method) for path, methods in OPENAPI["paths"].items() for method in methods}


def test_api_answers_are_as_the_document_says(daemon, api):
    """A request of every path with an answer of status 200, and every problem that a request can bring about."""
    daemon(api.section + model() +
           model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2))
    ranked = {"id": "a", "x": X, "c": [[1, 0], [0, 1]]}
    bodies = {
        "decide": {"id": "a", "x": X}, "decide_batch": {"items": [{"id": 1, "x": X}, {"id": 2, "x": []}]},
        "rank": ranked, "rank_batch": {"items": [{**ranked, "id": 2, "order": True}]},
        "feedback": {"id": "b", "loss": 0.5}, "feedback_batch": {"items": [{"id": 1, "loss": 0}, {"id": 2, "loss": 9}]},
        "activate": {"id": "a"}, "explain": {"x": X},
    }  # fmt: skip
    for path, methods in OPENAPI["paths"].items():
        (method, told), = methods.items()
        verb = path.rsplit("/", 1)[1]
        if path.startswith("/personalizer/") or verb == "view":
            continue  # tested below, and in test_page
        body = bodies[verb] if method == "post" else None
        path = path.replace("{model}", "r" if "rank" in verb else "m")
        if body:
            sent = told["requestBody"]["content"]["application/json"]["schema"]
            assert fits(body, sent) or verb == "decide_batch", (path, body)
        query = {"decision": "?id=a", "decisions": "?prefix=a"}.get(verb, "")
        status, headers, reply = api.ask(method.upper(), path + query, body)
        assert status == 200 and fits(reply, told["responses"]["200"]["content"]["application/json"]["schema"]), (path, reply)
        wrong = [(400, path, "{", "application/json"), (415, path, "{}", "text/plain")] if method == "post" else []
        wrong = [(method.upper(), *one) for one in wrong] + [("PUT", 405, path, "{}", "application/json")]
        if "parameters" in told:
            wrong.append((method.upper(), 404, re.sub("/models/[mr]", "/models/zz", path) + query, body and json.dumps(body),
                          "application/json"))
        for how, expected, bad, text, kind in wrong:
            status, _, reply = api.ask(how, bad, text, {"Content-Type": kind})
            content = told["responses"][str(status)]["content"]["application/problem+json"]
            assert status == expected and fits(reply, content["schema"]), (bad, reply)


SHOP, READER = "0123456789abcdef-shop", "0123456789abcdef-read"


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"# who\nshop {SHOP} decide,feedback m\nreader {READER} read\n")
    path.chmod(0o600)
    return path


def bearer(token):
    return {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}


def test_api_candidates_have_names(daemon, api):
    daemon(api.section + model("r", learner="rank", arms=None, trees=None, height=None, features=0, max_candidates=4))
    body = {"id": "n", "x": {"hour": 9}, "c": [{"price": 1}, {"price": 2}], "names": ["cheap", "dear"], "mask": ["dear"]}
    assert api.ok("/v1/models/r/rank", body)["arm"] == "dear"
    assert api.ok("/v1/models/r/explain", {"id": "n"})["arm"] == "dear"
    assert api.ok("/v1/models/r/decision?id=n")["arm"] == "dear"
    assert "arm" not in api.ok("/v1/models/r/rank", {"id": "m", "x": {}, "c": [{"price": 1}]})
    assert "arm" not in api.ok("/v1/models/r/explain", {"id": "m"})
    detail = api.problem(400, "bad_request", "POST", "/v1/models/r/rank", {**body, "id": "o", "names": ["cheap"]},
                         {"Content-Type": "application/json"})
    assert detail == "names: expected an array of 2 texts, one for each candidate"


def test_api_tokens_allow_what_they_are_for(daemon, tokens):
    api = Api(tokens=tokens)
    one = daemon(api.section + model() + model("n"))
    decide, body = "/v1/models/m/decide", json.dumps({"id": "u", "x": X})
    assert api.ask("POST", decide, body, bearer(SHOP))[0] == 200
    assert api.ask("POST", "/v1/models/m/feedback", '{"id": "u", "loss": 0}', bearer(SHOP))[2]["result"] == "applied"
    assert "shop lacks the right decide for the model n" in api.problem(
        403, "forbidden", "POST", "/v1/models/n/decide", body, bearer(SHOP))
    assert "read" in api.problem(403, "forbidden", "POST", "/v1/models/m/explain", json.dumps({"x": X}), bearer(SHOP))
    assert "reader lacks the right decide" in api.problem(403, "forbidden", "POST", decide, body, bearer(READER))
    assert api.ask("GET", "/v1/models", headers=bearer(READER))[0] == 200
    assert api.problem(403, "forbidden", "GET", "/v1/models", headers=bearer(SHOP))
    assert api.ask("GET", "/v1/version", headers=bearer(SHOP))[0] == 200
    for spaced in ({"Authorization": f"Bearer   {SHOP} \t"}, {"Ocp-Apim-Subscription-Key": f"{SHOP} "}):
        assert api.ask("GET", "/v1/version", headers=spaced)[0] == 200
    assert api.ask("POST", "/v1/models/m/explain", json.dumps({"x": X}), bearer(READER))[0] == 200
    assert one.client().model()["decisions"] == 1 and one.client().model("n")["decisions"] == 0
    counts = one.client().status()["api"]
    assert (counts["strangers"], counts["forbidden"], counts["limited"]) == (0, 4, 0)
    one.logged('event=request_forbidden name=shop peer="127.0.0.1" path="/v1/models/*/decide" model="n"')


def test_api_what_tokens_are_refused_is_counted_and_logged(daemon, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"shop {SHOP} decide,feedback m rate=1\n")
    tokens.chmod(0o600)
    port = free_port()
    api = Api(tokens=tokens)
    one = daemon(section("http", {"listen": f"127.0.0.1:{port}"}) + api.section + model())
    for i in range(3):
        api.problem(401, "no_token", "GET", "/v1/models", headers=bearer(READER))
    got = [api.ask("POST", "/v1/models/m/decide", json.dumps({"id": i, "x": X}), bearer(SHOP)) for i in range(30)]
    limited = [reply for status, _, reply in got if status == 429]
    assert limited and {reply["title"] for reply in limited} == {"Too Many Requests"}
    counts = one.client().status()["api"]
    assert (counts["strangers"], counts["forbidden"], counts["limited"]) == (3, 0, len(limited))
    one.logged('event=token_refused name=- peer="127.0.0.1" path="/v1/models" model=""')
    one.logged("event=client_limited name=shop")
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE).read().decode()
    assert 'coppice_api_refused_total{reason="token"} 3\n' in text
    assert f'coppice_api_refused_total{{reason="limit"}} {len(limited)}\n' in text


def test_api_without_a_token_nothing_is_answered_or_changed(daemon, tokens):
    api = Api(tokens=tokens)
    one = daemon(api.section + model())
    body = json.dumps({"id": "u", "x": X})
    for headers in ({"Content-Type": "application/json"}, bearer(SHOP[:-1]), bearer(SHOP + "x"), bearer(""),
                    {**bearer(SHOP), "Authorization": f"Basic {SHOP}"}, {**bearer(SHOP), "Authorization": SHOP}):
        for method, path, sent in (("POST", "/v1/models/m/decide", body), ("POST", "/v1/models/m/feedback", body),
                                   ("GET", "/v1/models", None), ("GET", "/v1/version", None), ("GET", "/x", None)):
            api.problem(401, "no_token", method, path, sent, headers)
    assert api.ask("GET", "/v1/version")[1]["WWW-Authenticate"] == "Bearer"
    assert "Server" not in api.ask("GET", "/v1/version")[1]
    assert one.client().model()["decisions"] == 0


def test_api_tokens_are_read_again_by_a_reload(daemon, tokens):
    api = Api(tokens=tokens)
    one = daemon(api.section + model())
    connection = api.connect()
    assert api.ask("GET", "/v1/version", headers=bearer(READER), connection=connection)[0] == 200
    tokens.write_text(f"reader {READER} read\nnew {SHOP}2 all nobody\n")
    assert one.client().ok("reload")["applied"] == ["api.tokens: new added", "api.tokens: shop removed"]
    one.logged('event=reload_applied change="api.tokens: shop removed"')
    one.logged('event=access_unknown_model reason="api.tokens: the line of new names the model nobody, which is not there"')
    assert "names the model nobody" in one.run("--check").stderr
    tokens.write_text(f"reader {READER} read\nnew {SHOP}2 all\n")
    assert one.client().ok("reload")["applied"] == ["api.tokens: new changed"]
    assert one.client().ok("reload")["applied"] == []
    assert api.ask("GET", "/v1/version", headers=bearer(READER), connection=connection)[0] == 200
    assert api.ask("GET", "/v1/version", headers=bearer(SHOP + "2"))[0] == 200
    assert api.ask("GET", "/v1/version", headers=bearer(SHOP))[0] == 401
    tokens.write_text("reader short read\n")
    assert "the token is wrong" in one.client().error("reload")["message"]
    assert api.ask("GET", "/v1/version", headers=bearer(READER))[0] == 200


def test_api_tokens_stay_when_a_reload_names_none(daemon, tokens):
    """Else an address that other machines reach would be open until the restart."""
    api = Api(tokens=tokens)
    one = daemon(api.section + model())
    for text in (Api(api.port).section, Api(api.port, tokens=tokens.with_name("other")).section):
        tokens.with_name("other").write_text(f"new {SHOP}2 all\n")
        tokens.with_name("other").chmod(0o600)
        one.write_config(text + model())
        assert any("api.tokens" in change for change in one.client().ok("reload")["restart"])
        assert api.ask("GET", "/v1/version")[0] == 401
        assert api.ask("GET", "/v1/version", headers=bearer(SHOP + "2"))[0] == 401
        assert api.ask("GET", "/v1/version", headers=bearer(READER))[0] == 200


def test_api_body_of_a_stranger_is_not_waited_for(daemon, tokens):
    api = Api(tokens=tokens)
    daemon(api.section + model())
    with socket.create_connection(("127.0.0.1", api.port), timeout=DEADLINE) as s:
        s.sendall(b"POST /v1/models/m/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  b"Content-Length: 1000\r\n\r\n{")
        text = b""
        while got := s.recv(65536):  # until the listener ends the connection
            text += got
    assert text.startswith(b"HTTP/1.1 401 ") and b'"no_token"' in text


def test_api_wrong_tokens_are_refused_with_their_line(daemon, tokens):
    def refused(expected, **options):
        result = daemon(Api(**options).section + model(), start=False).run("--check")
        assert result.returncode == 1 and expected in result.stderr, result.stderr

    refused("No such file", tokens=tokens.parent / "none")
    tokens.write_text(f"shop {SHOP} decide\nshop {SHOP}2 decide\n")
    refused(f"{tokens}:2: the name stands there twice", tokens=tokens)
    tokens.write_text(f"shop {SHOP} decide\n")
    result = daemon(Api(host="0.0.0.0", tokens=tokens).section + model(), start=False).run("--check")
    assert result.returncode == 0, result.stderr
    tokens.chmod(0o644)
    refused("everybody can read", tokens=tokens)


RANKS = {"learner": "rank", "arms": None, "trees": None, "height": None, "features": 0, "max_candidates": 8}
PERSONALIZER = "/personalizer/v1.0"


def ranked(event, actions=("pasta", "ice", "juice"), **more):
    return {
        "contextFeatures": [{"time": "morning", "day": {"name": "mon"}}, {"device": "mobile"}],
        "actions": [{"id": a, "features": [{"taste": a}, {"nutrition": {"calories": 100 * i}}]} for i, a in enumerate(actions)],
        "eventId": event, **more}  # fmt: skip


def test_api_probabilities_are_those_that_were_drawn_from(daemon, api):
    daemon(api.section + model() + model("d", learner="dgt") + model("r", **RANKS))
    for name in ("m", "d", "r"):
        for i in range(150):
            x = {"a": i % 3, "b": i % 5} if name == "r" else [i % 3, i % 5, 1]
            more = {"c": [{"k": k, "j": k * i % 3} for k in range(3)]} if name == "r" else {}
            asked = {"id": i, "x": x, "mask": [True, i % 4 > 0, True], "probabilities": True, **more}
            verb = "rank" if name == "r" else "decide"
            got = api.ok(f"/v1/models/{name}/{verb}", asked)
            p = got["probabilities"]
            assert len(p) == 3 and abs(sum(p) - 1) < 1e-9 and min(p) >= 0 and (p[1] == 0) == (i % 4 == 0)
            assert got["p"] == pytest.approx(p[got["a"]], rel=1e-12)
            assert "probabilities" not in api.ok(f"/v1/models/{name}/{verb}", asked)  # of a repeated one they are gone
            api.ok(f"/v1/models/{name}/feedback", {"id": i, "loss": float(got["a"] != i % 3)})
    wrong = {"id": "w", "x": {}, "c": [{}], "order": True, "probabilities": True}
    assert "expected one of them" in api.problem(400, "bad_request", "POST", "/v1/models/r/rank", wrong)


def test_api_personalizer_ranks_and_learns(daemon):
    api = Api(personalizer="p")
    one = daemon(api.section + model("p", **RANKS))
    best = 0
    for i in range(300):
        status, headers, reply = api.ask("POST", f"{PERSONALIZER}/rank", ranked(f"e{i}"))
        assert status == 201 and headers["Content-Type"] == "application/json"
        assert set(reply) == {"ranking", "eventId", "rewardActionId"} and reply["eventId"] == f"e{i}"
        assert [a["id"] for a in reply["ranking"]] == ["pasta", "ice", "juice"]
        assert abs(sum(a["probability"] for a in reply["ranking"]) - 1) < 1e-9
        reward = 1.0 if reply["rewardActionId"] == "ice" else 0.25
        best += i >= 200 and reward == 1.0
        status, headers, nothing = api.ask("POST", f"{PERSONALIZER}/events/e{i}/reward", {"value": reward})
        assert (status, headers["Content-Type"], nothing) == (204, None, None)
    assert best > 80
    state = one.client().model("p")
    assert state["decisions"] == 300 and state["feedback"]["applied"] == 300


def test_api_personalizer_keeps_the_rules_of_the_retired_service(daemon):
    api = Api(personalizer="p")
    one = daemon(api.section + model("p", **RANKS) + model("watched", apprentice=True, **RANKS))
    rank = f"{PERSONALIZER}/rank"
    for i in range(30):
        reply = api.ask("POST", rank, ranked(f"x{i}", excludedActions=["ice"]))[2]
        assert reply["rewardActionId"] != "ice" and reply["ranking"][1]["probability"] == 0
    first = api.ask("POST", rank, ranked("twice"))[2]
    again = api.ask("POST", rank, ranked("twice"))[2]
    assert again["rewardActionId"] == first["rewardActionId"]
    assert api.ask("POST", rank, {"actions": [{"id": "a"}]})[2]["eventId"] != api.ask("POST", rank, {"actions": [{"id": "a"}]})[2][
        "eventId"]
    assert api.ask("POST", rank, ranked("later", deferActivation=True))[0] == 201
    assert api.ask("POST", f"{PERSONALIZER}/events/later/activate")[0] == 204
    nulls = dict.fromkeys(("contextFeatures", "eventId", "excludedActions", "deferActivation"))
    assert api.ask("POST", rank, {**nulls, "actions": [{"id": "a", "features": None}, {"id": "b"}]})[0] == 201
    for body, expected in (
            (ranked("w", deferActivation="yes"), "deferActivation: expected a boolean"), ({}, "actions"), ({"actions": []}, "at least one"), ({"actions": [{"id": 7}]}, "an id, a text"),
            ({"actions": [{"id": "a"}, {"id": "a"}]}, "twice"), ({"actions": [{"id": "a", "features": {}}]}, "features"),
            (ranked("w", contextFeatures={}), "contextFeatures"), (ranked("w", excludedActions=["soup"]), "excludedActions"),
            (ranked("w" * 65), "eventId"), (ranked("w", excludedActions=["pasta", "ice", "juice"]), "mask")):
        assert expected in api.problem(400, "bad_request", "POST", rank, body)
    for value in (1.5, -0.1, "1", None):
        assert "from 0 to 1" in api.problem(400, "bad_request", "POST", f"{PERSONALIZER}/events/x1/reward", {"value": value})
    for path in ("v1.1-preview.1/multislot/rank", "v1.1-preview.3/multislot/rank", "v1.0/multislot/events/e/reward",
                 "v1.1-preview.2/multislot/events/e/activate"):
        api.problem(501, "not_implemented", "POST", "/personalizer/" + path, {})
    assert PERSONALIZER in api.problem(404, "unknown_path", "POST", "/personalizer/v1.0/events/e/fly", {})
    for id in ("x" * 65, "e%ff"):
        assert "64 bytes of UTF-8" in api.problem(400, "bad_request", "POST", f"{PERSONALIZER}/events/{id}/reward", {"value": 1})
    assert one.client().model("p")["decisions"] == 35


def test_api_personalizer_goes_by_the_model_of_the_token_and_shows_the_baseline_of_an_apprentice(daemon, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"web {SHOP} decide,feedback watched\nboth {READER} all\n")
    tokens.chmod(0o600)
    api = Api(tokens=tokens)
    one = daemon(api.section + model("p", **RANKS) + model("watched", apprentice=True, **RANKS))
    key = {"Content-Type": "application/json", "Ocp-Apim-Subscription-Key": SHOP}
    status, _, reply = api.ask("POST", f"{PERSONALIZER}/rank", json.dumps(ranked("e")), key)
    assert (status, reply["rewardActionId"], reply["ranking"][0]) == (201, "pasta", {"id": "pasta", "probability": 1})
    assert api.ask("POST", f"{PERSONALIZER}/rank", json.dumps(ranked("f", excludedActions=["pasta"])), key)[2][
        "rewardActionId"] == "ice"  # the first that is not excluded
    assert one.client().model("watched")["apprentice"]["observed"] == 2
    assert "no model for" in api.problem(404, "unknown_model", "POST", f"{PERSONALIZER}/rank", "{}",
                                         {**key, "Ocp-Apim-Subscription-Key": READER})
    api.problem(401, "no_token", "POST", f"{PERSONALIZER}/rank", "{}", {"Content-Type": "application/json"})
    result = daemon(Api(personalizer="m").section + model(), start=False).run("--check")
    assert result.returncode == 1 and "is no model of learner rank" in result.stderr


def test_api_is_counted(daemon, api):
    port = free_port()
    one = daemon(section("http", {"listen": f"127.0.0.1:{port}"}) + api.section + model())
    api.ok("/v1/version")
    api.problem(404, "unknown_path", "GET", "/x")
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    c.request("GET", "/metrics")
    text = c.getresponse().read().decode()
    assert 'coppice_api_requests_total{status="2xx"} 1\n' in text
    assert 'coppice_api_requests_total{status="4xx"} 1\n' in text
    client = one.client()
    wait_for(lambda: client.status()["api"]["connections"] == 0, "the ends of the connections to be noticed")
    assert client.status()["api"] == {"requests": 2, "refused": 1, "strangers": 0, "forbidden": 0, "limited": 0,
                                       "unanswered": 0, "connections": 0, "ended": 0}


def test_api_memory_does_not_grow_with_requests(daemon, api):
    one = daemon(api.section + model())
    connection = api.connect()

    def some(k):
        for i in range(300):
            api.ok("/v1/models/m/decide", {"id": f"{k}-{i}", "x": X}, connection)
            api.ok("/v1/models/m/feedback", {"id": f"{k}-{i}", "loss": 0}, connection)
            api.ask("POST", "/v1/models/m/decide", "{" * 40, connection=connection)

    some(0)
    before = one.memory()[1]
    some(1)
    assert one.memory()[1] - before < 8


TLS = ROOT / "tests" / "data" / "tls"


class SecureApi(Api):
    """Over TLS, believing the one certificate that is expected."""

    def __init__(self, folder, name="server", **options):
        self.certificate, self.key, self.shown = folder / "api.crt", folder / "api.key", name
        self.put(name)
        super().__init__(certificate=self.certificate, key=self.key, **options)

    def put(self, name):
        """As a renewal does: the files have other contents."""
        self.certificate.write_bytes((TLS / f"{name}.crt").read_bytes())
        self.key.write_bytes((TLS / f"{name}.key").read_bytes())
        self.key.chmod(0o600)

    def connect(self):
        context = ssl.create_default_context(cafile=TLS / f"{self.shown}.crt")
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=DEADLINE, context=context)


def test_api_over_tls_answers_as_it_does_without(daemon, tmp_path):
    api = SecureApi(tmp_path)
    one = daemon(api.section + model())
    connection = api.connect()
    for i in range(50):
        got = api.ok("/v1/models/m/decide", {"id": f"u{i}", "x": X}, connection)
        assert api.ok("/v1/models/m/feedback", {"id": f"u{i}", "loss": 0.5}, connection)["result"] == "applied"
        assert got["id"] == f"u{i}"
    large = {"items": [{"id": f"b{i}", "x": X} for i in range(2000)]}  # more than one record of TLS
    status, _, reply = api.ask("POST", "/v1/models/m/decide_batch", large)
    assert status == 200 and len(json.dumps(reply)) > 1 << 16
    assert one.client().model()["decisions"] == 2050
    assert one.client().ok("status")["api"]["certificate_ends"] == 4949265224  # openssl x509 -enddate
    connection.close()


def test_api_over_tls_takes_no_plain_request_and_no_old_version(daemon, tmp_path):
    api = SecureApi(tmp_path)
    one = daemon(api.section + model())
    with socket.create_connection(("127.0.0.1", api.port), timeout=DEADLINE) as s:
        s.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
        text = b""
        with contextlib.suppress(OSError):  # it may be gone already
            s.shutdown(socket.SHUT_WR)
            while got := s.recv(65536):
                text += got
    assert b"HTTP/" not in text
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=TLS / "server.crt")
        context.minimum_version = context.maximum_version = version
        c = http.client.HTTPSConnection("localhost", api.port, timeout=DEADLINE, context=context)
        c.request("GET", "/v1/version")
        assert c.getresponse().status == 200
        c.close()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(OSError):
        http.client.HTTPSConnection("localhost", api.port, timeout=DEADLINE, context=old).request("GET", "/v1/version")
    one.client().ok("status")


def test_api_certificate_is_renewed_by_a_reload(daemon, tmp_path):
    """Connections stay, new ones are shown the new certificate; a wrong pair changes nothing."""
    api = SecureApi(tmp_path)
    one = daemon(api.section + model())
    old = api.connect()
    assert api.ok("/v1/version", connection=old)
    api.put("renewed")
    one.client().ok("reload")
    with pytest.raises(ssl.SSLCertVerificationError):
        api.ok("/v1/version")
    api.shown = "renewed"
    assert api.ok("/v1/version") and api.ok("/v1/version", connection=old)
    api.key.write_bytes((TLS / "server.key").read_bytes())
    assert "another certificate" in one.client().error("reload")["message"]
    assert api.ok("/v1/version")
    one.write_config(Api(api.port).section + model())
    assert any("api.certificate" in change for change in one.client().ok("reload")["restart"])
    assert api.ok("/v1/version")
    old.close()


def test_api_certificate_that_ends_is_warned_of(daemon, tmp_path):
    api, port = SecureApi(tmp_path, "ended"), free_port()
    pages = section("http", {"listen": f"127.0.0.1:{port}"})
    one = daemon(api.section + pages + model())

    def value(name):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE) as page:
            found = re.search(rf"^{name} (\S+)$", page.read().decode(), re.M)
        return found and float(found[1])

    one.logged("certificate_ends section=api ends=2020-01-31T00:00:00Z")
    assert value("coppice_api_certificate_ends_seconds") == 1580428800
    assert value("coppice_api_certificate_ends_soon") == 1
    api.put("server")
    one.client().ok("reload")
    api.shown = "server"
    assert api.ok("/v1/version") and value("coppice_api_certificate_ends_soon") == 0


@pytest.mark.parametrize(("options", "said"), [
    ({"certificate": TLS / "server.crt"}, "certificate: is alone"), ({"key": TLS / "server.key"}, "key: is alone"),
    ({"certificate": TLS / "none.crt", "key": TLS / "server.key"}, "none.crt"),
    ({"certificate": TLS / "server.crt", "key": TLS / "server.crt"}, "expected")])
def test_api_certificates_are_checked_before_serving(daemon, options, said):
    done = daemon(Api(**options).section + model(), start=False).run("--check")
    assert done.returncode != 0 and said in done.stdout + done.stderr


def test_api_tokens_in_plain_are_warned_of(daemon, tokens, tmp_path):
    secure = SecureApi(tmp_path, host="0.0.0.0", tokens=tokens)
    for api, warned in ((Api(host="0.0.0.0", tokens=tokens), True), (secure, False), (Api(tokens=tokens), False)):
        one = daemon(api.section + model())
        one.logged("event=serving")
        assert ("event=api_plain" in one.log()) == warned
