"""The control group through real sockets: who is held out, what is answered, counted and written, after restarts too."""

import json
import random
import re

import pytest
from bandit_logs import coppice
from conftest import free_port, model, section, wait_for
from test_api import Api
from test_metrics import Pages

NAMES = ["left", "middle", "right"]


def play(client, count, name="m", first=0, units=None, best=2, better=0.2, worse=0.8):
    """Decisions whose arm `best` is better; returns {id: action}."""
    rng = random.Random(first)
    made = {}
    for i in range(first, first + count):
        context = {"id": i, "x": [rng.random() for _ in range(3)]}
        if units:
            context["unit"] = f"user-{i % units}"
        made[i] = action = client.ok("decide", name, context)
        loss = float(rng.random() < (better if action["a"] == best else worse))
        assert client.feedback(name, i, loss) in ("applied", "recorded")
    return made


def test_units_stay_where_they_are(daemon):
    one = daemon(model(holdout=0.3, baseline=1))
    client = one.client()
    made = play(client, 600, units=200)
    held = [{i % 200 for i, a in made.items() if (a.get("by") == "holdout") == which} for which in (True, False)]
    assert not held[0] & held[1]
    assert 35 <= len(held[0]) <= 85  # of 200, 0.3: five deviations
    assert all((a["a"], a["p"]) == (1, 1.0) for a in made.values() if "by" in a)
    assert {a.get("by") for a in made.values()} == {"holdout", None}
    more = [client.decide("m", 1000 + u, [0, 0, 1], unit=f"user-{u}").get("by") for u in range(200)]
    assert {u for u, by in enumerate(more) if by} == held[0]
    # A larger share only adds to the group.
    path = one.config
    path.write_text(path.read_text().replace("holdout = 0.3", "holdout = 0.6"))
    client.ok("reload")
    wider = {u for u in range(200) if client.decide("m", 2000 + u, [0, 0, 1], unit=f"user-{u}").get("by")}
    assert held[0] < wider
    assert client.model()["holdout"]["share"] == 0.6
    assert client.model()["holdout"]["policy"]["decisions"] + client.model()["holdout"]["control"]["decisions"] == 200


def test_without_a_unit_the_id_decides_and_repeats_say_so(daemon):
    client = daemon(model(holdout=0.5)).client()
    first = {i: client.decide("m", i, [1, 2, 3]) for i in range(100)}
    again = {i: client.decide("m", i, [1, 2, 3]) for i in range(100)}
    assert all(a.pop("repeated") for a in again.values())
    assert first == again
    assert 25 <= sum("by" in a for a in first.values()) <= 75
    assert {round(a["p"], 6) for a in first.values() if "by" in a} == {round(1 / 3, 6)}
    assert {a["a"] for a in first.values() if "by" in a} == {0, 1, 2}


def test_probabilities_and_masks_of_the_baseline(daemon):
    client = daemon(model(holdout=0.9, baseline=0)).client()
    seen = set()
    for i in range(40):
        action = client.ok("decide", "m", {"id": i, "x": [0, 0, 0], "mask": [i % 2 == 0, True, True],
                                           "probabilities": True})
        if "by" in action:
            seen.add(tuple(action["probabilities"]))
            assert action["p"] == action["probabilities"][action["a"]]
    assert seen == {(1, 0, 0), (0, 0.5, 0.5)}


def test_baseline_of_the_caller(daemon, tmp_path):
    names = tmp_path / "arms"
    names.write_text("\n".join(NAMES) + "\n")
    client = daemon(model(holdout=0.5, baseline="caller", arm_names=names)).client()
    for i in range(60):
        a = NAMES[i % 3]
        action = client.ok("decide", "m", {"id": i, "x": [0, 0, 0], "a": a, **({"p": 0.25} if i % 2 else {})})
        if "by" in action:
            assert (action["arm"], action["p"]) == (a, 0.25 if i % 2 else 1.0)
    assert client.model()["holdout"]["baseline"] == "caller"
    assert client.error("decide", "m", {"id": 99, "x": [0, 0, 0]})["message"].startswith("a: missing; the model's baseline")
    assert "expected an arm below 3" in client.error("decide", "m", {"id": 99, "x": [0, 0, 0], "a": 3})["message"]
    assert "which the mask excludes" in client.error(
        "decide", "m", {"id": 99, "x": [0, 0, 0], "a": 0, "mask": [0, 1, 1]})["message"]


