"""The pages over HTTP, as Prometheus and an orchestrator see them: urllib and sockets only."""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import zmq
from conftest import DEADLINE, free_port, grow, model, pack, section, wait_for

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"
X = [0.25, 1.0, 3.5]


class Pages:
    def __init__(self, port=None):
        self.port = port or free_port()
        self.section = section("http", {"listen": f"127.0.0.1:{self.port}"})

    def get(self, path="/metrics", method="GET"):
        """(status, headers, text)"""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as response:
                return response.status, response.headers, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def samples(self):
        """{name with labels: value}"""
        status, _, text = self.get()
        assert status == 200, text
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def families(self):
        """{name: type}"""
        return dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.get()[2], re.M))


@pytest.fixture
def pages():
    return Pages()


def test_metrics_page_has_every_family_of_the_table_with_type_help_and_labels(daemon, pages):
    one = daemon(start=False)
    ridge = {"learner": "ridge", "height": None, "trees": None}
    partition = {"of": 2, "number": 0, "listen": [one.ipc("merge")], "merge": ["r"]}
    sections = section("replica", {"listen": one.ipc("link")}) + section("partition", partition)
    one.write_config(pages.section + sections + model() + model("r", **ridge))
    one.start()
    table = DOCUMENT.read_text().partition("## coppiced-streams")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\| ([^|]+) \|$", table, re.M)
    assert {name: kind for name, kind, _, _ in rows} == pages.families()
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", pages.get()[2], re.M))
    beside = {name: re.sub(r"\(docs/\S+\)", "()", text) for name, text in helps.items()}
    assert {name: re.sub(r"\(\[\S+\]\(\S+\)\)", "()", text) for name, _, _, text in rows} == beside
    labels = {name: set(re.findall(r"`(\w+)`", text)) for name, _, text, _ in rows}
    for sample in pages.samples():
        name = re.sub(r"_(bucket|sum|count)$", "", sample.split("{")[0])
        name = name if name in labels else sample.split("{")[0]
        assert set(re.findall(r'(\w+)="', sample)) - {"le"} == labels[name]


