"""coppice whatif: what was learned again is the live model, byte for byte."""

import json
import random
import time

import pytest
from bandit_logs import coppice
from conftest import model
from test_refit import ctl, ended, refit_model, teach
from saved_models import checkpointed, checkpoints, marked, sections

XS = [[rng.random() for _ in range(3)] for rng in [random.Random(3)] for _ in range(600)]
VALUE = {"learner": "value", "arms": None}
BINS = {**VALUE, "feedback": "bins", "height": None, "trees": None}

MODELS = {
    "dgt": {"learner": "dgt"},
    "ensemble": {},
    "ensemble-epsilon": {"policy": "epsilon", "epsilon": 0.3, "epsilon_decay": 0.001},
    "squarecb": {"policy": "squarecb"},
    "sparse": {"features": 0, "bits": 8},
    "rank": {"learner": "rank", "arms": None, "candidate_features": 2},
    "value": BINS,
    "value-range": {**BINS, "value_range": [2, 5], "loss_range": [0, 4]},
    "one": {**VALUE, "feedback": "one"},
    "two": {**VALUE, "feedback": "two"},
    "holdout": {"holdout": 0.2, "conservative": 0.9},
    "baseline": {"holdout": 0.2, "baseline": 1},
    "default": {"default_loss": 1, "reward_window": "50ms"},
    "sum": {"reward": "sum", "reward_window": "50ms"},
    "waiting": {"pending_max": 20},
    "apprentice": {"apprentice": True, "policy": "epsilon", "epsilon": 0.1},
    "answered": {"learner": "dgt", "default_loss": 0.5},
    "losses": {"losses": ["click=1", "revenue=-0.02", "seconds"], "loss_range": [-1, 1],
               "loss_ranges": ["revenue=0:50", "seconds=0:600"], "reward": "last", "reward_window": "50ms"},
}


def asked(one, name, x, id, rng):
    """One decision, with what the model needs, and sometimes a mask; the loss of what was played."""
    options, client = MODELS[name], one.clients[-1]
    learner = options.get("learner")
    more = {"x": x if name != "sparse" else {"a": x[0], str(int(3 * x[1])): 1.0}}
    if learner == "rank":
        more["c"] = [[rng.random(), k] for k in range(rng.randrange(1, 5))]
        return client.ok("rank", "m", {"id": id, **more})
    if name == "apprentice":
        more |= {"a": rng.randrange(3), "p": 1 / 3}
    elif learner is None and rng.random() < 0.2:
        more["mask"] = [True, False, True]
    return client.ok("decide", "m", {"id": id, **more})


def lived(one, name, first, last, seed=1):
    """Decisions, most of which are answered, some twice, some late."""
    rng = random.Random(seed)
    client = one.clients[-1]
    for i in range(first, last):
        answer = asked(one, name, XS[i % len(XS)], i, rng)
        if rng.random() < 0.15:
            continue
        id = i - rng.randrange(3) if rng.random() < 0.3 and i > first + 3 else i
        losses = [rng.random(), rng.random()] if MODELS[name].get("feedback") == "two" else rng.random()
        sent = {"id": id, "loss": losses} if name != "losses" else {"id": id, "losses": {"click": losses, "revenue": 50 * losses}}
        if name in ("answered", "apprentice") and rng.random() < 0.5:  # events of their own, or of a decision that waits
            known = {"id": id} if rng.random() < 0.5 else {"id": 10000 + i}
            sent |= {**known, "x": XS[i % len(XS)], "a": answer["a"] if rng.random() < 0.8 else 0, "p": 0.5}
        assert answer and client.request("feedback", "m", sent)


def whatif(one, *words):
    out, _ = coppice("whatif", one.state, "--model", "m", "--json", "--save", one.folder / "saved", *words)
    return json.loads(out), (one.folder / "saved").read_bytes()


def same(one, *words, name="m"):
    """The answer, after the bytes were compared with those of the newest checkpoint."""
    answer, saved = whatif(one, *words)
    live = checkpointed(checkpoints(one.state)[-1], name)
    told = [(n, a == b) for (n, a), (_, b) in zip(sections(saved), sections(live))]
    assert all(equal for _, equal in told), (words, answer, told)
    assert saved == live and answer["live"] is True
    return answer


def live(daemon, name, **more):
    one = daemon(model(**{**MODELS[name], **more}))
    one.client()
    return one


@pytest.mark.parametrize("name", MODELS)
def test_with_the_same_settings_the_bytes_are_those_of_the_live_model(daemon, name):
    one = live(daemon, name)
    lived(one, name, 0, 400)
    one.stop()
    answer = same(one)
    assert answer["begun"] == "journal" and answer["record"] == 2
    assert answer["events"] > 20 and answer["changed"] == 0  # windows of 50 ms may end before a loss comes
    if "gain" in answer:
        assert answer["gain"] == {"value": 0, "low": 0, "high": 0}
    assert (answer["held"] > 20) == ("holdout" in MODELS[name])