def test_retired_arms_are_not_the_baselines(daemon):
    one = daemon(model(holdout=0.9, share_max=["2=0"]))
    client = one.client()
    seen = {}
    for i in range(120):
        mask = [i % 3 > 0, True, True] if i % 4 else [False, False, True]
        action = client.ok("decide", "m", {"id": i, "x": [0, 0, 0], "mask": mask, "probabilities": True})
        if "by" in action:
            seen.setdefault(tuple(mask), set()).add((action["a"], action["p"], tuple(action["probabilities"])))
    assert seen == {(True, True, True): {(0, 0.5, (0.5, 0.5, 0)), (1, 0.5, (0.5, 0.5, 0))},
                    (False, True, True): {(1, 1, (0, 1, 0))}, (False, False, True): {(2, 1, (0, 0, 1))}}
    assert "share_max gives arm 2 0; expected one that is not retired" in client.error(
        "model", "m", {"do": "set", "options": {"baseline": 2}})["message"]
    assert client.model()["holdout"]["baseline"] == "uniform"


def test_candidates_have_a_control_group(daemon):
    text = model("r", learner="rank", features=2, arms=None, candidate_features=2, max_candidates=5, holdout=0.5,
                 baseline=0)
    client = daemon(text).client()
    for i in range(60):
        c = [[0.1 * k, 1.0] for k in range(1 + i % 5)]
        action = client.ok("rank", "r", {"id": i, "x": [1, 2], "c": c, "order": True})
        assert sorted(action["order"]) == list(range(len(c)))
        if "by" in action:
            assert (action["a"], action["p"]) == (0, 1.0)
        client.feedback("r", i, 0.5)
    both = client.model("r")["holdout"]
    assert both["policy"]["losses"] + both["control"]["losses"] == 60 and both["control"]["losses"] >= 10


@pytest.mark.parametrize("learner", ["ensemble", "dgt"])
def test_state_is_the_same_after_a_kill(daemon, learner):
    """From the journal alone, and from a checkpoint and the journal behind it."""
    one = daemon(model(learner=learner, holdout=0.3, baseline=0, reward_window="1h"))
    client = one.client()
    play(client, 300, units=100)
    for i in range(5000, 5040):  # some wait
        client.decide("m", i, [0.5, 0, 1], unit=i)
    for checkpoint in (False, True):
        if checkpoint:
            client.ok("checkpoint")
            play(client, 200, first=1000, units=100)
        before = client.model()
        one.kill()
        one.start()
        client = one.client()
        after = client.model()
        assert {k: after[k] for k in ("holdout", "rev", "decisions", "learned", "mean_loss", "pending")} == \
            {k: before[k] for k in ("holdout", "rev", "decisions", "learned", "mean_loss", "pending")}
    held = [i for i in range(5000, 5040) if client.decide("m", i, [0.5, 0, 1], unit=i).get("by")]
    assert 3 <= len(held) <= 25
    control = client.model()["holdout"]["control"]["losses"]
    assert {client.feedback("m", i, 1.0) for i in range(5000, 5040)} <= {"applied", "recorded"}
    assert client.model()["holdout"]["control"]["losses"] == control + len(held)