def test_metrics_type_and_length_are_prometheus_text(daemon, pages):
    daemon(pages.section + model())
    status, headers, text = pages.get()
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert int(headers["Content-Length"]) == len(text.encode()) and text.endswith("\n")
    status, headers, text = pages.get(method="HEAD")
    assert (status, text) == (200, "") and int(headers["Content-Length"]) > 1000


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_metrics_promtool_finds_nothing(daemon, pages):
    client = daemon(pages.section + model() + model("front-page.v2_b", learner="value")).client()
    grow(client)
    client.error("decide", "m", {"id": 1})
    client.ok("checkpoint")
    run = subprocess.run(["promtool", "check", "metrics"], input=pages.get()[2], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_metrics_counters_move_with_decisions_and_feedback(daemon, pages):
    client = daemon(pages.section + model() + model("other")).client()
    actions = [client.decide("m", i, X) for i in range(5)]
    client.decide("m", 0, X)
    for i in range(3):
        assert client.feedback("m", i, 0.5) == "applied"
    assert client.feedback("m", 0, 0.5) == "duplicate"
    assert client.feedback("m", "nobody", 0.5) == "unknown"
    s = pages.samples()
    assert s['coppice_decisions_total{model="m"}'] == 5
    assert s['coppice_greedy_decisions_total{model="m"}'] == sum(a["greedy"] for a in actions)
    assert s['coppice_repeated_decisions_total{model="m"}'] == 1
    assert s['coppice_pending_decisions{model="m"}'] == 2
    assert s['coppice_learned_total{model="m"}'] == s['coppice_revision{model="m"}'] == 3
    assert s['coppice_learned_loss{model="m"}'] == 1.5
    results = {"applied": 3, "recorded": 0, "duplicate": 1, "late": 0, "unknown": 1}
    assert {r: s[f'coppice_feedback_total{{model="m",result="{r}"}}'] for r in results} == results
    assert s['coppice_decisions_total{model="other"}'] == 0
    assert s["coppice_requests_total"] == client.status()["requests"]["received"] - 1
    assert s["coppice_decide_duration_seconds_count"] == s['coppice_decide_duration_seconds_bucket{le="+Inf"}'] == 6
    assert 0 < s["coppice_decide_duration_seconds_sum"] < DEADLINE


def test_metrics_count_decisions_by_the_names_of_arms(daemon, pages, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_bytes('plain\nsaid "so" \\ there\ncafé\n'.encode() + b"not utf-8 \xff\n")
    one = daemon(pages.section + model(arms=4, arm_names=names) + model("n", arms=2) + model("many", arms=257))
    client = one.client()
    for i in range(24):
        for name in ("m", "n", "many"):
            client.decide(name, i, X, **({"mask": [arm == i % 4 for arm in range(4)]} if name == "m" else {}))
    client.decide("m", 0, X)  # repeated
    found = {sample: value for sample, value in pages.samples().items() if "arm_decisions" in sample}
    arms = ["plain", r'said \"so\" \\ there', "café", r"not utf-8 \\xff"]
    by_name = {f'coppice_arm_decisions_total{{model="m",arm="{arm}"}}': 6 for arm in arms}
    assert {sample: value for sample, value in found.items() if 'model="m"' in sample} == by_name
    assert sum(found[f'coppice_arm_decisions_total{{model="n",arm="{arm}"}}'] for arm in range(2)) == 24
    assert not any('model="many"' in sample for sample in found)
    if shutil.which("promtool"):
        run = subprocess.run(["promtool", "check", "metrics"], input=pages.get()[2], capture_output=True, text=True)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    names.write_text("a\nb\nc\nd\n")
    client.ok("reload")
    assert pages.samples()['coppice_arm_decisions_total{model="m",arm="a"}'] == 6


MODEL_COUNTERS = {
    "decisions": "decisions_total", "repeated": "repeated_decisions_total", "greedy": "greedy_decisions_total",
    "learned": "learned_total", "defaulted": "defaulted_decisions_total", "dropped": "dropped_decisions_total",
    "evicted": "evicted_decisions_total", "refused": "refused_updates_total",
    "short_contexts": "short_contexts_total", "loss_sum": "learned_loss",
}  # fmt: skip


def test_metrics_and_status_count_alike(daemon, pages):
    client = daemon(pages.section + model(pending_max=4)).client()
    for i in range(9):
        client.decide("m", i, X)
    client.decide("m", 8, X)
    client.feedback("m", 8, 0.25)
    client.feedback("m", 8, 0.25)
    client.ok("checkpoint")
    status, s = client.status(), pages.samples()
    of = next(m for m in status["models"] if m["name"] == "m")
    assert {key: of[key] for key in MODEL_COUNTERS} == {
        key: s[f'coppice_{name}{{model="m"}}'] for key, name in MODEL_COUNTERS.items()}
    assert (of["decisions"], of["evicted"], of["repeated"], of["loss_sum"]) == (9, 5, 1, 0.25)
    for result, count in of["feedback"].items():
        assert s[f'coppice_feedback_total{{model="m",result="{result}"}}'] == count
    for key, name in {"records": "records", "bytes": "bytes", "failures": "failures"}.items():
        assert s[f"coppice_journal_{name}_total"] == status["journal"][key]
    assert s["coppice_checkpoints_written_total"] == status["checkpoint"]["written"] == 1
    assert s["coppice_checkpoint_size_bytes"] == status["checkpoint"]["bytes"] > 0


def test_keys_of_a_model_in_status_are_documented(daemon):
    of = daemon(model()).client().model("m")
    text = DOCUMENT.with_name("protocol.md").read_text()
    table = text[text.index("| key of a model | meaning |"):]
    table = table[:table.index("\n\n")]
    documented = {key for row in re.findall(r"^\| ([^|]*) \|", table, re.M) for key in re.findall(r"`(\w+)`", row)}
    assert set(of) <= documented


def test_metrics_errors_are_counted_by_code(daemon, pages):
    client = daemon(pages.section + model()).client()
    assert client.error("decide", "nobody", {"id": 1, "x": X})["code"] == "unknown_model"
    assert client.error("decide", "m", {"id": 1, "x": X[:2]})["code"] == "bad_features"
    assert client.error("dance")["code"] == "unknown_verb"
    client.ok("decide_batch", "m", {"items": [{"id": 1, "x": X}, {"id": 2, "x": X[:1]}, {"id": 3}]})
    s = pages.samples()
    errors = {k: v for k, v in s.items() if k.startswith("coppice_request_errors_total") and v}
    assert errors == {f'coppice_request_errors_total{{code="{c}"}}': 1 for c in ("unknown_model", "bad_features", "unknown_verb")}
    assert sum(v for k, v in s.items() if k.startswith("coppice_request_item_errors_total")) == 2
    assert s['coppice_request_item_errors_total{code="bad_features"}'] >= 1
    assert s["coppice_decide_duration_seconds_count"] == 0  # neither refused nor batched ones


def test_metrics_streams_are_counted(daemon, pages):
    one = daemon(pages.section + model(), start=False)
    endpoints = {name: one.ipc(name) for name in ("requests", "contexts_bind", "feedback_pull_bind", "actions_bind")}
    one.write_config(pages.section + model() + section("sockets", {k: [v] for k, v in endpoints.items()}))
    one.start()
    client = one.client()
    actions = one.socket(zmq.SUB, connect=endpoints["actions_bind"])
    actions.setsockopt(zmq.SUBSCRIBE, b"act.")
    wait_for(lambda: pages.samples()["coppice_subscribers"] == 1, "the subscription")
    push = one.socket(zmq.PUSH, connect=endpoints["feedback_pull_bind"])
    for n, loss in ((1, 0.5), (2, "much"), (6, 0.5)):
        push.send_multipart([b"fb.m", pack({"id": n, "loss": loss, "src": "s", "n": n})])
    push.send_multipart([b"fb.nobody", b"\x80"])
    wait_for(lambda: pages.samples()["coppice_stream_messages_total"] == 4, "the messages")
    s = pages.samples()
    assert s['coppice_stream_items_total{model="m",stream="feedback"}'] == 3
    assert s['coppice_stream_malformed_total{model="m",stream="feedback"}'] == 1
    assert s['coppice_stream_lost_total{model="m",stream="feedback"}'] == client.model()["feedback_stream"]["lost"] > 0
    assert s['coppice_stream_items_total{model="m",stream="contexts"}'] == 0
    assert s["coppice_stream_unroutable_total"] == 1


def test_metrics_checkpoint_and_process_are_shown(daemon, pages):
    one = daemon(pages.section + model())
    client = one.client()
    before = pages.samples()
    assert before["coppice_checkpoints_written_total"] == before["coppice_checkpoint_size_bytes"] == 0
    assert before["coppice_checkpoint_age_seconds"] >= 0
    written = client.ok("checkpoint")
    s = pages.samples()
    assert s["coppice_checkpoints_written_total"] == s["coppice_checkpoint_duration_seconds_count"] == 1
    assert s["coppice_checkpoints_failed_total"] == 0
    assert s["coppice_checkpoint_size_bytes"] == written["bytes"]
    assert s["coppice_checkpoint_duration_seconds_sum"] == pytest.approx(written["seconds"], abs=1e-8)
    assert s[f'coppice_build_info{{version="{client.status()["version"]}"}}'] == 1
    started = float(Path(f"/proc/{one.process.pid}").stat().st_mtime)
    assert abs(s["process_start_time_seconds"] - started) < DEADLINE
    assert s["process_resident_memory_bytes"] <= s["process_virtual_memory_bytes"]
    assert s["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"] > 0


def test_metrics_after_restart_count_from_zero_and_the_revision_goes_on(daemon, pages):
    one = daemon(pages.section + model())
    grow(one.client(), events=20)
    assert pages.samples()['coppice_learned_total{model="m"}'] == 20
    one.restart()
    s = pages.samples()
    assert s['coppice_learned_total{model="m"}'] == s['coppice_learned_loss{model="m"}'] == 0
    assert s['coppice_revision{model="m"}'] == 20


def test_metrics_many_scrapes_under_load_all_answer(daemon, pages):
    client = daemon(pages.section + model()).client()
    rising, failures = [], []

    def scrape():
        try:
            rising.append([pages.samples()['coppice_decisions_total{model="m"}'] for _ in range(20)])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=scrape) for _ in range(8)]
    for thread in threads:
        thread.start()
    sent = 0
    while any(thread.is_alive() for thread in threads):
        grow(client, events=50, prefix=f"load-{sent}")
        sent += 50
    for thread in threads:
        thread.join()
    assert not failures
    assert all(counts == sorted(counts) for counts in rising) and len(rising) == 8
    s = pages.samples()
    assert s['coppice_decisions_total{model="m"}'] == sent and s["coppice_scrapes_missed_total"] == 0


