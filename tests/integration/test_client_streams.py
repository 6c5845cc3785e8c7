"""Publisher and Actions of clients/python against a running daemon."""

import pytest
from conftest import model, section, wait_for
from python_client import coppice

NAMES = ("contexts", "feedback", "actions")


@pytest.fixture
def streams(daemon):
    def make(text=None, start=True):
        one = daemon(start=False)
        sockets = {"requests": [one.ipc("requests")], **{f"{name}_bind": [one.ipc(name)] for name in NAMES}}
        one.write_config((text or model(unheard_age="1h")) + section("sockets", sockets))
        return one.start() if start else one

    return make


def test_pipeline_loses_nothing_from_the_first_message_on(streams):
    one = streams()
    with coppice.Publisher(one.ipc("contexts"), "m", name="web-3") as contexts, coppice.Publisher(
        one.ipc("feedback"), "m"
    ) as feedback, coppice.Actions(one.ipc("actions"), "m") as actions:
        contexts.context("single", [1, 2, 3], mask=[False, True, True])
        for start in range(0, 3000, 50):
            assert contexts.contexts({"id": i, "x": [i % 7, 1, 2]} for i in range(start, start + 50)) == 50
        got = []
        while len(got) < 3001:
            message = actions.receive(120)
            got += [action for name, action in message if name == "m"]
            feedback.feedbacks([{"id": action.id, "loss": 0.5} for _, action in message])
        assert [action.id for action in got] == ["single", *range(3000)] and got[0].a in (1, 2)
        feedback.feedback("single", 0.5)
        assert contexts.published == 3001
        client = one.client()
        wait_for(lambda: client.model()["feedback_stream"]["received"] == 3002, "the feedback")
    counted = client.model()
    assert (counted["learned"], counted["feedback"]["duplicate"]) == (3001, 1)
    assert counted["contexts"] == {"received": 3001, "malformed": 0, "lost": 0}
    assert counted["feedback_stream"]["lost"] == 0


def test_lost_numbers_are_counted(streams):
    one = streams()
    with coppice.Publisher(one.ipc("contexts"), "m") as contexts:
        contexts.context(1, [1, 2, 3])
        contexts.published += 5  # as if five had been lost on the way
        contexts.context(2, [1, 2, 3])
        client = one.client()
        wait_for(lambda: client.model()["contexts"]["received"] == 2, "both contexts")
    assert client.model()["contexts"]["lost"] == 5


def test_publisher_waits_for_the_daemon_and_for_the_next_one(streams):
    one = streams(start=False)
    with coppice.Publisher(one.ipc("contexts"), "m", timeout=0.05) as contexts:
        with pytest.raises(coppice.Timeout, match="not subscribed"):
            contexts.context(1, [1, 2, 3])
        assert contexts.published == 0
        one.start()
        contexts.wait_ready(120)
        with coppice.Actions(one.ipc("actions"), "m") as actions:
            contexts.context(1, [1, 2, 3])
            assert actions.receive(120)[0][1].id == 1
            for turn in range(3):
                one.kill()
                one.start()
                contexts.context(f"after-{turn}", [1, 2, 3])
                while actions.receive(120)[0][1].id != f"after-{turn}":
                    pass


def test_what_is_published_while_the_daemon_is_away_waits_until_the_queue_is_full(streams):
    one = streams()
    with coppice.Publisher(one.ipc("contexts"), "m", queue=10, timeout=0.05) as contexts:
        contexts.context("first", [1, 2, 3])
        client = one.client()
        wait_for(lambda: client.model()["contexts"]["received"] == 1, "the context")
        one.kill()
        with pytest.raises(coppice.Timeout, match="queue to coppiced is full"):
            while True:
                contexts.context(contexts.published, [1, 2, 3])
        assert 10 <= contexts.published <= 1000
        one.start()
        with coppice.Actions(one.ipc("actions"), "m") as actions:
            last = contexts.published - 1
            while actions.receive(120)[0][1].id != last:
                pass


def test_a_full_queue_waits_instead_of_dropping(streams):
    one = streams()
    with coppice.Publisher(one.ipc("contexts"), "m", queue=4, timeout=120) as contexts:
        for i in range(2000):
            contexts.context(i, [1, 2, 3])
        client = one.client()
        wait_for(lambda: client.model()["contexts"]["received"] == 2000, "all contexts")
        assert client.model()["contexts"]["lost"] == 0


def test_topics_and_bad_input(streams):
    one = streams(model("front", unheard_age="1h") + model("front-page", unheard_age="1h"))
    with coppice.Publisher(one.ipc("contexts"), "front-page") as page, coppice.Publisher(
        one.ipc("contexts"), "front"
    ) as front, coppice.Actions(one.ipc("actions"), "front") as actions:
        page.context("page", [1, 2, 3])
        client = one.client()
        wait_for(lambda: client.model("front-page")["contexts"]["received"] == 1, "the context")
        front.context("front", [1, 2, 3])
        assert next(iter(actions))[1].id == "front"
        assert client.model("front-page")["decisions"] == 1  # its action came, to be passed over
        with pytest.raises(coppice.Timeout, match="no action"):
            actions.receive(0)
        with pytest.raises(TypeError, match="id"):
            front.contexts([{"x": [1, 2, 3]}])
        with pytest.raises(TypeError, match="x"):
            front.context(1, "text")
        assert front.contexts([]) == 0 and front.published == 1
    with pytest.raises(ValueError, match="endpoint"):
        coppice.Actions("nowhere", ["front"])
