"""Killed at any moment, nothing acknowledged is lost and nothing is applied twice; and a process that was killed and
started again is byte for byte the one that never stopped.

COPPICE_KILLS is how often the first test kills in all (default 160), COPPICE_SEED repeats a run.
"""

import os
import signal
import time

import pytest
import zmq
from faults import DIE, FILES, LONG, Ledger, checkpoints, read_checkpoint, seeded, service

KILLS = int(os.environ.get("COPPICE_KILLS", 160))
SYNCS = ("always", "interval", "never")
DAY = "1d"

MODELS = {"ensemble": 3, "dgt": 4, "sparse": None, "value": 2, "last": 3, "brief": 2, "rank": 3}


def models():
    return "".join(
        (
            service.model("ensemble", features=3, reward_window=DAY, explain_keep=4),
            service.model("dgt", "dgt", features=4, reward_window=DAY),
            service.model("sparse", "dgt", features=0, bits=6, reward_window=DAY),
            service.model("value", "value", features=2, reward_window=DAY),
            service.model("rank", "rank", arms=None, features=3, candidate_features=2, reward_window=DAY),
            service.model("last", features=3, reward="last", reward_window=DAY),
            service.model("brief", "dgt", features=2, reward_window="30ms", default_loss=0.5),
        )
    )


def configuration(sync, streams=None):
    text = service.section("journal", {"sync": sync, "interval": "5ms", "segment": "64KiB", "keep": "1MiB"})
    text += service.section("checkpoint", {"every": "1s", "keep": 2})
    if streams:
        text += service.section("sockets", streams)
    return text + models()


class Streams:
    """The stream sockets of one life of the daemon."""

    def __init__(self, daemon, client):
        self.daemon = daemon
        self.contexts = daemon.socket(zmq.XPUB, connect=daemon.ipc("contexts"))
        self.actions = daemon.socket(zmq.SUB, connect=daemon.ipc("actions"), SUBSCRIBE=b"act.")
        self.feedback = daemon.socket(zmq.PUSH, connect=daemon.ipc("pull"))
        assert self.contexts.poll(1000 * service.DEADLINE)  # the daemon's subscription
        self.contexts.recv()
        service.wait_for(lambda: client.status()["streams"]["subscribers"] > 0, "the subscription to actions")

    def take_actions(self, ledger):
        while self.actions.poll(0):
            topic, body = self.actions.recv_multipart()
            name = topic.decode().removeprefix("act.")
            actions = service.unpack(body)
            for action in actions if isinstance(actions, list) else [actions]:
                ledger.told_decision(ledger.items[name][int(action["id"].split("-")[1])], action)

    def close(self):
        for socket in (self.contexts, self.actions, self.feedback):
            self.daemon.clients.remove(socket)
            socket.close()


class Load:
    """Random requests, up to `width` under way at once."""

    NAMES = tuple(MODELS)

    def __init__(self, ledger, client, streams):
        self.ledger, self.client, self.streams = ledger, client, streams
        self.rng = ledger.rng

    def some(self, name, wanted):
        """Up to 8 of the newest items that are as wanted."""
        found = [i for i in self.ledger.items[name][-60:] if wanted(i)]
        return self.rng.sample(found, min(len(found), self.rng.choice((1, 1, 2, 8))))

    def one(self):
        """The next request, or None when it was something else."""
        ledger, rng = self.ledger, self.rng
        name = rng.choice(self.NAMES)
        kind = rng.random()
        if kind < 0.35:
            new = [ledger.new(name, defer=rng.random() < 0.1) for _ in range(rng.choice((1, 1, 1, 5, 20)))]
            return ledger.decide(*new)
        if kind < 0.70:  # also of decisions whose answer has not come yet
            items = self.some(name, lambda i: not i.applied and (i.decided or (i.decided is False and not i.streamed)))
            return ledger.feedback(*items) if items else None
        if kind < 0.75:  # duplicates
            items = self.some(name, lambda i: i.applied)
            return ledger.feedback(*items) if items else None
        if kind < 0.80:  # asked again
            items = self.some(name, lambda i: ledger.repeatable(i) and i.busy == 0)
            return ledger.decide(*items) if items else None
        if kind < 0.85:
            items = self.some(name, lambda i: i.defer and i.decided is True and name not in ledger.brief)
            return ledger.activate(items[0]) if items else None
        if self.streams is not None:
            self.stream(name, kind)
        return None

    def stream(self, name, kind):
        if kind < 0.92:
            new = [self.ledger.new(name) for _ in range(self.rng.choice((1, 4)))]
            for item in new:
                item.decided, item.streamed = False, True
            body = [i.context() for i in new] if len(new) > 1 else new[0].context()
            self.streams.contexts.send_multipart([b"ctx." + name.encode(), service.pack(body)])
            return
        items = self.some(name, lambda i: i.decided is True and not i.applied and i.busy == 0)
        for item in items:
            item.unsure = True
            body = {"id": item.id, "loss": self.ledger.loss(name)}
            self.streams.feedback.send_multipart([b"fb." + name.encode(), service.pack(body)])

    def run(self, seconds, width, least=0):
        """Until the time is over, and so many more feedbacks were acknowledged."""
        end, goal = time.monotonic() + seconds, self.ledger.acknowledged + least
        while time.monotonic() < end or self.ledger.acknowledged < goal:
            assert time.monotonic() < end + service.DEADLINE, "no feedback is acknowledged"
            if len(self.ledger.open) < width:
                request = self.one()
                if request is not None:
                    self.ledger.send(self.client, request)
            self.take(0)

    def take(self, milliseconds):
        while self.client.socket.poll(milliseconds):
            self.ledger.take(*self.client.receive())
        if self.streams is not None:
            self.streams.take_actions(self.ledger)


