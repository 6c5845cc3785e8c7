"""coppice diff: what models learned between two checkpoints, in words and figures, checked against the daemon's own."""

import json
import shutil

import pytest
from bandit_logs import coppice
from conftest import model, section


def save(one, folder, name):
    """Stops the daemon; a copy of the checkpoint that it wrote."""
    one.stop()
    path = folder / name
    shutil.copy(max(one.state.glob("*.checkpoint")), path)
    return path


def teach(client, first, last, name="m", best=lambda x: int(x[0] > 0)):
    total = 0
    for i in range(first, last):
        x = [(i * 7 % 11) / 5 - 1, (i * 5 % 13) / 6 - 1, 0.5]
        loss = int(client.decide(name, i, x)["a"] != best(x))
        total += loss
        client.feedback(name, i, loss)
    return total


@pytest.fixture
def pair(daemon, tmp_path):
    """Two checkpoints of one daemon: 200 events, and 300 more by which the best arm hangs on another feature."""
    text = model() + model("d", learner="dgt") + model("idle")
    one = daemon(text)
    before = teach(one.client(), 0, 200)
    teach(one.client(), 0, 100, "d")
    old = save(one, tmp_path, "old")
    one.start()
    after = teach(one.client(), 200, 500, best=lambda x: 2 * int(x[1] > 0))
    return old, save(one, tmp_path, "new"), before, after


def test_arms_that_were_added_are_no_other_shape(daemon, tmp_path):
    one = daemon(model())
    teach(one.client(), 0, 100)
    old = save(one, tmp_path, "old")
    one.start()
    one.client().ok("model", "m", {"do": "set", "options": {"arms": 5}})
    teach(one.client(), 100, 200)
    text = coppice("diff", old, save(one, tmp_path, "new"))[0]
    assert "model m\n  arms: 3 -> 5\n  100 new decisions" in text


def test_figures_are_those_of_what_came_between(pair):
    old, new, before, after = pair
    shown = {one["model"]: one for one in json.loads(coppice("diff", old, new, "--json")[0])["models"]}
    assert list(shown) == ["m", "d", "idle"]
    m = shown["m"]
    assert (m["decisions"], m["learned"]) == (300, 300)
    assert m["mean_loss"] == pytest.approx(after / 300) and m["mean_loss_before"] == pytest.approx(before / 200)
    assert m["settings"] == []
    assert (shown["d"]["decisions"], shown["d"]["learned"], shown["d"]["terms"]) == (0, 0, [])
    assert shown["idle"]["terms"] == [] and "mean_loss" not in shown["idle"]


def test_terms_are_those_that_inspect_shows_and_the_most_changed_first(pair):
    old, new, _, _ = pair
    m = json.loads(coppice("diff", old, new, "--model", "m", "--top", "64", "--json")[0])["models"][0]
    weights = [{e["name"]: e["weight"] for e in json.loads(coppice("inspect", path, "--model", "m", "--json")[0])["models"][0]["experts"]}
               for path in (old, new)]
    assert {e["expert"]: e["new"] for e in m["experts"]} == pytest.approx(weights[1])
    assert {e["expert"]: e["old"] for e in m["experts"]} == pytest.approx(weights[0])
    linear = [t for t in m["terms"] if t["expert"] == "linear"]
    assert {t["feature"] for t in linear} <= {"x0", "x1", "x2", "constant"} and {t["a"] for t in linear} <= {0, 1, 2}
    changes = [abs(t["new"] - t["old"]) for t in linear]
    assert changes == sorted(changes, reverse=True) and changes[0] > 0
    assert linear[0]["feature"] == "x1" or linear[1]["feature"] == "x1"  # what now tells the arms apart
    for t in linear:
        assert ("for it" in t["verdict"]) == (t["new"] < 0)
        assert ("now" in t["verdict"]) == (t["old"] * t["new"] < 0)
    few = json.loads(coppice("diff", old, new, "--model", "m", "--top", "2", "--json")[0])["models"][0]
    assert [t for t in few["terms"] if t["expert"] == "linear"] == linear[:2]


def test_words_have_names(pair, tmp_path):
    old, new, _, _ = pair
    (tmp_path / "features").write_text("age\nhour\nvisits\n")
    (tmp_path / "arms").write_text("news\nsport\nmusic\n")
    text = coppice("diff", old, new, "--model", "m", "--names", tmp_path / "features", "--arm-names", tmp_path / "arms")[0]
    assert text.startswith("model m\n  300 new decisions, 300 losses learned, whose mean is 0.")
    assert "linear, music: hour " in text or "linear, sport: hour " in text or "linear, news: hour " in text
    assert "arm 0" not in text and "x1" not in text
    assert "2 names, expected 3, one for each arm" in refused(tmp_path, old, new, ["a", "b"])


def refused(folder, old, new, arms):
    (folder / "wrong").write_text("".join(arm + "\n" for arm in arms))
    return coppice("diff", old, new, "--model", "m", "--arm-names", folder / "wrong", status=1)[1]


def test_nothing_changed_is_said(pair):
    _, new, _, _ = pair
    text = coppice("diff", new, new)[0]
    assert text.count("nothing that it has learned changed") == 3


