"""coppiced-streams between real brokers and a daemon: order, bad events, outages, kills; each event is learned once."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import msgpack
import pytest
from brokers import BROKERS, Bridge, bridge_program, engines
from conftest import free_port, model, section, wait_for

X = [0.25, 1.0, 3.5]
PARTITIONS = 2
KILLS = int(os.environ.get("COPPICE_STREAM_KILLS", "2"))  # of each victim
VICTIMS = ("bridge", "daemon", "broker")


@pytest.fixture(params=list(BROKERS))
def broker(request, tmp_path):
    if request.param not in engines():
        pytest.skip(f"coppiced-streams was built without {request.param}: tools/install-deps streams")
    one = BROKERS[request.param](tmp_path).start()
    one.create([f"{kind}{p}" for kind in ("ctx", "fb", "act") for p in range(PARTITIONS)] + ["dead0"])
    yield one
    one.close()


@pytest.fixture
def bridge(tmp_path):
    made = []

    def start(daemon, broker, **options):
        common = {"engine": broker.engine, "servers": broker.servers, "model": "m", "partitions": PARTITIONS}

        def topic(name):  # partitions of Kafka are the topic's own
            return name if broker.engine == "kafka" else f"{name}%p"

        streams = {
            "visits": {**common, "topic": topic("ctx"), "actions": "act%p", "dead": topic("dead"), **options.pop("contexts", {})},
            "rewards": {**common, "topic": topic("fb"), "kind": "feedback", **options.pop("feedback", {})},
        }
        made.append(Bridge(tmp_path, daemon, streams, **options).start())
        return made[-1]

    yield start
    for one in made:
        one.close()


def context(id, **more):
    return json.dumps({"id": id, "x": X, **more}).encode()


def known(client):
    return {(source, partition): tuple(rest) for source, partition, *rest in client.ok("positions", "m")["positions"]}


def decided(client, count):
    wait_for(lambda: client.model()["decisions"] >= count, f"{count} decisions")
    assert client.model()["decisions"] == count


def test_events_go_round(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    for p in range(PARTITIONS):
        broker.add(f"ctx{p}", [context(f"{p}-{i}") for i in range(30)])
        broker.add(f"ctx{p}", [msgpack.packb({"id": f"{p}-{i}", "x": X}) for i in range(30, 60)])
    decided(client, 120)
    for p in range(PARTITIONS):
        wait_for(lambda p=p: len(broker.events(f"act{p}")) >= 60, "the actions")
        actions = [json.loads(a) for a in broker.events(f"act{p}")]
        assert [a["id"] for a in actions] == [f"{p}-{i}" for i in range(60)]  # in order
        assert all({"a", "p", "rev"} <= a.keys() for a in actions)
        broker.add(f"fb{p}", [json.dumps({"id": a["id"], "loss": 0.5}).encode() for a in actions])
    wait_for(lambda: client.model()["rev"] == 120, "the feedback")
    assert client.model()["feedback"]["applied"] == 120
    assert len(known(client)) == 2 * PARTITIONS
    assert carried.stop() == 0 and "event=stopped status=0" in carried.log()


def test_bad_events_are_passed_over(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    port = free_port()
    carried = bridge(one, broker, metrics=f"127.0.0.1:{port}")
    bad = [b"", b"\xc1", b"{", b"[1]", b'{"id": 1}', b'{"id": "w", "x": [1]}', msgpack.packb(7), context("u", t="no"),
           context("v", **{"from": ["x", 0, 1]}), msgpack.packb({"id": "n", "x": [float("nan")] * 3})]  # fmt: skip
    for event in bad:
        broker.add("ctx0", [event, context(f"good{bad.index(event)}")])
    decided(client, len(bad))
    wait_for(lambda: len(broker.events("act0")) == len(bad), "the actions")

    def page():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
            return reply.read().decode()

    wait_for(lambda: f'coppice_streams_dead_total{{stream="visits",partition="0"}} {len(bad)}\n' in page(), "the count")
    wait_for(lambda: f'coppice_streams_events_total{{stream="visits",partition="0"}} {len(bad)}\n' in page(), "the other count")
    wait_for(lambda: carried.log().count("event=event_dead") == len(bad), "the lines")
    wait_for(lambda: len(broker.events("dead0")) == len(bad), "the letters")
    letters = [json.loads(e) for e in broker.events("dead0")]
    assert sorted(bytes.fromhex(e["event"]) for e in letters) == sorted(bad)
    assert all(e["stream"] == "visits" and e["partition"] == 0 and e["code"] and e["reason"] for e in letters)
    wait_for(lambda: f'coppice_streams_put_aside_total{{stream="visits",partition="0"}} {len(bad)}\n' in page(), "their count")


def test_events_that_the_daemon_has_no_room_for_are_passed_over(daemon, broker, bridge):
    """Far longer than its message_limit, at which the daemon ends the connection and answers nothing; and many that are
    too long together."""
    one = daemon(start=False)
    one.write_config(model() + section("sockets", {"requests": [one.ipc("requests")], "message_limit": "16KiB"}))
    one.start()
    client = one.client()
    carried = bridge(one, broker)
    small = [context(f"s{i}", pad="." * 4000) for i in range(100)]
    long = [context("l0", pad="." * 17000), context("l1", pad="." * 300000)]
    broker.add("ctx0", [context("before"), *long, *small, context("after")])
    decided(client, 102)
    wait_for(lambda: len(broker.events("act0")) == 102, "the actions")
    assert [json.loads(a)["id"] for a in broker.events("act0")] == ["before", *(f"s{i}" for i in range(100)), "after"]
    wait_for(lambda: len(broker.events("dead0")) == 2, "the letters")
    letters = [json.loads(e) for e in broker.events("dead0")]
    assert [(e["code"], e["length"]) for e in letters] == [("too_large", len(e)) for e in long]
    assert all("to be at most 16384 (the daemon's message_limit)" in e["reason"] for e in letters)
    assert "event=stream_interrupted" not in carried.log()
    assert client.ok("status", "m")["message_limit"] == 16384


def metric(port, name, **labels):
    """The sum of the samples that have these labels; 0 while there is no page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
            lines = reply.read().decode().splitlines()
    except OSError:
        return 0
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(float(line.split()[-1]) for line in lines
               if line.startswith(name + "{") and all(w in line for w in wanted))  # fmt: skip