@pytest.mark.parametrize("name", ["dgt", "ensemble", "rank", "value", "holdout", "default"])
def test_from_a_checkpoint_and_over_a_kill(daemon, name):
    one = live(daemon, name)
    lived(one, name, 0, 200)
    one.clients[-1].ok("checkpoint")
    written, stands = len(checkpoints(one.state)), marked(checkpoints(one.state)[-1])
    lived(one, name, 200, 300)
    one.kill()
    one.start()
    one.client()
    lived(one, name, 300, 400)
    one.stop()
    assert same(one)["begun"] == "journal"
    middle = json.loads(coppice("whatif", one.state, "--model", "m", "--json")[0])
    later = (stands + middle["to"]) / 2
    answer = same(one, "--from", str(later))
    assert answer["begun"] == "checkpoint" and answer["checkpoint"] >= written - 2 and answer["record"] > 2
    assert answer["from"] >= later and answer["events"] < middle["events"]
    fresh, saved = whatif(one, "--from", str(later), "--fresh")
    assert fresh["begun"] == "anew" and fresh["changed"] == 0
    assert saved != checkpointed(checkpoints(one.state)[-1], "m")


def test_a_span_ends_as_the_model_was_then(daemon):
    one = live(daemon, "ensemble")
    lived(one, "ensemble", 0, 200)
    one.clients[-1].ok("checkpoint")
    then = max(checkpoints(one.state), key=marked)
    want, end = checkpointed(then, "m"), marked(then)
    lived(one, "ensemble", 200, 300)
    one.stop()
    answer, saved = whatif(one, "--to", repr(end))
    assert saved == want and answer["to"] <= end
    assert answer["events"] < whatif(one)[0]["events"]


def test_arms_settings_and_a_life_that_change_live(daemon):
    one = live(daemon, "ensemble-epsilon")
    client = one.clients[-1]
    lived(one, "ensemble-epsilon", 0, 150)
    client.ok("model", "m", {"do": "set", "options": {"arms": 5}})
    client.ok("model", "m", {"do": "set", "options": {"epsilon": 0.6, "share_min": ["1=0.1"], "reward_window": "20s"}})
    lived(one, "dgt", 150, 300)  # without masks: they are of three arms
    client.ok("model", "m", {"do": "set", "options": {"arms": 6, "holdout": 0.3}})
    lived(one, "dgt", 300, 400)
    one.kill()
    one.start()
    one.client()
    lived(one, "dgt", 400, 450)
    one.stop()
    assert same(one)["events"] > 200
    asked, saved = whatif(one, "epsilon=0.05")
    assert asked["begun"] == "journal" and asked["gain"]["value"] != 0
    assert sections(saved)[2][0] == "pending"
    one.start()
    client = one.client()
    client.ok("model", "m", {"do": "reset"})
    lived(one, "dgt", 1000, 1100)
    one.stop()
    answer = same(one, name="m#1")
    assert answer["begun"] == "journal" and answer["record"] > 600 and answer["events"] < 100


def test_challengers_and_promotions(daemon):
    one = daemon(refit_model())
    client = one.client()
    teach(client, 2000)
    client.ok("refit", "m")
    ended(client)
    teach(client, 400, "u")
    client.ok("checkpoint")
    client.ok("promote", "m")
    teach(client, 400, "v")
    client.ok("freeze", "m")
    teach(client, 100, "w")
    ctl(one, "freeze", "m", "--off")
    client.ok("rollback", "m")
    teach(client, 200, "x")
    one.stop()
    answer = same(one)
    assert answer["begun"] == "journal" and answer["events"] == 3100 and answer["changed"] == 0
    other, _ = whatif(one, "learner=dgt")
    assert other["events"] == 3100 and other["gain"]["low"] > -1
    later = str((answer["from"] + 9 * answer["to"]) / 10)
    assert same(one, "--from", later)["begun"] in ("checkpoint", "journal")
    next(one.state.glob("refit/refit.m.*1.checkpoint")).unlink()
    _, err = coppice("whatif", one.state, "--model", "m", status=1)
    assert "does not fit the model as it was: challenger 1 is gone" in err and "--fresh" in err
    assert whatif(one, "--fresh")[0]["events"] == 3100


def test_a_model_that_was_begun_anew_is_seen(daemon):
    one = live(daemon, "dgt")
    lived(one, "dgt", 0, 100)
    one.stop()
    one.start("--reset-model", "m")
    one.client()
    lived(one, "dgt", 100, 200)
    one.stop()
    answer, _ = whatif(one)
    assert answer["begun"] == "journal" and answer["live"] is False
    assert "is not what the newest checkpoint has" in coppice("whatif", one.state)[0]
    assert "live" not in whatif(one, "--fresh")[0] and "live" not in whatif(one, "--to", str(answer["from"]))[0]


