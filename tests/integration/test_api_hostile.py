"""Requests over HTTP that break rules, drawn by a seed: each is answered with a status of its kind or loses its connection,
nothing changes, and honest requests are answered beside them (5,000; 50,000 with COPPICE_TORTURE)."""

import json
import os
import random
import socket

from conftest import DEADLINE, grow, model
from test_api import SHOP, Api, X

COUNT = 50000 if os.environ.get("COPPICE_TORTURE") else 5000
SEED = int(os.environ.get("COPPICE_SEED", "20261126"))
LIMIT = 1 << 20  # message_limit by default
TOKEN = f"Authorization: Bearer {SHOP}\r\n"
JSON = "Content-Type: application/json\r\n"
DECIDE = "/v1/models/m/decide"
PATHS = [DECIDE, "/v1/models/m/feedback", "/v1/models/m/decide_batch", "/v1/models/m/feedback_batch",
         "/v1/models/m/activate", "/v1/models/m/explain"]
GONE = 0  # no answer: the connection ended


def request(method, path, body=b"", head=TOKEN + JSON, length=None, version="HTTP/1.1"):
    text = f"{method} {path} {version}\r\nHost: x\r\n{head}"
    if body or method == "POST":
        text += f"Content-Length: {len(body) if length is None else length}\r\n"
    return text.encode("latin-1") + b"\r\n" + body


def post(path, body, **more):
    return request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), **more)


def noise(rng, most):
    return rng.randbytes(rng.randrange(1, most))


def unknown_path(rng):
    path = rng.choice(["/x", "/v1", "/v1/", "/v2/models", "/v1/models/m/fly", "/v1/models/m/decide/x", "/v1/models//decide/",
                       "/metrics", "/personalizer/v1.0/rank/x", "/v1/modelss", "/" + "a" * rng.randrange(1, 2000)])
    return post(path, {"id": 1}), {404}


def bad_method(rng):
    method = rng.choice(["PUT", "DELETE", "PATCH", "GET", "HEAD", "OPTIONS", "TRACE", "FLY"])
    return request(method, rng.choice(PATHS)), {405}


def posted_where_one_reads(rng):
    return post(rng.choice(["/v1/models", "/v1/models/m", "/v1/version"]), {}), {403, 405}


def unknown_model(rng):
    name = rng.choice(["nobody", "M", "m%20", "m%00", "%6d%6d", "x" * 500, "m%2fdecide"])
    return post(f"/v1/models/{name}/decide", {"id": 1, "x": X}), {400, 403, 404, 405}  # a path ends at its %00


def broken_escape(rng):
    return post(f"/v1/models/{rng.choice(['%', '%z', '%zz', 'm%', '%2', '%ff%fe'])}/decide", {"id": 1, "x": X}), {400, 403, 404}


def no_token(rng):
    head = rng.choice(["", "Authorization: Bearer \r\n", "Authorization: Basic YTpi\r\n", "Authorization: " + SHOP + "\r\n",
                       f"Authorization: Bearer {SHOP[:-1]}\r\n", f"Authorization: Bearer {SHOP}x\r\n",
                       "Authorization: Bearer " + "a" * 3000 + "\r\n", "Ocp-Apim-Subscription-Key: x\r\n"])
    return post(rng.choice(PATHS), {"id": 1, "x": X}, head=head + JSON), {401}


def bad_type(rng):
    head = rng.choice(["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonp\r\n", "Content-Type: \r\n",
                       JSON + "Content-Encoding: gzip\r\n", "Content-Type: application/msgpack\r\n"])
    return post(rng.choice(PATHS), {"id": 1, "x": X}, head=TOKEN + head), {415}


def no_json(rng):
    body = rng.choice([b"", b"{", b"[]", b"1", b"null", b"\"id\"", b"{\"id\":}", b"{\"id\":1,}", b"{'id':1}", b"\xff\xfe",
                       b"{\"id\": \"\xc3\x28\"}", b"{\"id\": \"\\ud800\"}", b"{}{}", b"{\"id\":1} x", b"[" * 5000,
                       b"{\"a\":" * 5000, b"{\"id\": 01}", b"{\"id\": 1e}", b"{\"id\": NaN}", b"\x00", b"{\"\\u0000", noise(rng, 300)])
    return post(rng.choice(PATHS), body), {400}