def end_of(daemon, client, streams):
    """The client's sockets go with the process they spoke to: the next one gets nothing that was meant for it."""
    daemon.clients.remove(client)
    client.close()
    if streams is not None:
        streams.close()


@pytest.mark.parametrize("sync", SYNCS)
def test_kill_at_random_moments_loses_and_repeats_nothing(daemon, sync):
    rng = seeded(sync)
    d = daemon("", start=False)
    endpoints = {"requests": [d.ipc("requests")], "contexts_bind": [d.ipc("contexts")]}
    endpoints |= {"actions_bind": [d.ipc("actions")], "feedback_pull_bind": [d.ipc("pull")]}
    d.write_config(configuration(sync, endpoints))
    ledger = Ledger(rng, MODELS, recorded=["last"], brief=["brief"])
    saver = d.admin()
    kills = 0
    while kills < KILLS // len(SYNCS):
        if rng.random() < 0.1:  # while it starts
            d.launch()
            time.sleep(rng.uniform(0, 0.05))
            d.kill()
            kills += 1
        d.start()
        client = d.client()
        ledger.settle(client)
        streams = Streams(d, client) if rng.random() < 0.5 else None
        load = Load(ledger, client, streams)
        if rng.random() < 0.3:
            load.run(rng.uniform(0, 0.03), 64)
            saver.send("checkpoint")
        load.run(rng.uniform(0, 0.06), rng.choice((1, 8, 64)), least=rng.randrange(40))
        d.kill()
        kills += 1
        load.take(2)  # what had left before it died was acknowledged
        ledger.drop_open()
        end_of(d, client, streams)
    d.start()
    client = d.client()
    ledger.settle(client)
    applied = sum(ledger.applied.values())
    print(f"{sync}: {kills} kills, {ledger.acknowledged} feedbacks acknowledged, {applied} applied")
    assert ledger.acknowledged > 10 * kills
    d.restart()
    ledger.settle(d.client())


# ---- the same bytes ----

BYTES_MODELS = {**MODELS, "sum": 3}
STATE = {"settings", "learner", "pending", "counters"}  # sections that a kill does not change


def script(rng, length):
    """[(seconds to wait, verb, model, body)]: the same whenever it is played."""
    ledger = Ledger(rng, BYTES_MODELS, recorded=["last", "sum"], brief=["brief"])
    steps = []
    for _ in range(length):
        name = rng.choice(tuple(BYTES_MODELS))
        known = ledger.items[name][-40:]
        kind = rng.random()
        if kind < 0.5 or len(known) < 5:
            request = ledger.decide(*[ledger.new(name, rng.random() < 0.1) for _ in range(rng.choice((1, 1, 4)))])
        elif kind < 0.9:
            request = ledger.feedback(*rng.sample(known, rng.choice((1, 1, 3))))
        elif kind < 0.95:
            request = ledger.activate(rng.choice(known))
        elif name in ("ensemble", "dgt"):  # self-contained, of a decision made elsewhere
            item = ledger.new(name)
            body = {"id": item.id, "x": item.x, "a": rng.randrange(3), "p": 0.5, "loss": rng.random()}
            steps.append((0.0, "feedback", name, body))
            continue
        elif name == "rank":
            item = ledger.new(name)
            body = {"id": item.id, "x": item.x, "c": item.c[0], "p": 0.5, "loss": rng.random()}
            steps.append((0.0, "feedback", name, body))
            continue
        else:
            request = ledger.decide(rng.choice(known))
        steps.append((rng.choice((0.0, 0.0, 0.001, 0.02)), request.verb, request.model, request.body))
    return steps


def play(d, fault, steps, kills=()):
    """The models' sections after all steps, on a daemon that is killed before those in `kills`; and all replies."""
    now = 1.7e9
    fault.set(real=now)
    d.start()
    client = d.client()
    replies = []
    for number, (wait, verb, model, body) in enumerate(steps):
        if number in kills:
            client.close()
            d.kill()
            d.start()
            client = d.client()
        if wait > 0:
            now += wait
            fault.set(real=now)
            for _ in range(2):  # the turn that answers the first may have begun before this time
                client.status()  # windows that are over now have ended when the next request is handled
        status, reply = client.request(verb, model, body)
        assert status == "ok" or reply["code"] == "bad_request", reply
        replies.append(reply)
    d.stop()
    fault.set(real=0.0)
    return read_checkpoint(checkpoints(d.state)[-1]), replies


