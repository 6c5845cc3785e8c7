"""Names of sparse models' features: kept within a bound, shown by explain and inspect, saved with the model."""

import json
import re
import subprocess

import pytest
from bandit_logs import coppice, replay
from conftest import DEADLINE, model, program

SPARSE = dict(features=0, bits=12)
PEOPLE, CITIES = ("tom", "ann", "joe"), ("Rome", "Oslo")


def flat(i):
    return {f"User^name={PEOPLE[i % 3]}": 1, f"city={CITIES[i % 2]}": 1.0, "age": 0.1 * (i % 7)}


def objects(i):
    return {"User": {"name": PEOPLE[i % 3], "age": 0.1 * (i % 7)}, "Place": {"city": CITIES[i % 2]}, "tags": [1, 2.5]}


NAMES = {
    flat: {*(f"User^name={p}" for p in PEOPLE), *(f"city={c}" for c in CITIES), "age"},
    objects: {*(f"User^name{p}" for p in PEOPLE), *(f"Place^city{c}" for c in CITIES), "User^age", "tags^0", "tags^1"},
}


def teach(client, contexts, events=300, name="m"):
    for start in range(0, events, 100):
        items = [{"id": i, "x": contexts(i)} for i in range(start, start + 100)]
        actions = client.ok("decide_batch", name, {"items": items})["items"]
        losses = [{"id": a["id"], "loss": float(a["a"] != i % 3)} for i, a in enumerate(actions)]
        client.ok("feedback_batch", name, {"items": losses})


def names_in(reply):
    linear = {f["feature"] for e in reply["experts"] for f in e["features"]}
    paths = {f["feature"] for e in reply["experts"] for t in e["trees"] for n in t["path"] for f in n["features"]}
    return (linear | paths) - {"constant"}


def inspect(one, *args):
    return coppice("inspect", max(one.state.glob("*.checkpoint")), *args)[0]