def test_lag_and_stages_are_shown(daemon, broker, bridge):
    """Behind a daemon that takes few events, the lag is what the log has and the daemon has not."""
    one = daemon(model(rate=40))
    client = one.client()
    port = free_port()
    broker.add("ctx0", [context(i) for i in range(300)])
    bridge(one, broker, metrics=f"127.0.0.1:{port}")
    wait_for(lambda: 0 < metric(port, "coppice_streams_lag", stream="visits", partition=0) < 300, "the lag")
    behind = metric(port, "coppice_streams_lag", stream="visits", partition=0)
    assert behind >= 300 - client.model()["decisions"]
    client.close()
    assert metric(port, "coppice_streams_stage_events_total", stream="visits", stage="daemon") > 0
    assert metric(port, "coppice_streams_stage_seconds_total", stream="visits", stage="read") > 0
    wait_for(lambda: metric(port, "coppice_streams_assigned") == 2 * PARTITIONS, "all readers")


def test_a_reload_goes_on_where_it_was(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    broker.add("ctx0", [context(i) for i in range(50)])
    wait_for(lambda: "event=stream_reading" in carried.log(), "the readers")
    good = carried.config.read_text()
    carried.config.write_text(good.replace('engine = "', 'engine = "no'))
    carried.signal(signal.SIGHUP)
    wait_for(lambda: "event=reload_failed" in carried.log(), "the refusal")
    assert "expected one that was built in" in carried.log()
    carried.config.write_text(good.replace("timeout = 2", "timeout = 3"))
    carried.signal(signal.SIGHUP)
    wait_for(lambda: "event=reloaded streams=2" in carried.log(), "the reload")
    broker.add("ctx0", [context(i) for i in range(50, 100)])
    decided(client, 100)
    wait_for(lambda: len(broker.events("act0")) >= 100, "the actions")
    assert [json.loads(a)["id"] for a in broker.events("act0")] == list(range(100))
    assert carried.stop() == 0


def test_a_bridge_begins_where_the_daemon_is(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    broker.add("ctx0", [context(i) for i in range(20)])
    decided(client, 20)
    carried.kill()
    broker.add("ctx0", [context(i) for i in range(20, 50)])
    one.kill()
    one.start()
    carried.start()
    client = one.client()
    decided(client, 50)
    wait_for(lambda: len(set(json.loads(a)["id"] for a in broker.events("act0"))) == 50, "the actions")


def test_newest_leaves_out_what_was_there(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    broker.add("ctx0", [context(i) for i in range(5)])
    carried = bridge(one, broker, contexts={"start": "newest"})
    wait_for(lambda: carried.log().count("event=stream_reading") == 2 * PARTITIONS, "the readers")
    broker.add("ctx0", [context(i) for i in range(5, 8)])
    decided(client, 3)


def test_an_outage_of_the_daemon_is_waited_out(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    wait_for(lambda: carried.log().count("event=stream_reading") == 2 * PARTITIONS, "the readers")
    one.kill()
    broker.add("ctx0", [context(i) for i in range(200)])
    wait_for(lambda: "event=stream_interrupted" in carried.log(), "the outage to be noticed")
    one.start()
    client = one.client()
    decided(client, 200)


def test_a_busy_daemon_is_waited_for(daemon, broker, bridge):
    one = daemon(model(rate=100))
    client = one.client()
    port = free_port()
    bridge(one, broker, metrics=f"127.0.0.1:{port}")
    for p in range(PARTITIONS):
        broker.add(f"ctx{p}", [context(f"{p}-{i}") for i in range(200)])
    decided(client, 200 * PARTITIONS)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        page = reply.read().decode()
    assert sum(int(n) for n in re.findall(r'^coppice_streams_waits_total{.*} (\d+)$', page, re.M)) > 0
    assert client.model()["position_repeats"] == 0


def test_a_daemon_that_lost_its_newest_records_gets_the_events_again(daemon, broker, bridge, tmp_path):
    """As after a power cut: the state is what it was some events ago, and the bridge never noticed the restart."""
    one = daemon(model())
    client = one.client()
    bridge(one, broker)
    broker.add("ctx0", [context(i) for i in range(50)])
    decided(client, 50)
    one.kill()
    shutil.copytree(one.state, tmp_path / "older")
    one.start()
    client = one.client()
    broker.add("ctx0", [context(i) for i in range(50, 90)])
    decided(client, 90)
    one.kill()
    shutil.rmtree(one.state)
    shutil.copytree(tmp_path / "older", one.state)
    one.start()
    client = one.client()
    broker.add("ctx0", [context(i) for i in range(90, 100)])
    decided(client, 100)


class Load:
    """Contexts into the broker, feedback for its actions, while something is killed; then the model is compared with the
    broker's own list of what it kept."""

    def __init__(self, daemon, broker, carried, seed):
        self.daemon, self.broker, self.carried = daemon, broker, carried
        self.random = random.Random(seed)
        self.next = 0
        self.acknowledged = set()

    def add(self, kind, p, bodies):
        try:
            self.broker.add(f"{kind}{p}", bodies)
        except (OSError, AssertionError, RuntimeError, AttributeError):
            time.sleep(0.01)
            return  # killed: whatever the broker kept counts
        if kind == "ctx":
            self.acknowledged.update(json.loads(body)["id"] for body in bodies)

    def step(self):
        for p in range(PARTITIONS):
            count = self.random.randrange(1, 40)
            self.add("ctx", p, [context(f"{p}-{self.next + i}") for i in range(count)])
            self.next += count
            self.add("fb", p, [json.dumps({"id": f"{p}-{self.random.randrange(self.next)}", "loss": 0.5}).encode()
                               for _ in range(count // 2)])

    def kill(self, victim):
        """While events are on their way: a writer of its own fills the log until the victim is dead. The mock of Kafka
        would hold its writer, not end it."""
        writing = threading.Event()
        if victim == "broker" and self.broker.engine == "kafka":
            writing.set()
        writer = threading.Thread(target=self.write_until, args=(writing,))
        writer.start()
        one = {"bridge": self.carried, "daemon": self.daemon, "broker": self.broker}[victim]
        time.sleep(0.05 * self.random.random())  # the moment is by chance
        try:
            one.kill()
        finally:
            writing.set()
            writer.join()
        one.start()

    def write_until(self, event):
        while not event.is_set():
            self.step()

    def check(self):
        ids = [json.loads(e)["id"] for p in range(PARTITIONS) for e in self.broker.events(f"ctx{p}")]
        told = sum(len(self.broker.events(f"fb{p}")) for p in range(PARTITIONS))
        client = self.daemon.client()
        feedback = lambda: sum(client.model()["feedback"].values())  # noqa: E731
        wait_for(lambda: client.model()["decisions"] >= len(set(ids)) and feedback() >= told, "all events")
        assert client.model()["decisions"] == len(ids) == len(set(ids))
        assert feedback() == told
        acted = {json.loads(e)["id"] for p in range(PARTITIONS) for e in self.broker.events(f"act{p}")}
        assert acted <= set(ids)
        client.close()
        return len(ids), told, len(self.acknowledged - set(ids))


def test_kills_lose_nothing_and_learn_nothing_twice(daemon, broker, bridge):
    one = daemon(model() + "journal { segment = \"1MiB\" }\n")
    carried = bridge(one, broker)
    load = Load(one, broker, carried, seed=24)
    victims = list(VICTIMS * KILLS)
    load.random.shuffle(victims)
    for victim in victims:
        load.step()
        load.kill(victim)
    load.step()
    events, told, lost = load.check()
    print(f"{KILLS} kills of each: {events} contexts and {told} feedback, each once; the broker lost {lost} acknowledged")


def test_check_says_what_is_wrong(tmp_path):
    path = tmp_path / "wrong.conf"
    path.write_text('daemon = "here"\nstream "s" {\n\tengine = "amqp"\n\tkind = "both"\n\tpartitions = 0\n}\n')
    done = subprocess.run([bridge_program(), "--config", path, "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    for text in ("daemon: 'here' given, expected tcp://HOST:PORT or ipc://PATH", "engine: 'amqp' given",
                 "kind: 'both' given, expected contexts or feedback", "partitions: 0 given, expected 1 to 1024",
                 "model: expected a text"):
        assert text in done.stderr
    for servers in ("redis://127.0.0.1:6379", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:6379,127.0.0.1:6380"):
        if "redis" not in engines():
            break
        part = f'engine = "redis"\n\tservers = "{servers}"\n\ttopic = "t"\n\tmodel = "m"\n'
        path.write_text(f'metrics = "5598"\nstream "s" {{\n\t{part}}}\nstream "again" {{\n\t{part}}}\n')
        command = [bridge_program(), "--config", path, "--check"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "metrics: '5598' given, expected ADDRESS:PORT" in done.stderr
        assert f"servers: '{servers}' given, expected HOST:PORT or the path of a socket" in done.stderr
        assert 'stream "again": topic: stream "s" carries it to the same model; expected it in one' in done.stderr
    path.write_text("epsillon = 3\n")
    done = subprocess.run([bridge_program(), "--config", path, "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"{path}:1: no such option 'epsillon'" in done.stderr


@pytest.mark.parametrize("broker", ["redis", "nats"], indirect=True)
def test_events_that_are_removed_before_they_are_read_are_a_gap(daemon, broker, bridge):
    """While the bridge reads, behind a daemon that takes few events; what is removed behind it is none."""
    one = daemon(model())
    client = one.client()
    port = free_port()
    carried = bridge(one, broker, metrics=f"127.0.0.1:{port}", contexts={"batch": 10})

    def keep(topic, count):
        if broker.engine == "redis":
            broker.call("XTRIM", topic, "MAXLEN", count)
        else:
            assert broker.ask(f"$JS.API.STREAM.PURGE.{topic}", json.dumps({"keep": count}).encode())["success"]

    def all_read(topic, id):
        wait_for(lambda: [json.loads(a)["id"] for a in broker.events(topic)][-1:] == [id], "the last action")
        wait_for(lambda: metric(port, "coppice_streams_lag", stream="visits", partition=topic[-1]) == 0, "no lag")

    broker.add("ctx1", [context(f"v{i}") for i in range(30)])
    all_read("act1", "v29")
    keep("ctx1", 0)
    broker.add("ctx1", [context("v30")])
    all_read("act1", "v30")
    keep("ctx1", 1)
    client.ok("model", "m", {"do": "set", "options": {"rate": 1}})
    broker.add("ctx0", [context(f"u{i}") for i in range(400)])
    wait_for(lambda: client.model()["decisions"] > 31, "the first decision")
    keep("ctx0", 5)
    client.ok("model", "m", {"do": "unset", "options": {"rate": None}})
    all_read("act0", "u399")
    wait_for(lambda: "event=stream_gap" in carried.log(), "the line")
    gaps = [line for line in carried.log().splitlines() if "event=stream_gap" in line]
    assert len(gaps) == 1 and 'stream="visits" partition=0' in gaps[0], gaps
    assert client.model()["decisions"] < 31 + 400 - 300


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_stream_that_was_created_anew_is_not_taken_for_the_former_one(daemon, broker, bridge):
    """Nor when it has grown beyond the position that the daemon knows: what is before would never be read."""
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    broker.add("ctx0", [context(f"u{i}") for i in range(5)])
    wait_for(lambda: len(broker.events("act0")) == 5, "the actions")
    assert carried.stop() == 0
    carried.start()  # the same stream goes on
    broker.add("ctx0", [context("u5")])
    wait_for(lambda: len(broker.events("act0")) == 6, "the action")
    assert carried.stop() == 0
    assert broker.ask("$JS.API.STREAM.DELETE.ctx0", b"")["success"]
    broker.create(["ctx0"])
    broker.add("ctx0", [context(f"w{i}") for i in range(20)])
    carried.start()
    wait_for(lambda: "ctx0: the stream was created anew behind the position 6; expected" in carried.log(), "the line")
    assert carried.stop() == 0 and client.model()["decisions"] == 6
    text = carried.config.read_text()
    carried.config.write_text(text.replace('stream "visits"', 'stream "visits since"'))
    carried.start()
    decided(client, 26)


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_actions_that_no_stream_keeps_are_named_and_sent_once_one_does(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker, contexts={"actions": "later%p"})
    broker.add("ctx0", [context(f"u{i}") for i in range(3)])
    wait_for(lambda: "later0: no stream keeps this subject; expected one that does" in carried.log(), "the line")
    broker.create(["later0"])
    wait_for(lambda: len(broker.events("later0")) == 3, "the actions")
    assert [json.loads(a)["id"] for a in broker.events("later0")] == ["u0", "u1", "u2"]
    assert client.model()["decisions"] == 3


@pytest.mark.parametrize("broker", ["kafka"], indirect=True)
def test_errors_of_a_broker_are_waited_out(daemon, broker, bridge):
    one = daemon(model())
    client = one.client()
    carried = bridge(one, broker)
    wait_for(lambda: carried.log().count("event=stream_reading") == 2 * PARTITIONS, "the readers")
    for key, code in ((1, 6), (0, 7), (8, 16), (9, 14), (2, 6)):  # fetch, produce, commit, committed, list offsets
        broker.command("errors", str(key), str(code), "4")
    for p in range(PARTITIONS):
        broker.add(f"ctx{p}", [context(f"{p}-{i}") for i in range(100)])
    decided(client, 100 * PARTITIONS)
    for p in range(PARTITIONS):
        wait_for(lambda p=p: len({json.loads(a)["id"] for a in broker.events(f"act{p}")}) == 100, "the actions")
