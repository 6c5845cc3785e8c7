"""Files of `coppice train` served by a daemon: start_from of hard trees and forests."""

import csv
import gzip
import json
import os
import random
import subprocess

import pytest
from conftest import coppice, program
from test_replica import begin, follows, instance

COLOURS = ["red", "green", "blue"]
LEARNERS = ["tao", "cart", "dgt", "polytope", "softmax", "latent", "tao --trees 5", "cart --forest bagging --trees 5"]


def write_animals(path, rows=400, seed=3):
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as out:
        out.write("age,colour,size,kind\n")
        for _ in range(rows):
            age, colour, size = rng.randint(1, 90), rng.choice(COLOURS), round(rng.uniform(-3, 3), 3)
            kind = "cat" if (age > 40) == (colour == "red") else "dog" if size > 0 else "emu"
            out.write(f"{age},{colour},{size},{kind}\n")
    return path


def write_values(path, rows=400, seed=4):
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as out:
        out.write("a,b,y\n")
        for _ in range(rows):
            a, b = rng.uniform(-3, 3), rng.uniform(0, 900)
            out.write(f"{a:.4f},{b:.3f},{a * b if a > 0 else b - 400:.4f}\n")
    return path


def train(table, out, learner="tao", task="classification"):
    coppice("train", "--learner", *learner.split(), "--task", task, "--train", table, "--model", out, "--seed", 1)
    return out


def predict(saved, table):
    return json.loads(coppice("predict", saved, table, "--json")[0])["predictions"]


def rows_of(table):
    opened = gzip.open(table, "rt") if str(table).endswith(".gz") else open(table, encoding="utf-8")
    with opened as file:
        return list(csv.reader(file))


def contexts(table):
    """By name as the file has them; texts stay texts."""
    header, *rows = rows_of(table)

    def value(text):
        try:
            return float(text)
        except ValueError:
            return text

    return [{name: value(text) for name, text in zip(header[:-1], row)} for row in rows]


def decide_all(client, xs, name="m", step=500, first=0):
    found = []
    for at in range(0, len(xs), step):
        items = [{"id": first + at + i, "x": x} for i, x in enumerate(xs[at : at + step])]
        found += client.ok("decide_batch", name, {"items": items})["items"]
    return found


def served(saved, name="m", **more):
    return f'model "{name}" {{ start_from = "{saved}"' + "".join(f" {k} = {v}" for k, v in more.items()) + " }\n"


@pytest.mark.plain
def test_trained_classes_are_served_as_predict_has_them(daemon, tmp_path):
    table = write_animals(tmp_path / "animals.csv")
    saved = [train(table, tmp_path / f"{i}.model", learner) for i, learner in enumerate(LEARNERS)]
    client = daemon("".join(served(path, f"m{i}") for i, path in enumerate(saved))).client()
    for i, path in enumerate(saved):
        got = decide_all(client, contexts(table), f"m{i}")
        assert [a["arm"] for a in got] == predict(path, table), LEARNERS[i]
        assert all(a["p"] == 1.0 and a["greedy"] and a["rev"] == 0 for a in got)


@pytest.mark.parametrize("learner", ["tao", "cart --forest gradient --trees 5"])
def test_trained_values_are_served_to_the_bit(daemon, tmp_path, learner):
    table = write_values(tmp_path / "values.csv")
    saved = train(table, tmp_path / "v.model", learner, "regression")
    client = daemon(served(saved)).client()
    got = decide_all(client, contexts(table))
    told = predict(saved, table)
    assert [a["y"] for a in got] == told
    assert all(a["probe"] == [a["y"]] for a in got)
    explained = client.ok("explain", "m", {"id": 7})
    assert explained["y"] == explained["prediction"] == told[7] and explained["experts"][0]["trees"]
    assert client.feedback("m", 7, 3.5) == "applied"
    assert client.ok("explain", "m", {"x": contexts(table)[7]})["y"] == told[7]
    assert client.model()["learner"] == "trained_value" and client.model()["rev"] == 0


@pytest.mark.parametrize("name", ["segment", "letter"])
def test_trained_datasets_are_served_as_predict_has_them(daemon, tmp_path, name):
    folder = os.environ.get("COPPICE_DATA")
    if not folder:
        pytest.skip("COPPICE_DATA is not set")
    table, test = (os.path.join(folder, f"{name}.{part}.csv.gz") for part in ("train", "test"))
    saved = train(table, tmp_path / "d.model", "cart")
    d = daemon(served(saved))
    got = decide_all(d.client(), [[float(v) for v in row[:-1]] for row in rows_of(test)])
    assert [a["arm"] for a in got] == predict(saved, test)


