"""Clients that have the endpoints of all instances of a group: its leader is killed, stopped, or hands over, meanwhile."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest
from conftest import DEADLINE, model, wait_for
from test_client_c import prefix, programs  # noqa: F401
from test_failover import LED, group, lead, replica, wait_for_followers
from test_library import ROOT, environment

sys.path.insert(0, str(ROOT / "clients" / "python"))
import coppice  # noqa: E402

WAYS = ("kill", "stop", "follow")


def fail_over(first, second, way):
    """The second leads from here on."""
    if way == "kill":
        first.kill()
    elif way == "stop":
        first.signal(signal.SIGSTOP)
    else:
        first.client().ok("follow")
        first.wait(LED)
    lead(second)


def go_on(first, way):
    if way == "stop":
        first.signal(signal.SIGCONT)
        first.wait(LED)


def check(one, ids):
    client = one.client()
    assert len(ids) > 0 and len(set(ids)) == len(ids)
    for id in ids:
        assert client.feedback("m", id, 0.5) == "duplicate", id
    assert client.model()["decisions"] == client.model()["learned"] == len(ids)


@pytest.mark.parametrize("way", WAYS)
def test_blocking_client_goes_on_to_the_one_that_leads(daemon, way):
    a, b = group(daemon, "a", "b", sync="replica", followers=1)
    lead(a)
    wait_for_followers(a, 1)
    done, failed, enough = [], [], threading.Event()

    def visit(thread):
        i = 0
        while not enough.is_set():
            action = client.decide("m", [1.0, 0.0, i % 2], id=f"{thread}-{i}")
            if client.feedback("m", action.id, 0.25).taken:
                done.append(action.id)
            i += 1

    def run(thread):
        try:
            visit(thread)
        except Exception as error:
            failed.append(error)

    with coppice.Client([b.ipc("requests"), a.ipc("requests")], timeout=DEADLINE, retry_after=0.3) as client:
        threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(done) > 50, "visits")
        fail_over(a, b, way)
        if way == "stop":
            go_on(a, way)
        a.start()
        before = len(done)
        wait_for(lambda: len(done) > before + 50 or failed, "visits after it")
        enough.set()
        for thread in threads:
            thread.join(DEADLINE)
    assert not failed
    check(b, done)


def test_asyncio_client_goes_on_to_the_one_that_leads(daemon):
    a, b = group(daemon, "a", "b", sync="replica", followers=1)
    lead(a)
    wait_for_followers(a, 1)

    async def run():
        done = []
        async with coppice.AsyncClient([a.ipc("requests"), b.ipc("requests")], timeout=DEADLINE, retry_after=0.3) as client:
            async def visit(id):
                action = await client.decide("m", [1.0, 0.0, 1.0], id=id)
                assert (await client.feedback("m", action.id, 0.25)).taken
                done.append(id)

            await asyncio.gather(*(visit(f"one-{i}") for i in range(50)))
            a.kill()
            lead(b)
            a.start()
            await asyncio.gather(*(visit(f"two-{i}") for i in range(50)))
        return done

    check(b, asyncio.run(run()))


def test_lone_endpoint_that_follows_is_an_error(daemon):
    a, _ = group(daemon, "a", "b")
    with coppice.Client(a.ipc("requests"), timeout=5) as client, pytest.raises(coppice.NotLeader):
        client.decide("m", [1.0, 0.0, 0.0])


def test_endpoints_are_needed():
    with pytest.raises(ValueError, match="endpoint: none"):
        coppice.Client([])


@pytest.mark.parametrize("way", ["kill", "follow"])
def test_client_in_c_goes_on_to_the_one_that_leads(daemon, prefix, programs, way):  # noqa: F811
    program = programs(ROOT / "examples" / "client.c")
    a, b = group(daemon, "a", "b", sync="replica", followers=1, models=model("front-page"))
    lead(a)
    wait_for_followers(a, 1)
    words = [program, f"{b.ipc('requests')},{a.ipc('requests')}", "front-page", "800", "7"]
    with subprocess.Popen(words, env=environment(prefix), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        client = a.client()
        wait_for(lambda: client.model("front-page")["learned"] > 100, "visits")
        fail_over(a, b, way)
        a.start()
        wait_for(lambda: replica(b)["followers"], "a follower")
        out = running.communicate(timeout=DEADLINE)[0]
    assert running.returncode == 0, out
    assert b.client().model("front-page")["learned"] == 800