def changed_byte(rng):
    """A good body of which some bytes are others: whatever it means now, it names another model's arms or no id at all."""
    body = bytearray(json.dumps({"x": [0.25, 1.0, "y"], "loss": [], "id": ""}).encode())
    for _ in range(rng.randrange(1, 4)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return post(rng.choice(PATHS[:2] + PATHS[4:]), bytes(body)), {400, 422}


def wrong_values(rng):
    x = rng.choice([[], [1], [1, 2, 3, 4], "x", None, [1, 2, "3"], [[1], 2, 3], {"a": 1}, 5, [1e308, 1e308, 1e39], True])
    return post(DECIDE, {"id": 1, "x": x}), {400, 422}


def wrong_number(rng):
    text = rng.choice(["1e999", "-1e999", "1" * 400, "-", "0x10", "1.", ".5", "Infinity"])
    return post(DECIDE, f'{{"id": 1, "x": [0, 0, {text}]}}'.encode()), {400, 422}


def wrong_id(rng):
    return post(DECIDE, {"id": rng.choice([1.5, None, True, [], {}, "a" * 65, 2**70, -(2**70), ""]), "x": X}), {400}


def wrong_loss(rng):
    loss = rng.choice([-1, 2, 1e300, "0", None, [], [0.5, 0.5], {}, True])
    return post("/v1/models/m/feedback", {"id": "waiting", "loss": loss}), {400, 422}


def wrong_items(rng):
    items = rng.choice([None, 5, "x", {}, [5], [None], [[]], True])
    return post(rng.choice(["/v1/models/m/decide_batch", "/v1/models/m/feedback_batch"]), {"items": items}), {200, 400}


def twice(rng):
    return post(DECIDE, b'{"id": 1, "id": 2, "x": [0, 0, 0]}'), {400}


def too_large(rng):
    if rng.random() < 0.9:  # so much is not read: answered before it was sent, and ended
        return request("POST", DECIDE, length=rng.choice([2**31, 2**62])), {413, 400}
    return post(DECIDE, b" " * (LIMIT + 1)), {413}


def wrong_length(rng):
    length = rng.choice(["-1", "abc", "1 2", "0x10", "+5", "99999999999999999999999", "", "1,1"])
    return request("POST", DECIDE, b"{}" + b" " * 30, length=length), {400, 413, GONE}


def lengths_that_differ(rng):
    return request("POST", DECIDE, b"{}" + b" " * 5, head=TOKEN + JSON + "Content-Length: 2\r\n"), {400, GONE}


def framed_twice(rng):
    head = rng.choice(["Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n"])
    if rng.random() < 0.5:
        return request("POST", DECIDE, b"2\r\n{}\r\n0\r\n\r\n", head=TOKEN + JSON + head), {400}
    return f"POST {DECIDE} HTTP/1.1\r\nHost: x\r\n{TOKEN}{JSON}{rng.choice(['Transfer-Encoding: gzip', 'Transfer-Encoding: x'])}\r\n\r\n".encode(), {400}


def page_and_cookies(rng):
    cookie = rng.choice(["coppice=", "coppice=shop.1.2", "coppice=" + "." * 500, "coppice=shop.99999999999." + "0" * 64, "=;=;;"])
    if rng.random() < 0.5:
        return request("GET", rng.choice(["/v1/models", "/v1/status", "/v1/models/m/history"]), head=f"Cookie: {cookie}\r\n"), {401}
    body = rng.choice([b"", b"{", b"[]", b"{}", b'{"token": 1}', b'{"token": ""}', b'{"token": "' + b"x" * 5000 + b'"}', noise(rng, 50)])
    return post("/login", body, head=JSON), {400, 401, 413}


def wrong_chunks(rng):
    chunks = rng.choice([b"zz\r\n{}\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"2{}\r\n0\r\n\r\n", b"2\r\n{}xx\r\n0\r\n\r\n",
                         b"2;a=b\r\n{}\r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n"])
    head = f"POST {DECIDE} HTTP/1.1\r\nHost: x\r\n{TOKEN}{JSON}Transfer-Encoding: chunked\r\n\r\n"
    return head.encode() + chunks + b"\r\n0\r\n\r\n" * 3, {400, 413, GONE}


def wrong_version(rng):
    version = rng.choice(["HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTP/1", "http/1.1", "HTTP/1.1.1", "FTP/1.1", ""])
    return post(DECIDE, {"id": 1}, version=version), {400, 505, 404, GONE}


def wrong_line(rng):
    line = rng.choice([b"\r\n" * 50 + b"x\r\n\r\n", b"GET\r\n\r\n", b"POST  HTTP/1.1\r\n\r\n", b" / HTTP/1.1\r\n\r\n",
                       b"GET " + b"/a" * 20000 + b" HTTP/1.1\r\n\r\n", b"A" * 5000 + b" / HTTP/1.1\r\n\r\n",
                       b"GET /x HTTP/1.1\r\n: x\r\n\r\n", b"GET /x HTTP/1.1\r\nno colon\r\n\r\n"])
    return line, {400, 401, 404, 405, 413, 414, 431, 501, 505, GONE}


def no_text(rng):
    """What the listener may take for the beginning of a line, and wait for its end."""
    return rng.choice([b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00", noise(rng, 400)]), {400, GONE}


def large_head(rng):
    head = "".join(f"X-{i}: {'v' * rng.randrange(1, 400)}\r\n" for i in range(rng.choice([200, 1000])))
    return request("GET", "/v1/version", head=TOKEN + head), {200, 413, 431, GONE}


def cut(rng):
    whole = post(DECIDE, {"id": "cut", "x": X})
    return whole[: rng.randrange(1, len(whole) - 1)], {400, GONE}


def personalizer(rng):
    path, body = rng.choice([
        ("rank", {"actions": []}), ("rank", {"actions": [{"id": "a"}]}), ("rank", {}), ("events/x/reward", {"value": 2}),
        ("events//reward", {"value": 1}), ("events/x/reward", {"value": "1"}),
        ("events/x/fly", {}), ("multislot/v1.0/rank", {}),
    ])
    return post(f"/personalizer/v1.0/{path}", body), {400, 403, 404, 405, 422, 501}


KINDS = [unknown_path, bad_method, posted_where_one_reads, unknown_model, broken_escape, no_token, bad_type, no_json,
         changed_byte, wrong_values, wrong_number, wrong_id, wrong_loss, wrong_items, twice, too_large, wrong_length, lengths_that_differ, framed_twice, page_and_cookies, wrong_chunks, wrong_version, wrong_line, no_text, large_head, cut, personalizer]  # fmt: skip


def answer(port, sent, waits):
    """The status of the first answer; GONE when the connection ends without one, or when we end it without waiting."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as s:
        try:
            s.sendall(sent)
            while waits and b"\r\n" not in got:
                more = s.recv(4096)
                if not more:
                    break
                got += more
        except ConnectionError:
            pass  # it was ended before all was sent, or with bytes unread
    if not got:
        return GONE
    assert got.startswith(b"HTTP/1."), got[:80]
    return int(got.split(b" ")[1])


def test_api_hostile_requests_are_refused_and_change_nothing(daemon, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"shop {SHOP} decide,feedback,read m\n")
    tokens.chmod(0o600)
    api = Api(tokens=tokens)
    one = daemon(api.section + model())
    client = one.client()
    grow(client)
    client.decide("m", "waiting", X)
    before = client.model()
    rng = random.Random(SEED)
    print("seed", SEED)
    seen = {kind.__name__: set() for kind in KINDS}
    for i in range(COUNT):
        kind = KINDS[i % len(KINDS)]
        sent, allowed = kind(rng)
        status = answer(api.port, sent, kind not in (cut, no_text))
        assert status in allowed, (i, kind.__name__, status, sent[:300])
        seen[kind.__name__].add(status)
        if i % 100 == 0:  # others are served as before
            reply = api.ask("POST", DECIDE, {"id": "waiting", "x": X},
                            {"Content-Type": "application/json", "Authorization": f"Bearer {SHOP}"})
            assert reply[0] == 200 and reply[2]["repeated"] is True
    after = client.model()
    for key in ("decisions", "learned", "pending", "mean_loss", "rev"):
        assert after.get(key) == before.get(key), key
    assert client.feedback("m", "waiting", 0.5) == "applied"
    only_gone = [name for name, statuses in seen.items() if statuses == {GONE} and name not in ("cut", "no_text")]
    assert only_gone == [], only_gone