def test_gain_is_told(daemon):
    one = daemon(model(holdout=0.4, baseline=0, loss_range=[0, 10]))
    client = one.client()
    rng = random.Random(5)
    for i in range(1500):
        action = client.decide("m", i, [rng.random() for _ in range(3)])
        client.feedback("m", i, 1.0 if action["a"] == 2 else 9.0)
    is_ = client.model()["holdout"]
    assert is_["low"] > 0 and is_["low"] <= is_["gain"] <= is_["high"] <= 10
    assert is_["control"]["mean_loss"] == 9.0 and is_["policy"]["mean_loss"] < 4
    assert is_["gain"] == pytest.approx(is_["control"]["mean_loss"] - is_["policy"]["mean_loss"])
    assert is_["control"]["losses"] == is_["control"]["decisions"] and not is_["suspicious"]
    arms = is_["arms"]
    assert [arm["losses"] for arm in arms] == [is_["policy"]["losses"]] * 3
    assert all(arm["low"] <= arm["gain"] <= arm["high"] for arm in arms) and arms[2]["gain"] < 0.5 < arms[0]["gain"]
    assert all(0 < arm["effective_sample_size"] <= 1500 for arm in arms)
    assert is_["units"] <= 1500 and 0.3 < is_["units_held"] / is_["units"] < 0.5
    one.logged("event=gain_sure")
    line = [line for line in one.log().splitlines() if "event=gain_sure" in line]
    assert len(line) == 1 and re.search(r"model=m gain=\d", line[0])


def test_arms_have_their_names_and_masks_their_effect(daemon, tmp_path):
    names = tmp_path / "arms"
    names.write_text("\n".join(NAMES) + "\n")
    port = free_port()
    one = daemon(model(holdout=0.1, arm_names=names) + model("d", learner="dgt", holdout=0.1) +
                 section("http", {"listen": f"127.0.0.1:{port}"}))
    client = one.client()
    for name in ("m", "d"):
        for i in range(50):
            mask = [i % 4 != 0, True, True]
            action = client.ok("decide", name, {"id": i, "x": [0, 1, 0], "mask": mask})
            client.feedback(name, i, 0.25 * action["a"])
    arms, of_dgt = client.model("m")["holdout"]["arms"], client.model("d")["holdout"]["arms"]
    assert [arm["arm"] for arm in arms] == NAMES
    for each in (arms, of_dgt):  # dgt keeps masks for these figures alone
        assert each[0]["losses"] < each[1]["losses"] == each[2]["losses"]
        assert all(arm["low"] <= arm["gain"] <= arm["high"] for arm in each)
    page = Pages(port).samples()
    assert page['coppice_constant_gain{model="m",arm="left"}'] == pytest.approx(arms[0]["gain"])
    assert page['coppice_constant_gain{model="d",arm="1"}'] == pytest.approx(of_dgt[1]["gain"])
    for i in range(100, 140):  # what waits keeps its mask over a kill
        client.ok("decide", "d", {"id": i, "x": [0, 1, 0], "mask": [i % 2, 1, 1]})
    one.kill()
    one.start()
    client = one.client()
    for i in range(100, 140):
        client.feedback("d", i, 0.5)
    again = client.model("d")["holdout"]
    assert again["arms"][1]["losses"] == again["policy"]["losses"] and again["arms"][0]["losses"] < again["arms"][1]["losses"] - 10


def test_explanations_and_searches_tell_who_decided(daemon):
    """Waiting, from the journal, by the program and over HTTP; a decision of the baseline is none of the policy's."""
    api = Api()
    one = daemon(api.section + model(holdout=0.5, baseline=0, conservative=0.02))
    client = one.client()
    made = {i: client.decide("m", i, [0, i % 3, 1]) for i in range(20)}
    for option in ({"conservative": 0}, {"conservative": 0.02}):
        assert client.ok("model", "m", {"do": "set", "options": option})["applied"]
        made |= {i: client.decide("m", i, [0, i % 3, 1]) for i in range(len(made), len(made) + 20)}
    assert {a.get("by") for a in made.values()} == {"holdout", "conservative", None}
    picked = {action.get("by"): i for i, action in made.items()}

    def check(told, i):
        by = made[i].get("by")
        assert told.get("by") == by and (told["a"], told["p"]) == (made[i]["a"], made[i]["p"])
        if by is None:
            assert told["greedy"] == made[i]["greedy"] and not {"agrees", "own_p"} & set(told)
        else:
            assert told["agrees"] == made[i]["greedy"] and 0 <= told["own_p"] <= 1 and "greedy" not in told
    for i in picked.values():
        check(client.ok("explain", "m", {"id": i}), i)
    for journal in (False, True):
        found = api.ok(f"/v1/models/m/decisions?prefix=&limit=100{'' if journal else '&waiting=true'}")["decisions"]
        assert {row["id"]: row.get("by") for row in found} == {i: action.get("by") for i, action in made.items()}
    for i in picked.values():
        assert client.feedback("m", i, 0.5) == "applied"
        check(json.loads(one.run("--explain", "m", str(i)).stdout), i)
        check(api.ok(f"/v1/models/m/decision?number={i}"), i)