def test_what_cannot_be_compared_is_refused(pair, daemon, tmp_path):
    old, new, _, _ = pair
    assert "the newer model has fewer decisions (200) than the older one (500)" in coppice("diff", new, old, "--model", "m", status=1)[1]
    other = save(daemon(model(features=2) + model("comes")), tmp_path, "other")
    assert "models of different shapes cannot be compared: features" in coppice("diff", old, other, "--model", "m", status=1)[1]
    assert "no model 'comes'" in coppice("diff", old, other, "--model", "comes", status=1)[1]
    assert "model comes\n  is new\n" in coppice("diff", save(daemon(model("m", features=2)), tmp_path, "same"), other)[0]
    assert "no model 'zz' in it" in coppice("diff", old, new, "--model", "zz", status=1)[1]
    assert "neither a checkpoint nor a model file" in coppice("diff", __file__, new, status=1)[1]
    assert "No such file" in coppice("diff", old, tmp_path / "missing", status=1)[1]
    (tmp_path / "rows.csv").write_text("".join(f"{i},{i % 2}\n" for i in range(20)))
    coppice("train", "--learner", "cart", "--train", tmp_path / "rows.csv", "--model", tmp_path / "trained")
    assert "no model in it that learns from decisions" in coppice("diff", tmp_path / "trained", tmp_path / "trained", status=1)[1]
    assert "expected OLD and NEW" in coppice("diff", old, status=2)[1]


def test_settings_that_were_changed_are_shown(daemon, tmp_path):
    one = daemon(model(gamma=100))
    teach(one.client(), 0, 30)
    old = save(one, tmp_path, "old")
    one.write_config(model(gamma=200))
    one.start()
    new = save(one, tmp_path, "new")
    assert "  gamma: 100 -> 200\n" in coppice("diff", old, new)[0]
    assert json.loads(coppice("diff", old, new, "--json")[0])["models"][0]["settings"] == [
        {"option": "gamma", "old": "100", "new": "200"}]


def newest_time(one):
    return json.loads(coppice("journal", "dump", one.state, "--json")[0].splitlines()[-1])["t"]


def test_two_times_are_compared_from_the_journal(daemon, tmp_path):
    """As the checkpoints of those times are, which the state folder no longer has."""
    one = daemon(model() + section("checkpoint", {"every": "1h", "keep": 1, "older": 0}))
    client, times, files = one.client(), [], []
    for first, last in ((0, 100), (100, 250), (250, 300)):
        teach(client, first, last)
        client.ok("checkpoint")
        times.append(newest_time(one))
        files.append(shutil.copy(max(one.state.glob("*.checkpoint")), tmp_path / str(last)))
    assert len(list(one.state.glob("*.checkpoint"))) == 1
    for old, new in ((0, 1), (0, 2), (1, 2)):
        expected = json.loads(coppice("diff", files[old], files[new], "--json")[0])["models"]
        words = ["--model", "m", "--from", times[old], *(["--to", times[new]] if new < 2 else [])]
        assert json.loads(coppice("diff", one.state, *words, "--json")[0])["models"] == expected
    assert "model m\n  200 new decisions" in coppice("diff", one.state, "--model", "m", "--from", times[0])[0]
    assert "at or before that time" in coppice("diff", one.state, "--model", "m", "--from", 1, status=1)[1]
    assert "expected --model NAME" in coppice("diff", one.state, "--from", times[0], status=2)[1]
    assert "--from: 'then' given" in coppice("diff", one.state, "--model", "m", "--from", "then", status=2)[1]
    assert "expected STATE alone" in coppice("diff", *files[:2], "--model", "m", "--from", 5, status=2)[1]
    assert "expected --from" in coppice("diff", *files[:2], "--to", 5, status=2)[1]
    assert "a time after --from" in coppice("diff", one.state, "--model", "m", "--from", 5, "--to", 4, status=2)[1]


def test_model_that_was_begun_anew_is_named(daemon, tmp_path):
    one = daemon(model())
    client = one.client()
    teach(client, 0, 60)
    client.ok("checkpoint")
    old, before = shutil.copy(max(one.state.glob("*.checkpoint")), tmp_path / "old"), newest_time(one)
    one.admin().ok("model", "m", {"do": "reset", "options": {"arms": 4}})
    teach(client, 60, 90)
    client.ok("checkpoint")
    middle, between = shutil.copy(max(one.state.glob("*.checkpoint")), tmp_path / "middle"), newest_time(one)
    teach(client, 90, 110)
    client.ok("checkpoint")
    new = max(one.state.glob("*.checkpoint"))
    said = "model m\n  was begun anew in between (life 0 -> 1): what it had learned is left behind\n"
    for words in ((old, new), (old, new, "--model", "m"), (one.state, "--model", "m", "--from", before)):
        assert coppice("diff", *words)[0] == said
    told = json.loads(coppice("diff", old, new, "--model", "m", "--json")[0])["models"]
    assert told == [{"model": "m", "begun_anew": {"old": 0, "new": 1}}]
    for words in ((middle, new, "--model", "m"), (one.state, "--model", "m", "--from", between)):
        assert coppice("diff", *words)[0].startswith("model m\n  20 new decisions, 20 losses learned")
    first = json.loads(coppice("whatif", one.state, "--model", "m#0", "--json")[0])
    last = json.loads(coppice("whatif", one.state, "--model", "m", "--json")[0])
    assert (first["events"], last["events"]) == (60, 50)
    assert "no model 'm#7'" in coppice("whatif", one.state, "--model", "m#7", "--json", status=1)[1]