@pytest.mark.parametrize("contexts", [flat, objects])
@pytest.mark.parametrize("learner", ["ensemble", "dgt", "value"])
def test_explain_names_hashed_features(daemon, contexts, learner):
    one = daemon(model(learner=learner, **SPARSE))
    client = one.client()
    if learner == "value":
        for i in range(20):
            client.decide("m", i, contexts(i))
    else:
        teach(client, contexts)
    client.decide("m", "waits", contexts(0))
    by_id, by_x = client.ok("explain", "m", {"id": "waits"}), client.ok("explain", "m", {"x": contexts(1)})
    for reply in (by_id, by_x):
        assert names_in(reply) and names_in(reply) <= NAMES[contexts]
    text = subprocess.run([program("COPPICE"), "ctl", "--endpoint", one.ipc("requests"), "explain", "m", "waits"],
                          capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    assert all(name in text for name in names_in(by_id))
    one.restart()
    again = one.client().ok("explain", "m", {"id": "waits"})
    assert names_in(again) == names_in(by_id)


def test_inspect_shows_the_names_of_a_saved_sparse_model(daemon):
    one = daemon(model(**SPARSE))
    teach(one.client(), objects)
    one.stop()
    shown = json.loads(inspect(one, "--json"))["models"][0]
    assert shown["names"]["kept"] == len(NAMES[objects]) and shown["names"]["given_up"] == 0
    assert f"names              {len(NAMES[objects])}, " in inspect(one)
    tree = inspect(one, "--tree", "0")
    assert any(name in tree for name in NAMES[objects]) and " x1" not in tree
    features = json.loads(inspect(one, "--tree", "0", "--json"))["models"][0]["trees"][0]["feature_names"]
    assert len(features) == 2 ** SPARSE["bits"] and NAMES[objects] <= set(features)


def test_names_of_one_place_are_both_shown(daemon):
    one = daemon(model(features=0, bits=1))
    client = one.client()
    teach(client, flat)
    shown = {frozenset(n.split(" | ")) for i in range(6) for n in names_in(client.ok("explain", "m", {"x": flat(i)}))}
    assert len(shown) == 2 and frozenset.union(*shown) == NAMES[flat]


def test_a_name_that_nobody_sent_is_its_place(daemon):
    client = daemon(model(**SPARSE)).client()
    client.decide("m", 1, {77: 1.0, "age": 2.0})
    assert names_in(client.ok("explain", "m", {"id": 1})) == {"x77", "age"}


def test_names_bytes_bounds_what_is_kept(daemon):
    one = daemon(model("small", names_bytes="16KiB", **SPARSE) + model("none", names_bytes="0B", **SPARSE))
    client = one.client()
    for start in range(0, 3000, 100):
        for name in ("small", "none"):
            items = [{"id": i, "x": {f"user=number{i}": 1, "always": 1}} for i in range(start, start + 100)]
            client.ok("decide_batch", name, {"items": items})
    assert "always" in names_in(client.ok("explain", "small", {"x": {"always": 1}}))
    assert all(name.startswith("x") for name in names_in(client.ok("explain", "none", {"x": {"always": 1}})))
    # somebody who asks learns the names, whatever was given up
    assert "user=number7" in str(names_in(client.ok("explain", "small", {"x": {"user=number7": 1}})))
    one.stop()
    small, none = json.loads(inspect(one, "--json"))["models"]
    assert "names" not in none and small["names"]["kept"] > 100 and small["names"]["given_up"] > 100
    assert small["names"]["bytes"] <= 16384
    one.write_config(model("small", names_bytes="0B", **SPARSE) + model("none", names_bytes="1MiB", **SPARSE))
    one.start()
    assert all(name.startswith("x") for name in names_in(one.client().ok("explain", "small", {"x": {"always": 1}})))
    assert names_in(one.client().ok("explain", "none", {"x": {"always": 1}})) == {"always"}
    # a reload brings another bound to the living model
    one.write_config(model("small", names_bytes="1MiB", **SPARSE) + model("none", names_bytes="0B", **SPARSE))
    assert not one.client().ok("reload")["restart"]
    assert names_in(one.client().ok("explain", "small", {"x": {"always": 1}})) == {"always"}
    assert all(name.startswith("x") for name in names_in(one.client().ok("explain", "none", {"x": {"always": 1}})))


def test_names_after_a_kill_are_those_of_the_checkpoint_and_of_what_comes(daemon):
    one = daemon(model(**SPARSE))
    client = one.client()
    client.decide("m", 1, {"before": 1})
    client.ok("checkpoint")
    client.decide("m", 2, {"after": 1})
    one.kill()
    client = one.start().client()
    (named,) = names_in(client.ok("explain", "m", {"id": 1}))
    (numbered,) = names_in(client.ok("explain", "m", {"id": 2}))  # the journal has places
    assert named == "before" and numbered[0] == "x" and numbered[1:].isdigit()
    client.decide("m", 3, {"after": 1})
    assert names_in(client.ok("explain", "m", {"id": 2})) == {"after"}


def test_products_of_context_and_candidate_show_both_names(daemon):
    one = daemon(model(learner="rank", arms=None, policy="epsilon", epsilon=1, **SPARSE))
    client = one.client()
    items = [{"Item": {"id": str(k)}} for k in range(4)]
    for i in range(400):
        action = client.ok("rank", "m", {"id": i, "x": {"User": {"name": PEOPLE[i % 3]}}, "c": items})
        client.feedback("m", i, float(action["a"] != i % 3))
    client.ok("rank", "m", {"id": "waits", "x": {"User": {"name": "tom"}}, "c": items})
    for body in ({"id": "waits"}, {"x": {"User": {"name": "tom"}}, "c": items}):
        reply = client.ok("explain", "m", body)
        assert f"User^nametom*Item^id{reply['a']}" in names_in(reply)
        assert names_in(reply) <= {"User^nametom", f"Item^id{reply['a']}", f"User^nametom*Item^id{reply['a']}"}


# ---- models made from logs


def write_log(path, count=400):
    """dsjson in which what is best depends on the user."""
    with open(path, "w") as log:
        for i in range(count):
            action = (7 * i + i // 3) % 3
            event = {"_label_cost": float(action != i % 3), "_label_probability": 1 / 3, "_label_Action": action + 1,
                     "_labelIndex": action, "User": {"name": PEOPLE[i % 3]},
                     "_multi": [{"Item": {"id": str(k)}} for k in range(3)]}
            log.write(json.dumps(event) + "\n")
    return path


EXPECTED = {*(f"User^name{p}" for p in PEOPLE), *(f"Item^id{k}" for k in range(3))}


def kept_names(path):
    """The names in the section of that name, read without coppice's code."""
    data = path.read_bytes()
    at = data.index(b"names\0")
    at += 32 + 32
    count, found = int.from_bytes(data[at - 4 : at], "little"), []
    for _ in range(count):
        length = data[at + 8]
        found.append(data[at + 9 : at + 9 + length].decode())
        at += 9 + length
    return found


@pytest.mark.parametrize("more", [[], ["-q", "UI"]])
def test_replay_saves_the_names_of_hashed_features(tmp_path, daemon, more):
    log, saved = write_log(tmp_path / "log.json"), tmp_path / "a.model"
    args = ["--features", "hashed", "--bits", "12", *more]
    replay(log, *args, "--save", saved, format="dsjson")
    found = set(kept_names(saved))
    products = {f"User^name{p}*Item^id{k}" for p in PEOPLE for k in range(3)}
    assert found == EXPECTED | products if "-q" in args else found == EXPECTED
    assert json.loads(coppice("inspect", saved, "--json")[0])["models"][0]["names"]["kept"] == len(found)
    client = daemon(model(learner=None, arms=None, features=None, height=None, trees=None, start_from=saved)).client()
    reply = client.ok("explain", "m", {"x": {"User": {"name": "tom"}}, "c": [{"Item": {"id": "0"}}]})
    assert {"User^nametom", "Item^id0"} <= names_in(reply)
    assert all(not name.startswith("x") for name in names_in(reply))
    replay(log, *args, "--save", saved, "--names-bytes", "0", format="dsjson")
    assert "names" not in json.loads(coppice("inspect", saved, "--json")[0])["models"][0]


def test_replay_resumed_goes_on_with_the_names(tmp_path):
    log, saved = write_log(tmp_path / "log.json"), tmp_path / "a.model"
    replay(log, "--features", "hashed", "--bits", "12", "--save", saved, format="dsjson")
    (tmp_path / "more.json").write_text(log.read_text().splitlines()[0].replace('"tom"', '"eve"') + "\n")
    replay(tmp_path / "more.json", "--resume", saved, "--save", tmp_path / "b.model", format="dsjson")
    assert set(kept_names(tmp_path / "b.model")) == EXPECTED | {"User^nameeve"}


def named_files(folder, **names):
    for name, lines in names.items():
        (folder / name).write_text("".join(line + "\n" for line in lines))
    return {f"{name}_names": str(folder / name) for name in names}


def test_candidates_of_a_dense_model_have_names(daemon, tmp_path):
    files = named_files(tmp_path, feature=["age", "hour", "mobile"], candidate=["price", "weight"])
    one = daemon(model("r", learner="rank", arms=None, trees=None, height=None, max_candidates=4, candidate_features=2, **files))
    client = one.client()
    for i in range(60):  # by name and by place it is the same row
        x, c = [i % 7, i % 5, i % 2], [[i % 3, 1.0], [0.0, i % 4 + 1.0]]
        named = {"x": dict(zip(("age", "hour", "mobile"), x)), "c": [dict(zip(("price", "weight"), v)) for v in c]}
        for id, sent in ((f"n{i}", named), (f"p{i}", {"x": x, "c": c})):
            a = client.ok("rank", "r", {"id": id, **sent})["a"]
            client.feedback("r", id, int(a != i % 2))
        assert client.ok("explain", "r", named)["prediction"] == client.ok("explain", "r", {"x": x, "c": c})["prediction"]
    shown = names_in(client.ok("explain", "r", named))
    assert {"price", "weight"} & {part for name in shown for part in name.split("*")}
    assert not any(re.search(r"\bc\d", name) for name in shown), shown
    assert "no feature of the model has this name" in client.error("rank", "r", {"id": 1, "x": x, "c": [{"size": 1}]})["message"]
    (tmp_path / "candidate").write_text("price\nsize\n")
    assert client.ok("reload")["applied"] == ["model r: candidate_names: the file's names changed"]
    client.ok("rank", "r", {"id": 1, "x": x, "c": [{"size": 1}]})
    one.stop()
    page = inspect(one, "--view", "html", "--candidate-names", tmp_path / "candidate", "--names", tmp_path / "feature")
    assert "price" in page and "age" in page
    assert "1 names, expected 2, one for each feature of candidates" in refused(one, tmp_path, "--candidate-names", ["a"])


def refused(one, folder, option, lines):
    path = folder / "wrong"
    path.write_text("".join(line + "\n" for line in lines))
    done = subprocess.run([program("COPPICE"), "inspect", max(one.state.glob("*.checkpoint")), "--tree", "0", option, path],
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1
    return done.stderr


def test_arms_have_names_in_the_configuration_and_in_views(daemon, tmp_path):
    files = named_files(tmp_path, arm=["news", "sport", "<music>"], feature=["age", "hour", "mobile"])
    one = daemon(model("m", holdout=0.5, baseline="sport", share_min=["news=0.25"], **files))
    client = one.client()
    held = [a for i in range(100) if (a := client.decide("m", i, [i % 3, 1, 0])).get("by") == "holdout"]
    assert {a["arm"] for a in held} == {"sport"} and client.model()["holdout"]["baseline"] == 1
    assert 'share_min = { "0=0.25" }' in one.run("--print-config").stdout
    for i in range(100):
        client.feedback("m", i, i % 2)
    one.stop()
    text = inspect(one, "--tree", "0", "--arm-names", tmp_path / "arm", "--names", tmp_path / "feature")
    assert re.search(r"leaf \d+: (news|sport|<music>)", text) and "arm 0" not in text and "mobile" in text
    page = inspect(one, "--view", "html", "--arm-names", tmp_path / "arm")
    assert "<h4>&lt;music&gt;</h4>" in page and "<h4>arm 0</h4>" not in page and "<music>" not in page
    assert "2 names, expected 3, one for each arm" in refused(one, tmp_path, "--arm-names", ["a", "b"])
