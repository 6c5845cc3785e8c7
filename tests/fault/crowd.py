"""Clients that decide and give feedback while daemons under them die, and the history of what each of them saw.

A history is a list of entries in the order in which things happened; `n` is an entry's number:

    {n, what: "ask", client, verb: "decide" or "feedback", model, id, loss?}     before it was sent
    {n, what: "told", of: the ask's number, reply}                               when its answer was read
    {n, what: "cut", kept}                                                       before a machine was killed
    {n, what: "start"}, {n, what: "up"}                                          before a daemon starts; when it serves

kept: None, or what the machine's disk certainly still held, where answers promise no more than that:
{"decided": {(model, id)}, "fed": {(model, id)}}.

A client that gets no answer asks again with the same id, at the next endpoint. It gives a decision feedback at once, or
late, or never; asks for decisions that it has, and gives feedback again that was taken. One id has one loss.
"""

import json
import random
import threading
import time

import zmq
from faults import service

PATIENCE = 150  # milliseconds until a request is repeated
LATE = 0.3  # of the decisions get their feedback when others have theirs
MODELS = {"m": 3, "d": 2}  # features


class History:
    def __init__(self):
        self.entries, self.told, self.lock = [], 0, threading.Lock()

    def add(self, what, **fields):
        with self.lock:
            entry = {"n": len(self.entries), "what": what, **fields}
            self.entries.append(entry)
            self.told += what == "told"
        return entry

    def save(self, path):
        with open(path, "w") as file:
            for entry in self.entries:
                file.write(json.dumps(entry, default=sorted) + "\n")


