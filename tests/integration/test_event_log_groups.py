"""Members of one consumer group of Kafka share out a topic's partitions: whatever moves them, each event is in the model
once, and actions come again only after a kill, as documented."""

import json
import os
import random

import pytest
from brokers import Bridge, Kafka, engines
from conftest import model, wait_for

PARTITIONS = 4
CHANGES = int(os.environ.get("COPPICE_STREAM_KILLS", "3"))
STRATEGIES = ["cooperative-sticky", "range"] if CHANGES > 3 else ["cooperative-sticky"]
CODES = {"fetch": (1, 6), "produce": (0, 7), "commit": (8, 16), "committed": (9, 14), "join": (11, 15), "sync": (14, 27),
         "heartbeat": (12, 25), "coordinator": (10, 15), "list offsets": (2, 6), "metadata": (3, 5)}  # fmt: skip


@pytest.fixture
def broker(tmp_path):
    if "kafka" not in engines():
        pytest.skip("coppiced-streams was built without kafka: tools/install-deps streams")
    one = Kafka(tmp_path).start()
    one.create([f"ctx{p}" for p in range(PARTITIONS)] + [f"fb{p}" for p in range(PARTITIONS)] + ["act0"])
    yield one
    one.close()


@pytest.fixture
def member(tmp_path, broker):
    made = []

    def start(daemon, **options):
        common = {"engine": "kafka", "servers": broker.servers, "model": "m", "partitions": PARTITIONS, "options": [
            "session.timeout.ms=3000", "heartbeat.interval.ms=300", "topic.metadata.refresh.interval.ms=2000",
            "reconnect.backoff.ms=50", "reconnect.backoff.max.ms=500", *options.pop("kafka", [])]}  # fmt: skip
        streams = {
            "visits": {**common, "topic": "ctx", "actions": "act0", "group": "visitors"},
            "rewards": {**common, "topic": "fb", "kind": "feedback", "group": "rewarders"},
        }
        made.append(Bridge(tmp_path, daemon, streams, f"member{len(made)}", **options).start())
        return made[-1]

    yield start
    for one in made:
        one.close()


def has(member, stream="visits"):
    """The partitions that it says to have."""
    found = set()
    for line in member.log().splitlines():
        if f'stream="{stream}"' not in line:
            continue
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if words.get("event") == "partition_assigned":
            found.add(int(words["partition"]))
        elif words.get("event") == "partition_revoked":
            found.discard(int(words["partition"]))
    return found


def shared_out(*members):
    parts = [has(m) for m in members]
    return set().union(*parts) == set(range(PARTITIONS)) and sum(map(len, parts)) == PARTITIONS and all(parts)


class Load:
    def __init__(self, broker, seed):
        self.broker, self.random = broker, random.Random(seed)
        self.ids = [[] for _ in range(PARTITIONS)]
        self.told = 0

    def step(self, count=25):
        for p in range(PARTITIONS):
            fresh = [f"{p}-{len(self.ids[p]) + i}" for i in range(count)]
            self.ids[p] += fresh
            self.broker.add(f"ctx{p}", [json.dumps({"id": id, "x": [0.25, 1.0, 3.5]}).encode() for id in fresh])
            self.broker.add(f"fb{p}", [json.dumps({"id": id, "loss": 0.5}).encode() for id in fresh[::2]])
            self.told += len(fresh[::2])

    def actions(self):
        return [json.loads(e)["id"] for e in self.broker.events("act0")]

    def check(self, client, repeats):
        """Each event once in the model, and each action in the topic, once unless repeats are allowed."""
        sent = sum(map(len, self.ids))
        # A partition whose leader is moving may seem to have fewer than it has.
        told = lambda: sum(len(self.broker.events(f"fb{p}")) for p in range(PARTITIONS))  # noqa: E731
        taken = lambda: (client.model()["decisions"], sum(client.model()["feedback"].values()))  # noqa: E731
        wait_for(lambda: taken() >= (sent, self.told), f"{sent} contexts and {self.told} feedback")
        wait_for(lambda: len(set(self.actions())) == sent, "the actions")
        wait_for(lambda: told() >= self.told and taken() == (sent, told()), "the model to have what the log has, and no more")
        found = self.actions()
        for p in range(PARTITIONS):
            first = list(dict.fromkeys(id for id in found if id.startswith(f"{p}-")))
            assert first == self.ids[p]  # in order, whoever had the partition
        assert repeats or len(found) == sent


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_partitions_move_when_members_come_and_go(daemon, broker, member, strategy):
    kafka = [f"partition.assignment.strategy={strategy}"]
    one = daemon(model())
    client = one.client()
    load = Load(broker, seed=1)
    first = member(one, kafka=kafka)
    load.step()
    wait_for(lambda: has(first) == set(range(PARTITIONS)), "all partitions at the first member")
    second = member(one, kafka=kafka)
    wait_for(lambda: load.step(2) or shared_out(first, second), "both to have partitions")
    load.step()
    assert first.stop() == 0
    wait_for(lambda: has(second) == set(range(PARTITIONS)), "all partitions at the second member")
    load.step()
    load.check(client, repeats=False)
    assert client.model()["position_repeats"] == 0


def test_errors_and_moves_of_the_cluster_are_waited_out(daemon, broker, member):
    one = daemon(model())
    client = one.client()
    load = Load(broker, seed=2)
    members = [member(one), member(one)]
    wait_for(lambda: shared_out(*members), "both to have partitions")
    for name, (key, code) in CODES.items():
        broker.command("errors", str(key), str(code), "3")
        load.step(5)
        if name in ("commit", "join"):
            for group in ("visitors", "rewarders", "coppice-visits"):
                broker.command("coordinator", group, str(load.random.randrange(1, 4)))
        for topic in ("ctx", "act"):
            broker.command("leader", topic if topic == "ctx" else "act0", "0", str(load.random.randrange(1, 4)))
    broker.command("down", "2")
    for p in range(PARTITIONS):
        broker.command("leader", "ctx", str(p), "1")
        broker.command("leader", "fb", str(p), "3")
    broker.command("leader", "act0", "0", "1")
    load.step(5)
    broker.command("up", "2")
    load.step(5)
    load.check(client, repeats=True)


def test_members_killed_at_any_moment_repeat_nothing_in_the_model(daemon, broker, member):
    one = daemon(model())
    load = Load(broker, seed=3)
    members = [member(one), member(one)]
    for _ in range(CHANGES):
        for _ in range(load.random.randrange(1, 4)):
            load.step(load.random.randrange(1, 30))
        victim = load.random.choice(members)
        what = load.random.choice(("kill", "stop", "outage", "daemon"))
        if what == "outage":
            broker.kill()
            broker.start()
        elif what == "daemon":
            one.kill()
            one.start()
        else:
            getattr(victim, what)()
            victim.start()
    load.check(one.client(), repeats=True)


def test_a_partition_beyond_those_configured_is_named(daemon, broker, member):
    one = daemon(model())
    broker.command("create", "wide", str(PARTITIONS + 1))
    carried = member(one)
    text = carried.config.read_text().replace('topic = "ctx"', 'topic = "wide"')
    carried.kill()
    carried.config.write_text(text)
    carried.start()
    wait_for(lambda: f"event=partition_beyond stream=\"visits\" partition={PARTITIONS} group=\"visitors\" expected_below={PARTITIONS}" in carried.log(), "the line")