def test_health_of_propensities_is_the_policys(daemon):
    port = free_port()
    client = daemon(model(arms=12, holdout=0.5, policy="epsilon", epsilon=1) + section("http", {"listen": f"127.0.0.1:{port}"})).client()
    made = [client.decide("m", i, [0, 0, 1]) for i in range(200)]
    policy = [a for a in made if "by" not in a]
    held = [a for a in made if "by" in a]
    assert len(policy) >= 60 and len(held) >= 60
    wait_for(lambda: sum(client.ok("history", "m")["decisions"]) == 200, "the interval to end")
    got = client.ok("history", "m")
    weights = [1 / a["p"] for a in policy]
    is_ = got["propensities"]
    assert is_["least"] == min(a["p"] for a in policy)
    assert is_["mean_weight"] == pytest.approx(sum(weights) / len(weights))
    assert is_["effective_share"] == pytest.approx(sum(weights) ** 2 / (len(weights) * sum(w * w for w in weights)))
    assert [sum(arm["decisions"]) for arm in got["arms"]] == [sum(a["a"] == k for a in policy) for k in range(12)]
    assert [arm.get("baseline", 0) for arm in got["arms"]] == [sum(a["a"] == k for a in held) for k in range(12)]
    page = Pages(port).samples()
    for k in range(12):
        assert page[f'coppice_arm_decisions_total{{model="m",arm="{k}"}}'] == sum(a["a"] == k for a in policy)
        assert page[f'coppice_arm_baseline_decisions_total{{model="m",arm="{k}"}}'] == sum(a["a"] == k for a in held)


def test_control_group_is_switched_off_and_on_live(daemon):
    """The file's baseline stays: for the time without a group it means nothing."""
    one = daemon(model(holdout=0.5, baseline=1))
    client = one.client()
    play(client, 40)
    before = client.model()["holdout"]
    client.ok("model", "m", {"do": "set", "options": {"holdout": 0}})
    assert not any("by" in a for a in play(client, 30, first=200).values())
    assert client.model()["holdout"] == before
    one.kill()
    one.start()
    client = one.client()
    assert not any("by" in a for a in play(client, 30, first=300).values())
    client.ok("model", "m", {"do": "unset", "options": {"holdout": None}})
    held = [a for a in play(client, 60, first=400).values() if a.get("by") == "holdout"]
    assert held and all(a["a"] == 1 and a["p"] == 1 for a in held)
    assert client.model()["holdout"]["baseline"] == 1


def test_bound_without_its_control_group_is_refused_and_let_go_with_it(daemon):
    client = daemon(model(holdout=0.5, baseline=1, conservative=0.1)).client()
    message = client.error("model", "m", {"do": "set", "options": {"holdout": 0}})["message"]
    assert "conservative: there is no control group" in message
    client.ok("model", "m", {"do": "set", "options": {"holdout": 0, "conservative": 0}})
    assert not any("by" in a for a in play(client, 30).values())


def test_other_baseline_begins_again(daemon):
    one = daemon(model(holdout=0.5, baseline=0))
    client = one.client()
    play(client, 50)
    path = one.config
    path.write_text(path.read_text().replace("baseline = 0", "baseline = 1"))
    client.ok("reload")
    assert client.model()["holdout"]["baseline"] == 0  # until the next decision
    play(client, 10, first=100)
    both = client.model()["holdout"]
    assert both["baseline"] == 1 and both["policy"]["decisions"] + both["control"]["decisions"] == 10
    path.write_text(re.sub(r".*(holdout|baseline) = .*\n", "", path.read_text()))
    client.ok("reload")
    assert not any("by" in a for a in play(client, 30, first=200).values())
    assert client.model()["holdout"] == both


