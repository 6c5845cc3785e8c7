"""coppice whatif: other settings over a journal, against what those settings do when they really decide."""

import json
import os
import random

import pytest
from bandit_logs import coppice
from conftest import model, wait_for

EVENTS = 3000


def contexts(features=3, seed=5):
    rng = random.Random(seed)
    return [[rng.random() for _ in range(features)] for _ in range(EVENTS)]


def loss(x, arm):
    return float(arm != int(3 * x[0]))


def live(client, xs, name="m", first=0, size=50):
    """Decides and answers in batches; the mean loss."""
    total = 0
    for at in range(0, len(xs), size):
        part = xs[at : at + size]
        items = [{"id": first + at + i, "x": x} for i, x in enumerate(part)]
        actions = client.ok("decide_batch", name, {"items": items})["items"]
        losses = [loss(x, a["a"]) for x, a in zip(part, actions)]
        client.ok("feedback_batch", name, {"items": [{"id": a["id"], "loss": l} for a, l in zip(actions, losses)]})
        total += sum(losses)
    return total / len(xs)


def whatif(one, *words, fails=False):
    out, err = coppice("whatif", one.state, *words, *([] if fails else ["--json"]), status=fails if fails else 0)
    return err if fails else json.loads(out)


@pytest.fixture(scope="module")
def explored(request, tmp_path_factory):
    """A state folder whose model explored half of the time, and its mean loss."""
    import zmq
    from conftest import Daemon

    context = zmq.Context()
    one = Daemon(tmp_path_factory.mktemp("explored"), context, model(policy="epsilon", epsilon=0.5) + model("other"))
    one.start()
    mean = live(one.client(), contexts())
    one.client().ok("checkpoint")
    one.stop()
    yield one, mean
    one.close()
    context.destroy(linger=0)


def test_settings_as_they_are_change_nothing(explored):
    one, mean = explored
    same = whatif(one, "--model", "m")
    assert same["events"] == EVENTS and same["mean_loss"] == pytest.approx(mean)
    assert same["gain"] == {"value": 0, "low": 0, "high": 0} and same["changed"] == 0 and same["changes"] == []
    assert same["was"] == same["would"] and same["was"]["low"] - 0.03 < mean < same["was"]["high"] + 0.03


@pytest.mark.plain
@pytest.mark.parametrize("words", [("policy=squarecb", "gamma=5"), ("learner=dgt", "height=1", "policy=squarecb")], ids=str)
def test_words_may_come_in_any_order(explored, words):
    """A learner or policy that is changed begins with defaults of its own; those that are given hold, wherever they stand."""
    one, _ = explored
    asked = whatif(one, "--model", "m", *words)
    assert asked == whatif(one, "--model", "m", *reversed(words))
    assert asked["would"] != whatif(one, "--model", "m", *(word for word in words if "gamma" not in word and "height" not in word))["would"]


@pytest.mark.plain
@pytest.mark.parametrize("settings", [{"epsilon": 0.05}, {"policy": "squarecb"}], ids=str)
def test_estimate_covers_what_these_settings_cost_when_they_decide(explored, daemon, settings):
    one, mean = explored
    asked = whatif(one, "--model", "m", "--level", "0.999", *(f"{k}={v}" for k, v in settings.items()))
    other = daemon(model(**settings, **({} if "policy" in settings else {"policy": "epsilon"})))
    true = live(other.client(), contexts())
    # What a learner sees of its own decisions is another sample: so much may lie between.
    assert asked["would"]["low"] - 0.03 < true < asked["would"]["high"] + 0.03, (asked, true)
    assert asked["gain"]["value"] == pytest.approx(asked["would"]["value"] - asked["was"]["value"], abs=0.02)
    assert (asked["gain"]["high"] < 0) == (true < mean - 0.03)


def test_learner_that_learns_worse_is_seen(explored, daemon):
    one, mean = explored
    asked = whatif(one, "--model", "m", "learner=dgt")
    assert live(daemon(model(learner="dgt")).client(), contexts()) > mean and asked["gain"]["low"] > 0


