"""The daemon is killed and started again under the client of clients/python: nothing that was acknowledged is lost, and
nothing is done twice, by the daemon's own journal. COPPICE_TORTURE: a hundred kills instead of ten."""

import asyncio
import json
import os
import random
import subprocess
import threading

import pytest
from faults import seeded, service
from python_client import coppice

KILLS = 100 if os.environ.get("COPPICE_TORTURE") else 10
WORKERS = 8
APPLIED, DUPLICATE = 0, 2  # results of a feedback, as the journal has them
BETWEEN = (1, 200)  # answers between two kills


class Ledger:
    """What was acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.decided, self.learned = {}, {}
        self.repeated = 0
        self.stop = False

    def count(self):
        return len(self.decided) + len(self.learned)

    def decide(self, action):
        with self.lock:
            assert action.durable and action.id not in self.decided
            self.decided[action.id] = (action.a, action.p)
            self.repeated += action.repeated

    def learn(self, id, loss, result):
        with self.lock:
            assert result.taken, result
            self.learned[id] = loss


def work(client, ledger, number, failures):
    rng = random.Random(number)
    try:
        while not ledger.stop:
            action = client.decide("m", [rng.random() for _ in range(3)])
            ledger.decide(action)
            loss = rng.randrange(5) / 4
            ledger.learn(action.id, loss, client.feedback("m", action.id, loss))
    except BaseException as failure:
        failures.append(failure)


async def task(client, ledger, number):
    rng = random.Random(number)
    while not ledger.stop:
        action = await client.decide("m", [rng.random() for _ in range(3)])
        ledger.decide(action)
        loss = rng.randrange(5) / 4
        ledger.learn(action.id, loss, await client.feedback("m", action.id, loss))


class Workers:
    """Threads of one Client, or one thread with the tasks of an AsyncClient."""

    def __init__(self, kind, one, ledger):
        self.kind, self.endpoint, self.ledger = kind, one.ipc("requests"), ledger
        self.failures, self.messages = [], None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        options = {"timeout": service.DEADLINE, "retry_after": 0.5}
        try:
            if self.kind == "AsyncClient":
                asyncio.run(self.tasks(options))
                return
            with coppice.Client(self.endpoint, **options) as client:
                threads = [
                    threading.Thread(target=work, args=(client, self.ledger, n, self.failures)) for n in range(WORKERS)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.messages = client.messages
        except BaseException as failure:
            self.failures.append(failure)

    async def tasks(self, options):
        async with coppice.AsyncClient(self.endpoint, **options) as client:
            await asyncio.gather(*(task(client, self.ledger, number) for number in range(WORKERS)))
            self.messages = client.messages


def records(daemon, kind):
    command = [service.program("COPPICE"), "journal", "dump", str(daemon.state), "--type", kind, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=service.DEADLINE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def learned(daemon):
    """{id: loss} of the feedback that was applied, which none may have been twice; the rest must be duplicates."""
    found = {}
    for record in records(daemon, "feedback"):
        assert record["r"] == (DUPLICATE if record["id"] in found else APPLIED), record
        (loss,) = record["loss"]
        assert found.setdefault(record["id"], loss) == loss
    return found


@pytest.mark.parametrize("kind, sync", (("Client", "always"), ("Client", "interval"), ("AsyncClient", "always")))
def test_killed_under_the_client_nothing_is_lost_and_nothing_twice(daemon, kind, sync):
    rng = seeded(f"{kind} killed, {sync}")
    text = service.section("journal", {"sync": sync, "keep": "1GiB"}) + service.model(reward_window="1d")
    one = daemon(text)
    ledger = Ledger()
    workers = Workers(kind, one, ledger)
    try:
        for _ in range(KILLS):
            goal = ledger.count() + rng.randint(*BETWEEN)
            service.wait_for(lambda: ledger.count() >= goal or workers.failures, "the workers")
            one.kill()
            one.start()
    finally:
        ledger.stop = True
        workers.thread.join()
    assert not workers.failures, workers.failures
    assert workers.messages[1] > 0  # the kills were felt
    one.stop()
    journaled = {}
    for record in records(one, "decision"):
        assert record["id"] not in journaled, record
        journaled[record["id"]] = (record["a"], record["p"])
    assert journaled == ledger.decided
    assert learned(one) == ledger.learned