def test_pages_health_and_readiness_while_serving(daemon, pages):
    daemon(pages.section + model())
    assert pages.get("/healthz")[::2] == (200, "ok\n")
    assert pages.get("/readyz")[::2] == (200, "serving\n")
    assert pages.get("/readyz", method="HEAD")[::2] == (200, "")


def test_pages_other_paths_and_methods_are_refused(daemon, pages):
    daemon(pages.section + model())
    for path in ("/", "/metric", "/metrics/x", "/%2e%2e/etc/passwd"):
        assert pages.get(path)[0] == 404
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, headers, _ = pages.get(method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_pages_without_section_are_off(daemon, pages):
    daemon(model())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", pages.port), timeout=DEADLINE)


def test_start_with_taken_port_names_it(daemon, pages):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", pages.port))
        taken.listen()
        one = daemon(pages.section + model(), start=False)
        run = one.run("--foreground")
    assert run.returncode == 1
    assert f"http: listen: cannot bind 127.0.0.1:{pages.port}: Address already in use" in run.stderr


def test_metrics_after_the_process_stood_still_go_on(daemon, pages):
    one = daemon(pages.section + model())
    one.signal(signal.SIGSTOP)
    try:
        with socket.create_connection(("127.0.0.1", pages.port), timeout=DEADLINE) as waiting:
            waiting.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            one.signal(signal.SIGCONT)
            assert waiting.recv(16).startswith((b"HTTP/1.1 200", b"HTTP/1.1 503"))
    finally:
        one.signal(signal.SIGCONT)
    wait_for(lambda: pages.get()[0] == 200, "the page")


def test_stop_with_scrapes_and_idle_connections_ends(daemon, pages):
    one = daemon(pages.section + model())
    held = [socket.create_connection(("127.0.0.1", pages.port), timeout=DEADLINE) for _ in range(10)]
    held[0].sendall(b"GET /metr")
    stopped, answers = threading.Event(), []

    def scrape():
        while not stopped.is_set():
            try:
                answers.append(pages.get()[0])
            except OSError:
                pass  # gone, in the midst of it or before

    threads = [threading.Thread(target=scrape) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(answers) > 10, "scrapes")
    one.signal(signal.SIGTERM)
    try:
        one.wait()
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        for connection in held:
            connection.close()
    assert set(answers) <= {200, 503}


def test_connections_beyond_the_bound_end_the_oldest(daemon, pages):
    client = daemon(pages.section + model()).client()
    held = [socket.create_connection(("127.0.0.1", pages.port), timeout=DEADLINE) for _ in range(300)]
    for connection in held[::2]:
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")  # and no more
        except OSError:
            pass  # it was ended already
    client.ok("status")  # serving does not mind
    for path in ("/healthz", "/readyz", "/metrics"):
        assert pages.get(path)[0] == 200
    with contextlib.suppress(ConnectionResetError):  # so it ends where not all that it sent was read
        assert held[0].recv(1) == b""
    for connection in held:
        connection.close()
