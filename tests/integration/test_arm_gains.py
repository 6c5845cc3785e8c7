"""What the policy gains over each arm where there is no control group, through real sockets: against a known truth, and
over restarts and everything that changes a model while it serves."""

import random

import pytest
from conftest import free_port, model, section, wait_for
from test_api import Api
from test_forget import forget
from test_metrics import Pages

MEANS = [0.2, 0.5, 0.8]
KINDS = {"ensemble": {}, "dgt": {"learner": "dgt"}, "sparse": {"features": 0, "bits": 8},
         "sparse dgt": {"learner": "dgt", "features": 0, "bits": 8}}
KEYS = ["losses", "effective_sample_size", "gain", "low", "high"]


def play(client, count, first=0, sparse=False, means=MEANS, **more):
    """Decisions and losses; the sum of the policy's expected losses."""
    rng, expected = random.Random(first), 0.0
    for i in range(first, first + count):
        x = {f"word=w{rng.randrange(9)}": 1.0} if sparse else [rng.random() for _ in range(3)]
        unit = {"unit": f"user-{i % more['units']}"} if "units" in more else {}
        action = client.ok("decide", "m", {"id": i, "x": x, "probabilities": True, **unit})
        expected += sum(p * mean for p, mean in zip(action["probabilities"], means))
        assert client.feedback("m", i, float(rng.random() < means[action["a"]])) == "applied"
    return expected


def covers(arms, truths):
    return [arm["low"] <= truth <= arm["high"] for arm, truth in zip(arms, truths)]


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_contain_the_truth_at_all_times(daemon, kind):
    port = free_port()
    one = daemon(model(least_propensity=0.15, **KINDS[kind]) + section("http", {"listen": f"127.0.0.1:{port}"}))
    client = one.client()
    assert "holdout" not in client.model()
    assert client.model()["arm_gains"] == [
        {"losses": 0, "effective_sample_size": 0, "gain": None, "low": None, "high": None}] * 3
    expected, played = 0.0, 0
    for count in (10, 40, 150, 400, 600):  # within a block, and over many
        expected += play(client, count, first=played, sparse="sparse" in kind)
        played += count
        arms = client.model()["arm_gains"]
        assert [list(arm) for arm in arms] == [KEYS] * 3 and [arm["losses"] for arm in arms] == [played] * 3
        assert all(covers(arms, [mean - expected / played for mean in MEANS])), (played, arms)
        assert all(arm["gain"] is None or arm["low"] <= arm["gain"] <= arm["high"] for arm in arms)
    assert 0 < arms[2]["low"] and all(0 < arm["effective_sample_size"] <= played for arm in arms)
    samples = Pages(port).samples()
    for k, arm in enumerate(arms):
        for name, key in (("", "gain"), ("_low", "low"), ("_high", "high"), ("_effective_sample_size", KEYS[1])):
            assert samples[f'coppice_constant{name if name[1:] == KEYS[1] else "_gain" + name}{{model="m",arm="{k}"}}'] == \
                pytest.approx(arm[key])


