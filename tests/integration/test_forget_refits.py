"""Forgetting with refits: challengers that were fitted to what is forgotten go, with all that the journal has of them."""

import shutil

import journal_bytes
import pytest
from conftest import model, section, wait_for
from test_forget import forget, model_set, models, newest, records, without
from test_refit import best, challengers, context, ended, refit_model, teach

DISK = section("checkpoint", {"every": "1h", "keep": 9}) + section("journal", {"sync": "never"})



def visit(client, count=10, start=0):
    """Decisions of tom, all of them answered."""
    for i in range(start, start + count):
        x = context(i * 7)
        arm = client.ok("decide", "m", {"id": f"tom-{i}", "unit": "tom", "x": x})["a"]
        client.feedback("m", f"tom-{i}", 0.1 if arm == best(x) else 0.9)


def refit(client, count=1):
    client.ok("refit", "m")
    assert ended(client, count)["last"] == "made"


def role(client):
    """What the challenger does; None: there never was one."""
    return client.model().get("challenger", {}).get("state")


def state(client):
    names = ("decisions", "learned", "loss_sum", "rev", "challenger")
    return {key: value for key, value in client.model().items() if key in names}


def leads_to_the_same(one):
    """Killed, from the newest checkpoint and from the oldest one."""
    was = state(one.client())
    one.kill()
    one.start()
    assert state(one.client()) == was
    one.kill()
    for path in sorted(one.state.glob("coppice.*.checkpoint"))[1:]:
        path.unlink()
    one.start()
    assert state(one.client()) == was


def test_promoted_refit_is_taken_out(daemon, tmp_path):
    """The model is that of a journal in which neither the unit nor the refit ever was."""
    text = refit_model() + section("checkpoint", {"every": "1h"}) + section("journal", {"sync": "never"})
    one = daemon(text)
    client = one.client()
    teach(client, 800)
    visit(client)
    teach(client, 400, "u", start=800)
    refit(client)
    teach(client, 200, "shadow")
    client.ok("promote", "m")
    teach(client, 200, "served")
    before = tmp_path / "before"
    shutil.copytree(one.state, before)
    assert role(client) == "serving" and challengers(one) == [1]
    done = forget(one, "tom")
    assert (done["relearned"], done["refits"], done["refits_serving"]) == (True, 1, 0)
    assert done["records"] == 10 + 10 + 2  # decisions, feedback, challenge and promotion
    assert challengers(one) == [] and role(client) is None
    assert [kind for _, kind, _ in records(one.state / "journal") if kind == journal_bytes.PROMOTION] == []
    one.logged("refits=1")
    one.stop()
    mine = models(one.state)
    last = max(sequence for sequence, _, _ in records(before / "journal"))
    kept = [(k, body) for k, body in without(before / "journal", {"tom"}, last + 1) if k != journal_bytes.PROMOTION]
    kept += [(k, body) for s, k, body in records(one.state / "journal") if s > last and k != journal_bytes.FORGOTTEN]
    other = daemon(text, start=False)
    other.state.mkdir()
    journal_bytes.segment(other.state / "journal", 1, kept, model_set=model_set(before / "journal"))
    other.start()
    other.stop()
    assert models(other.state) == mine


def test_only_challengers_whose_window_had_it_go(daemon):
    one = daemon(refit_model(refit={"window": 600, "keep": 9}) + DISK)
    client = one.client()
    teach(client, 700)
    refit(client)  # before tom
    visit(client)
    teach(client, 200, "u")
    refit(client, 2)  # with tom
    teach(client, 700, "v")
    refit(client, 3)  # long after tom
    assert challengers(one) == [1, 2, 3] and client.model()["challenger"]["n"] == 3
    done = forget(one, "tom")
    assert (done["relearned"], done["refits"], challengers(one)) == (True, 1, [1, 3])
    assert client.model()["refit"]["kept"] == [3, 1] and len(client.model()["refit"]["history"]) == 3
    assert client.model()["challenger"]["n"] == 3 and client.model()["challenger"]["challenges"] == 2
    leads_to_the_same(one)
    client = one.client()
    assert client.error("promote", "m", {"n": 2})["code"] == "bad_request"
    teach(client, 200, "w")
    refit(client)
    assert challengers(one) == [1, 3, 4]  # no number is used twice


@pytest.mark.plain
def test_challenger_in_trial_makes_way_for_the_one_before(daemon):
    one = daemon(refit_model() + DISK)
    client = one.client()
    teach(client, 600)
    refit(client)
    client.ok("checkpoint")
    visit(client)
    teach(client, 200, "u")
    refit(client, 2)
    assert client.model()["challenger"]["n"] == 2
    done = forget(one, "tom")
    assert (done["relearned"], done["refits"], challengers(one)) == (True, 1, [1])
    assert client.model()["challenger"]["n"] == 1 and role(client) == "shadow"
    leads_to_the_same(one)


@pytest.mark.parametrize("was", ["shadow", "promoted", "alone"])
def test_model_that_is_not_learned_again(daemon, was):
    """A challenger in trial goes, one that serves makes way for its predecessor, one without stays, and is reported."""
    one = daemon(refit_model(refit={"promote": "bound", "risk": 1e-9, "window": 400}) + DISK)
    teach(one.client(), 300)
    visit(one.client())
    one.stop()
    one.start("--reset", "m")  # so records do not lead to what it is
    client = one.client()
    visit(client, start=100)
    teach(client, 300, "u")
    refit(client)
    if was != "shadow":
        client.ok("promote", "m")
    if was == "alone":
        teach(client, 400, "v")
        one.logged("kind=retire")
    done = forget(one, "tom")
    assert (done["relearned"], done["why"], done["refits"]) == (False, "gap", 1)
    assert done["refits_serving"] == (was == "alone")
    client.ok("checkpoint")
    one.logged("event=administration verb=checkpoint")  # behind all that was said of the order
    assert ("forget_serving" in one.log()) == (was == "alone")
    assert client.model()["challenger"]["state"] == ("serving" if was == "alone" else "none")
    assert challengers(one) == []
    there = state(client)
    one.kill()
    one.start()
    assert state(one.client()) == there


def test_refit_under_way_ends_and_nothing_takes_over_meanwhile(daemon):
    one = daemon(refit_model() + DISK, env={"COPPICED_TEST_WORKER": "HANG@reading"})
    client = one.client()
    teach(client, 600)
    visit(client)
    client.ok("refit", "m")
    wait_for(lambda: client.model()["refit"]["state"] == "running", "the refit")
    assert forget(one, "tom")["relearned"]
    assert one.logged("refit_stopped") and client.model()["refit"]["state"] == "waiting"
    assert newest(one.state) and challengers(one) == []


def test_refit_of_a_model_that_is_not_served_is_taken_out(daemon):
    """It comes back as the model that served before, and numbers go on."""
    one = daemon(refit_model() + model("d", learner="dgt") + DISK)
    client = one.client()
    teach(client, 600)
    visit(client)
    teach(client, 200, "u")
    refit(client)
    client.ok("promote", "m")
    teach(client, 100, "served")
    assert role(client) == "serving" and challengers(one) == [1]
    client.ok("model", "m", {"do": "remove"})
    done = forget(one, "tom")
    assert (done["relearned"], done["parked"], done["refits"], challengers(one)) == (True, 0, 1, [])
    one.kill()
    one.start()
    client = one.client()
    client.ok("model", "m", {"do": "add"})
    assert role(client) in (None, "none") and client.model()["decisions"] == 900
    teach(client, 200, "w")
    refit(client)
    assert challengers(one) == [2]  # no number is used twice
    leads_to_the_same(one)