def test_trained_model_learns_nothing_and_survives_without_its_file(daemon, tmp_path):
    table = write_animals(tmp_path / "animals.csv")
    saved = train(table, tmp_path / "a.model")
    told = predict(saved, table)
    d = daemon(served(saved))
    client = d.client()
    assert [a["arm"] for a in decide_all(client, contexts(table))] == told
    for i in range(50):
        assert client.feedback("m", i, 1.0) == "applied"
    is_now = client.model()
    assert is_now["challenger"]["frozen"] and is_now["feedback"]["applied"] == 50
    assert is_now["rev"] == is_now["learned"] == 0
    assert "nothing that could learn" in client.error("freeze", "m", {"on": False})["message"]
    d.kill()
    saved.unlink()
    d.start()
    newest = max(d.state.glob("*.checkpoint"))
    lines = [line.split() for line in coppice("inspect", newest)[0].splitlines()]
    assert ["learner", "trained"] in lines and ["arms", "3"] in lines and not any(w[:1] == ["height"] for w in lines)
    assert "colour=red" in coppice("inspect", newest, "--model", "m", "--view", "html")[0]
    client = d.client()
    assert client.model()["challenger"]["frozen"] and client.model()["feedback"]["applied"] == 50
    assert [a["arm"] for a in decide_all(client, contexts(table), first=1000)] == told
    d.write_config(served(saved, explain_keep=3))
    client.ok("reload")
    assert client.decide("m", "later", contexts(table)[0])["arm"] == told[0]


def test_trained_model_is_explained_and_counts_unknown_names(daemon, tmp_path):
    table = write_animals(tmp_path / "animals.csv")
    saved = train(table, tmp_path / "a.model")
    client = daemon(served(saved)).client()
    client.decide("m", 1, {"age": 31, "colour": "red", "size": 0.2})
    explained = client.ok("explain", "m", {"id": 1})
    assert explained["arm"] in ("cat", "dog", "emu") and [e["name"] for e in explained["experts"]] == ["trained"]
    path = explained["experts"][0]["trees"][0]["path"]
    assert {f["feature"] for node in path for f in node["features"]} <= {"age", "size", *(f"colour={c}" for c in COLOURS)}
    assert client.model()["unknown_names"] == 0
    client.decide("m", 2, {"age": 31, "colour": "pink", "weight": 4})
    assert client.model()["unknown_names"] == 2


def check(text, folder):
    (folder / "c.conf").write_text(f'state_dir = "{folder}/state"\nsockets {{ requests = {{ "ipc://{folder}/r" }} }}\n' + text, encoding="utf-8")
    done = subprocess.run([program("COPPICED"), "--config", folder / "c.conf", "--check"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_check_tells_of_trained_models(tmp_path):
    table = write_animals(tmp_path / "animals.csv")
    saved = train(table, tmp_path / "a.model")
    status, text = check(served(saved), tmp_path)
    assert status == 0 and "trained, served as it is" in text, text
    status, text = check('model "m" { learner = "trained" features = 5 arms = 3 }', tmp_path)
    assert status == 1 and "expected start_from" in text
    status, text = check(served(saved, arms=4), tmp_path)
    assert status == 1 and "arms 4" in text and "arms 3" in text
    status, text = check(served(saved, epsilon=0.1), tmp_path)
    assert status == 1 and "epsilon: this learner has no such option" in text
    saved.write_bytes(saved.read_bytes()[:-9])
    status, text = check(served(saved), tmp_path)
    assert status == 1 and str(saved) in text


def test_embedding_is_refused_by_name(tmp_path):
    table = write_values(tmp_path / "values.csv", 80)
    coppice("embed", "--rounds", 2, "--train", table, "--model", tmp_path / "e.model")
    status, text = check(served(tmp_path / "e.model"), tmp_path)
    assert status == 1 and "predicts 2 numbers" in text and "expected classes or one number" in text


def test_follower_answers_as_the_trained_model_does(daemon, tmp_path):
    table = write_animals(tmp_path / "animals.csv", 60)
    saved = train(table, tmp_path / "a.model")
    told = predict(saved, table)
    leader = instance(daemon, "a", models=served(saved)).start()
    assert [a["arm"] for a in decide_all(leader.client(), contexts(table))] == told
    follower = begin(instance(daemon, "b", of=[leader], models=served(saved)))
    follows(leader, follower)
    assert [a["arm"] for a in decide_all(follower.client(), contexts(table), first=100)] == told