def test_features_left_out_are_not_seen(explored):
    one, _ = explored
    blind = whatif(one, "--model", "m", "--without", "0")
    assert blind["gain"]["low"] > 0.1 and blind["would"]["value"] > 0.6
    assert sum(c["decisions"] for c in blind["changes"]) <= blind["changed"] > EVENTS / 3
    assert blind["changes"] == sorted(blind["changes"], key=lambda c: -c["decisions"])
    indifferent = whatif(one, "--model", "m", "--without", "1,2")
    assert indifferent["gain"]["high"] < 0.01


def test_decisions_that_would_have_changed_are_listed(explored, tmp_path):
    one, _ = explored
    file, again = tmp_path / "changed.jsonl", tmp_path / "none.jsonl"
    blind = whatif(one, "--model", "m", "--without", "0", "--changed", file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == blind["changed"] > EVENTS / 3
    assert all(set(x) == {"id", "t", "record", "was", "would", "played", "p", "loss"} for x in lines)
    assert all(x["was"] != x["would"] and blind["from"] <= x["t"] <= blind["to"] for x in lines)
    assert [x["record"] for x in lines] == sorted(x["record"] for x in lines)
    for c in blind["changes"]:
        assert sum((x["was"], x["would"]) == (c["was"], c["would"]) for x in lines) == c["decisions"]
    xs = contexts()
    assert all(x["loss"] == loss(xs[x["id"]], x["played"]) for x in lines)
    for x in lines[:: len(lines) // 3]:  # the daemon says the same of that decision
        told = json.loads(one.run("--explain", "m", str(x["id"])).stdout)
        assert (told["a"], told["p"]) == (x["played"], x["p"])
        assert told["greedy"] == (x["was"] == x["played"])
    whatif(one, "--model", "m", "--changed", again)
    assert again.read_text() == ""
    assert "no such file" in whatif(one, "--model", "m", "--changed", tmp_path / "no" / "x", fails=1).lower()
    few = "--model", "m", "--from", str(lines[-1]["t"]), "--without", "0"
    assert 0 < whatif(one, *few)["changed"] < 100  # so few that they are written when the file is closed
    assert "/dev/full" in whatif(one, *few, "--changed", "/dev/full", fails=1)
    again.write_text("stays")
    whatif(one, "--model", "m", "--to", "1", "--changed", again, fails=1)


def test_losses_that_come_too_late_are_not_learned(explored):
    one, _ = explored
    impatient = whatif(one, "--model", "m", "--window", "0.000001")
    assert impatient["late"] == EVENTS and impatient["would"]["value"] > 0.6
    patient = whatif(one, "--model", "m", "--window", "3600")
    assert patient["late"] == 0 and patient["changed"] == 0


@pytest.mark.plain
def test_span_and_words(explored):
    one, _ = explored
    whole = whatif(one, "--model", "m")
    middle = (whole["from"] + whole["to"]) / 2
    first, second = whatif(one, "--model", "m", "--to", str(middle)), whatif(one, "--model", "m", "--from", str(middle))
    assert first["events"] + second["events"] == EVENTS and first["to"] <= middle <= second["from"]
    text, _ = coppice("whatif", one.state, "--model", "m", "epsilon=0.05")
    assert f"model m: {EVENTS} decisions whose loss is known from 20" in text and "]: better" in text


def test_wrong_questions_are_named(explored, tmp_path):
    one, _ = explored
    assert "2 models in its newest checkpoint; expected --model NAME" in whatif(one, fails=1)
    assert "no model 'none'" in whatif(one, "--model", "none", fails=1)
    assert "no decision of model" in whatif(one, "--model", "other", fails=1)
    assert "no decision of model" in whatif(one, "--model", "m", "--to", "1", fails=1)
    assert "--to: expected a time after --from" in whatif(one, "--model", "m", "--from", "2", "--to", "1", fails=2)
    assert "holdout: no such option" in whatif(one, "--model", "m", "holdout=0.5", fails=2)
    assert "given twice" in whatif(one, "--model", "m", "epsilon=0.1", "epsilon=0.2", fails=2)
    assert "goes with --without" in whatif(one, "--model", "m", "--names", "nowhere", fails=1)
    assert "colour: no such option" in whatif(one, "--model", "m", "colour=1", fails=2)
    assert "arms: is what the journal's decisions have" in whatif(one, "--model", "m", "arms=4", fails=2)
    assert "epsilon: expected a number from 0 to 1" in whatif(one, "--model", "m", "epsilon=2", fails=2)
    assert "expected SETTING=VALUE" in whatif(one, "--model", "m", "epsilon", fails=2)
    assert "experts: learner dgt has no such option" in whatif(one, "--model", "m", "learner=dgt", "experts=linear", fails=2)
    assert "'x9': expected a feature's name (--names, or saved with the model), or its number below 3" in whatif(one, "--model", "m", "--without", "x9", fails=1)
    out, err = coppice("whatif", tmp_path, status=1)
    assert "no checkpoint in it; expected a daemon's state folder" in err
    assert "cannot be opened: No such file or directory" in coppice("whatif", tmp_path / "missing", status=1)[1]


@pytest.mark.plain
@pytest.mark.skipif("TSAN_OPTIONS" in os.environ, reason="its statistics have no threads of their own")
def test_intervals_cover_what_is_known(daemon):
    """A policy whose cost is known: an even draw, whatever the model has learned. Losses have noise of their own."""
    models, events, rng = 40, 250, random.Random(11)
    one = daemon("".join(model(f"m{k}", policy="epsilon", epsilon=0.4, seed=k + 1, trees=1) for k in range(models)))
    client, covered, differs, truths = one.client(), 0, 0, []
    for k in range(models):
        xs = [[rng.random() for _ in range(3)] for _ in range(events)]
        items = [{"id": i, "x": x} for i, x in enumerate(xs)]
        chance = [[0.15 + 0.7 * (arm != int(3 * x[0])) for arm in range(3)] for x in xs]  # of a loss of 1
        for at in range(0, events, 25):
            actions = client.ok("decide_batch", f"m{k}", {"items": items[at : at + 25]})["items"]
            losses = [float(rng.random() < chance[a["id"]][a["a"]]) for a in actions]
            client.ok("feedback_batch", f"m{k}", {"items": [{"id": a["id"], "loss": l} for a, l in zip(actions, losses)]})
        truths.append(sum(map(sum, chance)) / 3 / events)
    one.stop()
    for k in range(models):
        asked = whatif(one, "--model", f"m{k}", "epsilon=1")
        assert asked["events"] == events and asked["changed"] == 0
        covered += asked["would"]["low"] <= truths[k] <= asked["would"]["high"]
        differs += asked["gain"]["low"] > 0
    # 38 are expected; 33 or fewer would be seen once in 50 such tests. That it is worse is seen nearly always.
    assert covered >= 34 and differs >= 30, (covered, differs)


def test_models_that_rank_and_models_given_further_arms(daemon):
    one = daemon(model("r", "rank", arms=None, features=2, candidate_features=1) + model(policy="epsilon", epsilon=1))
    client = one.client()
    for i in range(300):
        action = client.ok("rank", "r", {"id": i, "x": [1, 0], "c": [[0.1], [0.9], [0.4]]})
        client.feedback("r", i, float(action["a"] != 1))
    live(client, contexts()[:500])
    client.ok("model", "m", {"do": "set", "options": {"arms": 5}})
    live(client, contexts()[500:1000], first=500)
    client.ok("checkpoint")
    one.stop()
    assert whatif(one, "--model", "r", "--without", "0")["events"] == 300
    grown = whatif(one, "--model", "m", "epsilon=0.1")
    assert grown["events"] == 1000 and grown["gain"]["high"] < 0


def value_model(**options):
    return model("v", "value", arms=None, features=2, height=None, trees=None, feedback="bins", **options)


def played(one, xs, seen=1.0):
    """Values of which 2 + 3 x[0] is the best; the mean loss, at most 1. seen: a factor of x[0], as it is told."""
    total, client = 0, one.client()
    for i, x in enumerate(xs):
        y = client.ok("decide", "v", {"id": i, "x": [x[0] * seen, x[1]]})["y"]
        total += (loss := abs(y - 2 - 3 * x[0]) / 3)
        client.feedback("v", i, loss)
    return total / len(xs)


@pytest.mark.plain
def test_models_of_values(daemon):
    one = daemon(value_model(value_range=[2, 5]))
    mean = played(one, contexts()[:1500])
    one.client().ok("checkpoint")
    same = whatif(one)
    assert same["events"] == 1500 and same["changed"] == 0 and same["moved"] == 0 and "changes" not in same
    assert same["gain"] == {"value": 0, "low": 0, "high": 0} and same["mean_loss"] == pytest.approx(mean)
    assert same["was"]["low"] - 0.02 < mean < same["was"]["high"] + 0.02
    blind = whatif(one, "--without", "0", "--level", "0.999")
    assert blind["changed"] > 750 and 0.05 < blind["moved"] < 0.5
    true = played(daemon(value_model(value_range=[2, 5])), contexts()[:1500], seen=0.0)
    assert true > mean + 0.1 and blind["would"]["low"] < true < blind["would"]["high"]
    assert blind["gain"]["low"] < true - mean < blind["gain"]["high"]
    lines = one.folder / "changed"
    whatif(one, "--without", "0", "--changed", lines)
    lines = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(lines) == blind["changed"] and all(2 <= x["was"] <= 5 and 2 <= x["would"] <= 5 for x in lines)
    assert sum(abs(x["was"] - x["would"]) / 3 for x in lines) / 1500 == pytest.approx(blind["moved"], abs=0.02)
    assert all(set(x) == {"id", "t", "record", "was", "would", "loss"} for x in lines)
    text, _ = coppice("whatif", one.state, "--without", "0")
    assert "another best value in" in text and "of value_range away, on average" in text and "arm" not in text
    assert "delta: learner value has no such option" in whatif(one, "delta=0.2", fails=2)


@pytest.mark.parametrize("feedback", ["one", "two"])
def test_values_of_probes_are_compared_and_not_estimated(daemon, feedback):
    one = daemon(model("v", "value", arms=None, features=2, feedback=feedback))
    client = one.client()
    for i, x in enumerate(contexts()[:400]):
        probes = client.ok("decide", "v", {"id": i, "x": x[:2]})["probe"]
        losses = [abs(y - x[0]) for y in probes]
        client.feedback("v", i, losses if feedback == "two" else losses[0])
    one.stop()
    asked = whatif(one, "learning_rate=3")
    assert asked["events"] == 400 and asked["moved"] > 0 and not {"was", "would", "gain"} & set(asked)
    assert "what was played has no density" in coppice("whatif", one.state)[0]
    assert "delta: is what the journal's decisions have" in whatif(one, "delta=0.2", fails=2)


def test_control_group_is_learned_and_not_counted(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.5, holdout=0.2, baseline=0))
    mean = live(one.client(), contexts()[:1500])
    one.client().ok("checkpoint")
    asked = whatif(one, "epsilon=0.05")
    assert asked["events"] + asked["held"] == 1500 and 200 < asked["held"] < 400
    assert asked["gain"]["high"] < 0 and asked["mean_loss"] < mean


def test_windows_and_rewards_of_their_own(daemon):
    one = daemon(model(policy="epsilon", epsilon=0.5, reward_window="50ms"))
    client, results = one.client(), []
    for first in range(0, 600, 50):
        made = [(i, x, client.decide("m", i, x)["a"]) for i, x in enumerate(contexts()[first : first + 50], first)]
        if first >= 300:
            wait_for(lambda: client.model()["pending"] == 0, "windows to end")
        results += [client.feedback("m", i, loss(x, arm)) for i, x, arm in made]
    applied = results.count("applied")
    assert applied <= 300 and set(results) <= {"applied", "late", "unknown"}
    one.stop()
    as_it_is, patient = whatif(one, "--save", one.folder / "short"), whatif(one, "--window", "600", "--save", one.folder / "long")
    assert as_it_is["late"] == patient["late"] == 0 and patient["events"] == as_it_is["events"] == applied
    learned = [json.loads(coppice("inspect", one.folder / f, "--json")[0])["models"][0]["learned"] for f in ("short", "long")]
    assert learned == [applied, 600]
    strict = whatif(one, "reward_window=1ms", "default_loss=1", "reward=last")
    assert strict["events"] == applied
