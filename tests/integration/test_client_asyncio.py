"""AsyncClient of clients/python against a running daemon. What it shares with Client is in test_client_python.py."""

import asyncio

import pytest
from conftest import model, spoiled
from python_client import coppice


def with_client(one, work, endpoint=None, **options):
    async def run():
        async with coppice.AsyncClient(endpoint or one.ipc("requests"), **options) as client:
            return await work(client)

    return asyncio.run(run())


def test_every_method(daemon):
    one = daemon(model(reward_window="1h") + model("r", "rank", arms=None, features=2, candidate_features=1))

    async def work(client):
        action = await client.decide("m", [0.5, 1, 0], defer=True)
        assert (await client.explain("m", id=action.id))["a"] == action.a
        assert (await client.activate("m", action.id)).result == "applied"
        assert (await client.reward("m", action.id, 1.0)).result == "applied"
        assert (await client.feedback("m", action.id, 0.0)).result == "duplicate"
        ranked = await client.rank("r", [1, 0], [[0.1], [0.2]], order=True)
        assert sorted(ranked.order) == [0, 1]
        assert (await client.rank_many("r", [{"id": 1, "x": [1, 0], "c": [[0.5]]}]))[0].a == 0
        decided = await client.decide_many("m", [{"id": 1, "x": [1, 2, 3]}, {"id": 2, "x": []}])
        assert decided[0].id == 1 and decided[1].code == "bad_features"
        assert (await client.feedback_many("m", [{"id": 1, "loss": 0}]))[0].result == "applied"
        with pytest.raises(coppice.Forbidden):
            await client.request("checkpoint")
        assert (await client.status("m"))["models"][0]["decisions"] == 2
        for attempt, kind in ((client.decide("m", [1]), coppice.BadFeatures), (client.decide("m", "x"), TypeError),
                              (client.decide("n", [1]), coppice.UnknownModel)):
            with pytest.raises(kind):
                await attempt

    with_client(one, work)


def test_64_calls_at_once_are_one_message(daemon):
    one = daemon()

    async def work(client):
        for turn in range(4):
            actions = await asyncio.gather(*(client.decide("m", [i, turn, 1], id=f"{turn}-{i}") for i in range(64)))
            assert [action.id for action in actions] == [f"{turn}-{i}" for i in range(64)]
        return client.messages

    assert with_client(one, work, retry_after=60) == (4, 0)
    assert one.client().model()["decisions"] == 256


def test_calls_gather_while_a_message_is_under_way(daemon):
    """As many tasks as a service has, each at its own pace."""
    one = daemon()

    async def visitor(client, number):
        for turn in range(6):
            await asyncio.sleep(0.0001 * (number % 7))
            action = await client.decide("m", [number, turn, 1])
            assert (await client.feedback("m", action.id, 0.5)).result == "applied"

    async def work(client):
        await asyncio.gather(*(visitor(client, number) for number in range(100)))
        return client.messages[0]

    assert with_client(one, work) <= 1200 / 4


def test_time_is_over_without_a_daemon_and_a_cancelled_call_is_forgotten(daemon):
    one = daemon(start=False)

    async def work(client):
        with pytest.raises(coppice.Timeout):
            await client.decide("m", [1, 2, 3], timeout=0.05)
        call = asyncio.ensure_future(client.decide("m", [1, 2, 3], id="cancelled"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        waiting = asyncio.ensure_future(client.decide("m", [1, 2, 3], id="patient", timeout=120))
        await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, one.start)
        assert (await waiting).id == "patient"

    with_client(one, work, timeout=0.2)


def test_lost_answers_are_asked_for_again(daemon):
    one = daemon()
    lost = []

    def lose_the_first(reply):
        if lost:
            return reply
        lost.append(reply)
        return {**reply, "seq": "nobody's"}

    async def work(client):
        return await client.decide("m", [1, 2, 3], timeout=60)

    with spoiled(one, b"decide", lose_the_first) as endpoint:
        action = with_client(one, work, endpoint, retry_after=0.05)
    assert action.repeated and action.p == lost[0]["p"]


def test_closing_ends_calls_that_wait(daemon):
    async def run():
        client = coppice.AsyncClient(daemon(start=False).ipc("requests"), timeout=600)
        call = asyncio.ensure_future(client.decide("m", [1, 2, 3]))
        await asyncio.sleep(0)
        await client.close()
        for attempt in (call, client.status()):
            with pytest.raises(coppice.Closed):
                await attempt

    asyncio.run(run())