def test_intervals_are_in_the_losses_own_unit_and_arms_have_names(daemon, tmp_path):
    names = tmp_path / "arms"
    names.write_text("left\nmiddle\nright\n")
    client = daemon(model(arm_names=names, loss_range=[0, 10], least_propensity=0.15)).client()
    for i in range(400):
        action = client.decide("m", i, [0, 0, 0])
        client.feedback("m", i, 9.0 if action["arm"] == "right" else 1.0)
    arms = client.model()["arm_gains"]
    assert [arm["arm"] for arm in arms] == ["left", "middle", "right"] and arms[2]["gain"] > 3 and arms[2]["low"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_state_is_the_same_after_a_kill(daemon, kind):
    """From the journal alone, and from a checkpoint in the middle of a block; with units from the second part on."""
    one = daemon(model(**KINDS[kind]))
    client = one.client()
    sparse = "sparse" in kind
    play(client, 150, sparse=sparse)
    for part, units in enumerate((0, 30, 30)):
        play(client, 110, first=1000 * (part + 1), sparse=sparse, **({"units": units} if units else {}))
        before = client.model()["arm_gains"]
        if part == 1:
            client.ok("checkpoint")
        one.kill()
        one.start()
        client = one.client()
        assert client.model()["arm_gains"] == before
        assert before[0]["losses"] == (260, 110, 220)[part]  # the first unit begins anew


def test_units_that_come_again_widen_the_interval(daemon):
    client = daemon(model() + model("alone")).client()
    for i in range(600):
        for name, unit in (("m", {"unit": i % 12}), ("alone", {})):
            a = client.decide(name, i, [0, 0, 0], **unit)["a"]
            client.feedback(name, i, float(a != 0 and i % 3 > 0))
    by_units, alone = client.model()["arm_gains"], client.model("alone")["arm_gains"]
    assert [arm["losses"] for arm in by_units + alone] == [600] * 6
    assert all((arm["low"], arm["high"]) == (-1, 1) for arm in by_units)  # twelve units are too few
    assert all(arm["high"] - arm["low"] < 1.2 for arm in alone)


def test_masks_and_arms_that_are_never_played(daemon):
    one = daemon(model(share_max=["2=0"]))
    client = one.client()
    for i in range(300):
        a = client.ok("decide", "m", {"id": i, "x": [0, 1, 0], "mask": [i % 4 > 0, True, True]})["a"]
        client.feedback("m", i, 0.25 * a)
    arms = client.model()["arm_gains"]
    assert [arm["losses"] for arm in arms] == [225, 300, 300]
    assert arms[2]["gain"] is None and arms[2]["effective_sample_size"] == 0 and arms[2]["high"] - arms[2]["low"] >= 1
    for i in range(1000, 1040):  # what waits keeps its mask over a kill
        client.ok("decide", "m", {"id": i, "x": [0, 1, 0], "mask": [i % 2, 1, 1]})
    one.kill()
    one.start()
    client = one.client()
    for i in range(1000, 1040):
        client.feedback("m", i, 0.5)
    assert [arm["losses"] for arm in client.model()["arm_gains"]] == [245, 340, 340]


def set_options(client, **options):
    return client.ok("model", "m", {"do": "set", "options": options})


@pytest.mark.parametrize("units", (0, 20))
def test_arms_are_added_and_the_model_is_begun_anew(daemon, units):
    one = daemon(model())
    client = one.client()
    more = {"units": units} if units else {}
    play(client, 100, **more)
    before = client.model()["arm_gains"]
    client.decide("m", "waits", [0, 0, 0])
    set_options(client, arms=4)
    after = client.model()["arm_gains"]
    assert after[:3] == before and after[3]["losses"] == 0
    client.feedback("m", "waits", 1)
    play(client, 100, first=500, means=[*MEANS, 0.1], **more)
    arms = client.model()["arm_gains"]
    assert [arm["losses"] for arm in arms] == [201, 201, 201, 100] and arms[3]["effective_sample_size"] > 0
    for _ in range(2):  # from the journal, and from a checkpoint of more arms
        one.kill()
        one.start()
        client = one.client()
        assert client.model()["arm_gains"] == arms
        client.ok("checkpoint")
    client.ok("model", "m", {"do": "reset"})
    assert [arm["losses"] for arm in client.model()["arm_gains"]] == [0] * len(client.model()["arm_gains"])


def test_a_control_group_takes_over_and_gives_back(daemon):
    one = daemon(model(reward_window="1h"))
    client = one.client()
    play(client, 100)
    client.decide("m", "before", [0, 0, 0])
    set_options(client, holdout=0.3)
    assert "arm_gains" not in client.model()
    for i in range(1000, 1100):
        client.feedback("m", i, float(client.decide("m", i, [0, 0, 0])["a"] != 0))
    client.feedback("m", "before", 1)
    held = client.model()["holdout"]
    assert [arm["losses"] for arm in held["arms"]] == [held["policy"]["losses"]] * 3
    client.decide("m", "beside", [0, 0, 0])
    set_options(client, holdout=0)
    assert [arm["losses"] for arm in client.model()["arm_gains"]] == [0, 0, 0]
    client.feedback("m", "beside", 1)
    play(client, 50, first=2000)
    is_ = client.model()
    assert [arm["losses"] for arm in is_["arm_gains"]] == [50] * 3
    assert sum(is_["holdout"][group]["losses"] for group in ("policy", "control")) == 101
    one.kill()
    one.start()
    after = one.client().model()
    assert (after["arm_gains"], after["holdout"]) == (is_["arm_gains"], is_["holdout"])


def test_whoever_is_forgotten_is_in_no_interval(daemon):
    one = daemon(model())
    client = one.client()
    for i in range(200):
        for who in ["tom"] * (i % 4 == 0) + [f"p{i % 9}"]:
            client.ok("decide", "m", {"id": f"{who}-{i}", "x": [i % 3, 0, 0], "unit": who})
            client.feedback("m", f"{who}-{i}", (i % 5) / 4)
    assert client.model()["arm_gains"][0]["losses"] == 250
    assert forget(one, "tom")["relearned"]
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    assert [arm["losses"] for arm in client.model()["arm_gains"]] == [200] * 3


def test_models_that_have_no_such_figures(daemon):
    client = daemon(model("many", arms=33) + model("watches", apprentice=True, arms=2) +
                    model("v", learner="value", trees=None, height=None) +
                    model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4,
                          candidate_features=2)).client()
    assert all("arm_gains" not in client.model(name) for name in ("many", "watches", "v", "r"))


def test_page_and_listener_have_the_intervals(daemon):
    api = Api()
    client = daemon(api.section + model()).client()
    play(client, 100)
    models = api.ok("/v1/status")["models"]
    assert models[0]["arm_gains"] == client.model()["arm_gains"]