class Client:
    """One that waits for each answer. endpoints: tried in turn."""

    def __init__(self, history, context, endpoints, name, rng):
        self.history, self.context, self.endpoints, self.name, self.rng = history, context, endpoints, name, rng
        self.place, self.socket, self.seq, self.stop = 0, None, 0, False
        self.made, self.open, self.late, self.fed = 0, [], [], []
        self.x = {}

    def reconnect(self, step=1):
        self.close()
        self.place = (self.place + step) % len(self.endpoints)

    def close(self):
        if self.socket is not None:
            self.socket.close(linger=0)
        self.socket = None

    def send(self, verb, model, bodies):
        if self.socket is None:
            self.socket = self.context.socket(zmq.DEALER)
            self.socket.setsockopt(zmq.RECONNECT_IVL, 10)
            self.socket.connect(self.endpoints[self.place])
        self.seq += 1
        body = {**bodies[0], "seq": self.seq}
        if len(bodies) > 1:
            verb, body = verb + "_batch", {"items": bodies, "seq": self.seq}
        self.socket.send_multipart([verb.encode(), model.encode(), service.pack(body)])

    def receive(self):
        """The reply to the last request, or None."""
        while self.socket.poll(PATIENCE):
            reply = service.unpack(self.socket.recv_multipart()[1])
            if reply.get("seq") == self.seq:
                return reply
        return None

    def once(self, verb, model, bodies):
        """The replies to the items, or None when there was no answer."""
        fields = [{k: b[k] for k in ("id", "loss") if k in b} for b in bodies]
        asks = [self.history.add("ask", client=self.name, verb=verb, model=model, **f) for f in fields]
        self.send(verb, model, bodies)
        reply = self.receive()
        if reply is None:
            self.reconnect()
            return None
        replies = reply.get("items", [reply] * len(bodies))
        for ask, one in zip(asks, replies, strict=True):
            one = {k: v for k, v in one.items() if k not in ("seq", "version")}
            self.history.add("told", of=ask["n"], reply=one)
        return replies

    def ask(self, verb, model, bodies):
        """Until there is an answer that is no refusal to each item, or the client is to stop: the answers, or None."""
        answers = {}
        while len(answers) < len(bodies):
            left = [b for b in bodies if b["id"] not in answers]
            if self.stop:
                return None
            replies = self.once(verb, model, left) or []
            for body, reply in zip(left, replies):
                if "code" not in reply:
                    answers[body["id"]] = reply
                elif reply["code"] == "not_leader":
                    self.reconnect()
                    time.sleep(0.005)
                    break
                else:
                    assert reply["code"] in ("not_durable", "busy", "internal"), reply
                    time.sleep(0.002)
        return [answers[b["id"]] for b in bodies]

    # -- what it does --

    def contexts(self, model, ids):
        for id in ids:
            self.x.setdefault(id, [round(self.rng.uniform(-2, 2), 3) for _ in range(MODELS[model])])
        return [{"id": id, "x": self.x[id]} for id in ids]

    def decide(self, model, ids):
        answers = self.ask("decide", model, self.contexts(model, ids))
        return answers is not None

    def feed(self, pairs):
        model = pairs[0][0]
        return self.ask("feedback", model, [{"id": id, "loss": loss_of(id)} for _, id in pairs]) is not None

    def new(self):
        model = self.rng.choice(sorted(MODELS))
        ids = [f"{self.name}-{self.made + i}" for i in range(self.rng.choice((1, 1, 1, 2, 8)))]
        self.made += len(ids)
        if self.decide(model, ids):
            for id in ids:
                (self.late if self.rng.random() < LATE else self.open).append((model, id))

    def some(self, pairs):
        """Up to 8 of them, of one model."""
        model = self.rng.choice(pairs)[0]
        found = [p for p in pairs if p[0] == model]
        return self.rng.sample(found, min(len(found), self.rng.choice((1, 1, 2, 8))))

    def step(self):
        kind = self.rng.random()
        if kind < 0.45 or not self.open:
            self.new()
        elif kind < 0.8 or (kind < 0.86 and len(self.late) > 20):
            pairs = self.open if kind < 0.8 else self.late
            chosen = self.some(pairs)
            # Also when there was no answer: whether it was taken is not known, so it is not asked for as a decision.
            pairs[:] = [p for p in pairs if p not in chosen]
            if self.feed(chosen):
                self.fed += chosen
        elif kind < 0.93:
            pairs = self.some(self.open + self.late)
            self.decide(pairs[0][0], [id for _, id in pairs])
        elif self.fed:
            self.feed(self.some(self.fed[-200:]))

    def run(self, failures):
        try:
            while not self.stop:
                self.step()
        except BaseException as failure:
            failures.append(failure)
        finally:
            self.close()


def loss_of(id):
    return (sum(map(ord, id)) * 7919 % 101) / 100


class Crowd:
    """Some clients, each on a thread. With it as a context they work."""

    def __init__(self, history, context, endpoints, rng, count=6):
        self.history, self.failures = history, []
        self.clients = [
            Client(history, context, endpoints, f"c{i}", random.Random(rng.random())) for i in range(count)
        ]
        self.threads = [threading.Thread(target=c.run, args=(self.failures,)) for c in self.clients]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.stop = True
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures

    def audit(self):
        """When all is over: each id is asked for once more, so that nothing is unknown. Feedback of those for which
        some was sent, the decision of others."""
        asked = {}
        for entry in list(self.history.entries):
            if entry["what"] == "ask":
                kinds = asked.setdefault((entry["model"], entry["id"]), set())
                kinds.add(entry["verb"])
        by_name = {client.name: client for client in self.clients}
        for client in self.clients:
            client.stop = False
            mine = [p for p in asked if by_name[p[1].split("-")[0]] is client]
            for model in MODELS:
                fed = [p for p in mine if p[0] == model and "feedback" in asked[p]]
                waiting = [p[1] for p in mine if p[0] == model and "feedback" not in asked[p]]
                for at in range(0, len(fed), 100):
                    client.feed(fed[at : at + 100])
                for at in range(0, len(waiting), 100):
                    client.decide(model, waiting[at : at + 100])
            client.close()