def test_saved_model_is_served(daemon):
    one = live(daemon, "dgt")
    lived(one, "dgt", 0, 300)
    one.stop()
    _, saved = whatif(one, "learner=ensemble", "trees=2", "height=2")
    other = daemon(model(start_from=str(one.folder / "saved"), learner="ensemble"))
    assert other.client().model()["rev"] > 100
    other.stop()
    assert sections(checkpointed(checkpoints(other.state)[-1], "m"))[1] == sections(saved)[1]


def test_a_model_that_began_with_a_saved_one(daemon):
    one = live(daemon, "dgt")
    lived(one, "dgt", 0, 100)
    one.stop()
    whatif(one)
    other = live(daemon, "dgt", start_from=str(one.folder / "saved"))
    lived(other, "dgt", 100, 300)
    other.stop()
    _, err = coppice("whatif", other.state, status=1)
    assert "it began with a saved model (start_from)" in err
    assert whatif(other, "--fresh")[0]["begun"] == "anew"


POLICIES = [("epsilon=0.4", "policy=epsilon"), ("policy=epsilon", "epsilon=0.9", "epsilon_decay=0.01", "epsilon_floor=0.05"),
            ("policy=squarecb", "gamma=7"), ("policy=fastcb", "least_propensity=0.3"), ("explore_first=150",),
            ("share_min=1=0.2", "share_max=0=0.3")]
BELIEFS = [("policy=matching",), ("optimism=3",), ("policy=matching", "optimism=0", "gamma=3")]


def compared(one, *words):
    """An answer of a second policy beside the one model, which is that of two models that both learned."""
    out = []
    for path, save in (one.folder / "alone", []), (one.folder / "both", ["--save", one.folder / "saved"]):
        text, _ = coppice("whatif", one.state, "--model", "m", "--json", "--changed", path, *save, *words)
        out.append((json.loads(text), path.read_text()))
    assert out[0] == out[1], words
    return out[0][0]


@pytest.mark.plain
@pytest.mark.parametrize("name", [name for name, options in MODELS.items() if options.get("learner") != "value"])
def test_a_model_is_learned_once_for_two_policies(daemon, name):
    one = live(daemon, name)
    lived(one, name, 0, 400)
    one.stop()
    learner = MODELS[name].get("learner")
    policies = POLICIES[:-1] if learner == "rank" else POLICIES
    policies = policies + [words for words in BELIEFS if learner is None or (learner, words) == ("rank", ("optimism=3",))]
    answers = [compared(one, *words) for words in policies]
    windowed = "reward_window" in MODELS[name]
    assert all(answer["events"] > (0 if windowed else 20) and answer.get("live", True) for answer in answers)
    if "gain" in answers[0]:
        assert len({answer["would"]["value"] for answer in answers}) >= 4
    compared(one, "--fresh", *policies[0])
    if not windowed:
        later = str((3 * answers[0]["from"] + answers[0]["to"]) / 4)
        compared(one, "--from", later, *policies[0])
        compared(one, "--from", later, "--fresh", *policies[1])


def test_a_model_is_learned_once_until_the_settings_part(daemon):
    """Live changes of arms and policies, a promotion's like, and one after which the two models wait for losses differently."""
    one = live(daemon, "ensemble-epsilon", reward_window="20s")
    client = one.clients[-1]
    lived(one, "ensemble-epsilon", 0, 150)
    client.ok("model", "m", {"do": "set", "options": {"arms": 5, "share_min": ["1=0.1"]}})
    lived(one, "dgt", 150, 300)
    client.ok("model", "m", {"do": "set", "options": {"epsilon": 0.6}})
    lived(one, "dgt", 300, 400)
    client.ok("model", "m", {"do": "set", "options": {"reward_window": "20ms"}})
    for first in range(500, 700, 20):
        for i in range(first, first + 20):
            answer = client.ok("decide", "m", {"id": i, "x": XS[i % len(XS)]})
            if i < first + 10:
                client.request("feedback", "m", {"id": i, "loss": float(answer["a"] == 0)})
        time.sleep(0.03)
        for i in range(first + 10, first + 20):
            client.request("feedback", "m", {"id": i, "loss": float(i % 2)})
    one.stop()
    assert compared(one, "epsilon=0.05")["gain"]["value"] != 0
    assert compared(one, "--fresh", "epsilon=0.05")["events"] > 200
    stays = compared(one, "reward_window=20s", "policy=squarecb")
    assert stays["live"] is True and stays["events"] > 200
    assert stays["would"] != compared(one, "policy=squarecb")["would"]  # which does not learn what came late