@pytest.mark.parametrize("sync", SYNCS)
def test_killed_and_started_again_is_byte_for_byte_the_one_that_never_stopped(daemon, fault, sync):
    rng = seeded(sync)
    steps = script(rng, 4000 if LONG else 700)
    text = configuration(sync) + service.model("sum", features=3, reward="sum", reward_window="40ms")
    kept, first = play(daemon(text, start=False, env=fault.env), fault, steps)
    kills = set(rng.sample(range(1, len(steps)), 100 if LONG else 12))
    killed, second = play(daemon(text, start=False, env=fault.env), fault, steps, kills)
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        assert a == b, f"reply {number} to {steps[number]} differs; killed before {sorted(kills)}"
    assert kept.keys() == killed.keys() == BYTES_MODELS.keys()
    for name in kept:
        # Names of hashed features help to explain, nothing is learned by them, and records have places alone: of what
        # came since the newest checkpoint a killed daemon knows those that came again.
        same = kept[name].keys() - {"names"}
        assert killed[name].keys() - {"names"} == same and STATE <= same <= {*STATE, "gains"}
        for section in same:
            assert kept[name][section] == killed[name][section], f"{name}: {section} differs"


def masked_script(rng, batches, size):
    """Decisions among some of the arms, and their losses one batch later: enough for an ensemble's trials."""
    steps = []
    for batch in range(batches):
        ids = range(batch * size, (batch + 1) * size)
        items = [{"id": id, "x": [rng.gauss(0, 1) for _ in range(3)]} for id in ids]
        for item in items[::2]:
            item["mask"] = [True, *(rng.random() < 0.5 for _ in range(2))]
        losses = [{"id": id - size, "loss": rng.choice((0, 1))} for id in ids]
        steps.append((0.001, "decide_batch", "m", {"items": items}))
        steps.append((0.0, "feedback_batch", "m", {"items": losses}))
    return steps


def test_killed_while_masked_decisions_wait_is_byte_for_byte_the_one_that_never_stopped(daemon, fault):
    steps = masked_script(seeded("masked"), 45, 100)
    text = service.section("journal", {"sync": "never"}) + service.model("m", features=3, reward_window=DAY)
    kept, first = play(daemon(text, start=False, env=fault.env), fault, steps)
    checkpointed = steps[:87] + [(0.0, "checkpoint", "", {})] + steps[87:]
    killed, second = play(daemon(text, start=False, env=fault.env), fault, checkpointed, {49, 86, 88})
    assert first == second[:87] + second[88:]
    assert kept["m"] == killed["m"] and len(kept["m"]["pending"]) > 100 * 40


# ---- at every system call ----


def test_kill_in_every_call_of_start_service_and_stop_loses_nothing(daemon, fault, tmp_path):
    """In the call: a write has then written its first half, a rename, sync or removal has done nothing."""
    rng = seeded("calls")
    text = configuration("always")
    d = daemon(text, start=False, env=fault.env)
    ledger = Ledger(rng, MODELS, recorded=["last"], brief=["brief"])

    def live():
        """Start, some events, a checkpoint, more events, stop: until the process dies."""
        d.launch()
        client, saver = d.client(), d.admin()
        requests = [
            lambda: ledger.decide(*[ledger.new(n) for _ in range(3)]) for n in MODELS for _ in range(2)
        ]
        alive = talk(d, client, ledger, requests)
        if alive:
            for items in ledger.items.values():
                alive = alive and talk(d, client, ledger, [lambda items=items: ledger.feedback(*items[-4:])])
        if alive:
            saver.send("checkpoint")
            alive = heard(d, saver)
        if alive:
            saver.receive()
            d.signal(signal.SIGTERM)
        d.process.wait(service.DEADLINE)
        client.close()
        ledger.drop_open()

    d.start()
    client = d.client()
    ledger.pipeline(client, [ledger.decide(ledger.new(n)) for n in MODELS])
    client.close()
    d.kill()
    fault.count(FILES)
    live()
    calls = fault.get("count")
    fault.end()
    d.start()
    ledger.settle(d.client())
    d.kill()
    assert calls > 30
    step = 1 if LONG else max(1, calls // 40)
    for nth in range(1 + rng.randrange(step), calls + 1, step):
        fault.begin(FILES, DIE, nth=nth, times=1)
        live()
        fault.end()
        d.start()
        client = d.client()
        ledger.settle(client)
        client.close()
        d.kill()


def heard(d, client):
    """Whether an answer came before the process ended."""
    service.wait_for(lambda: client.socket.poll(5) or d.process.poll() is not None, "an answer or the end")
    return bool(client.socket.poll(5))


def talk(d, client, ledger, requests):
    for make in requests:
        ledger.send(client, make())
        if not heard(d, client):
            return False
        ledger.take(*client.receive())
    return True
