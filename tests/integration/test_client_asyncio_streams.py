"""AsyncPublisher and AsyncActions of clients/python against a running daemon."""

import asyncio

import pytest
from conftest import model, section, wait_for
from python_client import coppice

NAMES = ("contexts", "feedback", "actions")


@pytest.fixture
def streams(daemon):
    def make(start=True):
        one = daemon(start=False)
        sockets = {"requests": [one.ipc("requests")], **{f"{name}_bind": [one.ipc(name)] for name in NAMES}}
        one.write_config(model(unheard_age="1h") + section("sockets", sockets))
        return one.start() if start else one

    return make


def test_tasks_of_one_loop_lose_nothing(streams):
    """Eight tasks publish, one learns from the actions; every context is decided and learned once."""
    one = streams()

    async def publish(contexts, task):
        for i in range(100):
            if i % 10:
                await contexts.context(f"{task}-{i}", [task, i % 7, 1])
            else:
                assert await contexts.contexts([{"id": f"{task}-{i}", "x": [task, i % 7, 1]}]) == 1

    async def learn(actions, feedback, wanted):
        seen = []
        async for name, action in actions:
            assert name == "m"
            seen.append(action.id)
            await feedback.feedback(action.id, 0.5)
            if len(seen) == wanted:
                return seen

    async def work():
        async with coppice.AsyncPublisher(one.ipc("contexts"), "m", name="web-3") as contexts, coppice.AsyncPublisher(
            one.ipc("feedback"), "m"
        ) as feedback, coppice.AsyncActions(one.ipc("actions"), "m") as actions:
            seen, *_ = await asyncio.gather(
                learn(actions, feedback, 800), *(publish(contexts, task) for task in range(8)))
            assert contexts.published == feedback.published == 800
            return seen

    seen = asyncio.run(work())
    assert sorted(seen) == sorted(f"{task}-{i}" for task in range(8) for i in range(100))
    client = one.client()
    wait_for(lambda: client.model()["learned"] == 800, "the feedback")
    counted = client.model()
    assert counted["contexts"] == {"received": 800, "malformed": 0, "lost": 0}
    assert counted["feedback_stream"] == {"received": 800, "malformed": 0, "lost": 0}


def test_waiting_holds_up_no_other_task(streams):
    """While a call waits for a daemon that is not there, the loop goes on; a call that is cancelled takes nothing."""
    one = streams(start=False)

    async def work():
        async with coppice.AsyncPublisher(one.ipc("contexts"), "m", timeout=120) as contexts, coppice.AsyncActions(
            one.ipc("actions"), "m"
        ) as actions:
            with pytest.raises(coppice.Timeout, match="not subscribed"):
                await contexts.wait_ready(0.01)
            with pytest.raises(coppice.Timeout, match="no action"):
                await actions.receive(0.01)
            first = asyncio.ensure_future(actions.receive())
            waiting = [asyncio.ensure_future(contexts.context(i, [1, 2, 3])) for i in range(2)]
            for _ in range(100):
                await asyncio.sleep(0)
            assert not first.done() and not any(task.done() for task in waiting) and contexts.published == 0
            first.cancel()
            await asyncio.get_running_loop().run_in_executor(None, one.start)
            await asyncio.gather(*waiting)
            got = [(await actions.receive(120))[0][1].id for _ in range(2)]
            assert got == [0, 1] and contexts.published == 2 and first.cancelled()

    asyncio.run(work())


def test_a_full_queue_waits_and_then_times_out(streams):
    one = streams()

    async def fill(contexts):
        while True:
            await contexts.context(contexts.published, [1, 2, 3])

    async def work():
        async with coppice.AsyncPublisher(one.ipc("contexts"), "m", queue=10, timeout=120) as contexts:
            for i in range(500):
                await contexts.context(i, [1, 2, 3])
            client = one.client()
            wait_for(lambda: client.model()["contexts"]["received"] == 500, "all contexts")
            assert client.model()["contexts"]["lost"] == 0
        async with coppice.AsyncPublisher(one.ipc("contexts"), "m", queue=10, timeout=0.05) as contexts:
            await contexts.wait_ready(120)
            one.kill()
            with pytest.raises(coppice.Timeout, match="queue to coppiced is full"):
                await fill(contexts)
            assert 10 <= contexts.published <= 1000

    asyncio.run(work())


def test_bad_input_uses_up_no_number(streams):
    one = streams()

    async def work():
        async with coppice.AsyncPublisher(one.ipc("contexts"), "m") as contexts:
            with pytest.raises(TypeError, match="id"):
                await contexts.contexts([{"x": [1, 2, 3]}])
            with pytest.raises(TypeError, match="x"):
                await contexts.context(1, "text")
            assert await contexts.contexts([]) == 0 and contexts.published == 0
        with pytest.raises(ValueError, match="endpoint"):
            coppice.AsyncActions("nowhere", ["front"])

    asyncio.run(work())