def test_conservative_keeps_a_bad_policy_back(daemon):
    """The arm that the model plays at first is the worst: the baseline goes on until its bounds are known."""
    one = daemon(model(holdout=0.2, baseline=0, conservative=0.5, loss_range=[0, 10], policy="epsilon", epsilon=1))
    client = one.client()
    total, makers, kept = 0.0, [], 0
    for i in range(400):
        action = client.decide("m", i, [0, 0, 0])
        makers.append(action.get("by"))
        kept += makers[-1] == "conservative"
        assert makers[-1] is None or (action["a"], action["p"]) == (0, 1.0)
        loss = 2.0 if action["a"] == 0 else 9.0
        total += loss
        assert total - 2.0 * (i + 1) <= 0.5 * (i + 1) + 1e-9
        client.feedback("m", i, loss)
    is_ = client.model()["holdout"]
    assert (is_["conservative"], is_["kept"]) == (0.5, kept) and kept > 100 and makers.count(None) > 5
    assert is_["policy"]["decisions"] == makers.count(None) and is_["control"]["decisions"] == makers.count("holdout")
    waiting = client.decide("m", 1000, [0, 0, 0])
    one.kill()
    one.start()
    client = one.client()
    after = client.model()["holdout"]
    assert after["kept"] == kept + (waiting.get("by") == "conservative")
    again = client.decide("m", 1000, [1, 1, 1])
    assert again.pop("repeated") and again == waiting


@pytest.mark.parametrize("options,said", [
    ({"holdout": 1}, "holdout"), ({"holdout": -0.1}, "holdout"), ({"holdout": 0.1, "baseline": 3}, "baseline: got 3"),
    ({"holdout": 0.1, "baseline": 0.5}, "baseline: got 0.5"), ({"holdout": 0.1, "baseline": "nobody"}, "baseline"),
    ({"baseline": 1}, "there is no control group"), ({"conservative": 0.1}, "conservative: there is no control group"), ({"holdout": 0.1, "apprentice": True}, "an apprentice does not decide"),
    ({"learner": "value", "arms": None, "holdout": 0.1}, "holdout")])
def test_wrong_configurations_are_told(daemon, options, said):
    made = daemon(model(**options), start=False)
    result = made.run("--check")
    assert result.returncode != 0 and said in result.stderr, result.stderr


def test_journal_tells_who_decided(daemon):
    one = daemon(model(holdout=0.5, baseline=2))
    client = one.client()
    for unit, id in ((7, 1), ("seven", 2), (b"seven", 3), (-7, 4)):
        client.ok("decide", "m", {"id": id, "x": [0, 0, 0], "unit": unit})
    for wrong in ("", "x" * 65, 1.5, None, [1], True):
        assert client.error("decide", "m", {"id": 9, "x": [0, 0, 0], "unit": wrong})["message"].startswith("unit: ")
    play(client, 100, first=10)
    one.stop()
    journal = one.state / "journal"
    records = [json.loads(line) for line in coppice("journal", "dump", journal, "--json")[0].splitlines()]
    decisions = [r for r in records if r["type"] == "decision"]
    assert len(decisions) == 104 and all(r["h"][:2] == [0.5, 2] and 0 <= r["h"][2] < 65536 for r in decisions)
    held = [r for r in decisions if "o" in r]
    assert 25 <= len(held) <= 80 and all(r["a"] == 2 and r["p"] == 1 for r in held)
    assert coppice("journal", "dump", journal)[0].count("the baseline's, own p") == len(held)
    # Off-policy estimates are of the policy's decisions alone.
    events = json.loads(coppice("replay", "--format", "journal", journal, "--json")[0])["events"]
    assert events == len(decisions) - len(held)
