#!/usr/bin/env python3
"""What a version leaves behind, for the versions after it: release_state.py VERSION.tar.xz

With the programs that COPPICED and COPPICE name, it writes: a configuration, a state folder as a killed daemon leaves it
(a checkpoint, a journal, files of refits, a model that was added live, positions of an event log, somebody who was
forgotten), the model of a log, trained models of every learner, an embedding, and expected.json, what this version makes
of them. docs/contributing/releasing.md says when; test_compatibility.py reads it.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import zmq
from conftest import Daemon, model, program, section, wait_for

LEARNERS = ("cart", "dgt", "tao", "softmax", "laptao", "latent", "polytope")
REGRESSIONS = {
    "numbers": ["--learner", "cart", "--task", "regression"],
    "linear": ["--learner", "tao", "--task", "regression", "--leaves", "linear"],
}
FORESTS = {"bagging": ["--learner", "cart"], "adaboost": ["--learner", "cart"], "gradient": ["--learner", "cart"]}


NO_TREES = {"trees": None, "height": None}
MODELS = {  # one of each learner and kind of context, with what else is kept of a model
    "arms": {"arm_names": "NAMES", "holdout": 0.2, "baseline": 1},
    "named": {"losses": ["click=1", "seconds"], "loss_ranges": ["seconds=0:60"]},
    "small": {"learner": "dgt"},
    "sparse": {"features": 0, "bits": 10},
    "ranked": {"learner": "rank", "arms": None, "max_candidates": 4, "candidate_features": 2, **NO_TREES},
    "probes": {"learner": "value"},
    "bins": {"learner": "value", "feedback": "bins", **NO_TREES},
    "watched": {"apprentice": True},
    "summed": {"learner": "ridge", **NO_TREES},
    "refitted": {"refits": True},
    "added": {},  # live
    "served": {"start_from": "TRAINED/tao.model"},
    "priced": {"start_from": "TRAINED/numbers.model"},
}
REFIT = {"every": "0s", "least_feedback": 1000000, "on_drift": "none", "promote": "hand", "method": "tao", "idle": False}
ADDED = {"learner": "ensemble", "features": 3, "arms": 3, "trees": 2, "height": 2, "seed": 1, "reward_window": "365d"}
FORGOTTEN = "somebody"
MORE = 120  # decisions before each refit, so that there is enough to fit


def text_of(name, options):
    options = {**options, "reward_window": "365d"}
    if "start_from" in options:
        return section(f'model "{name}"', options)
    text = model(name, **options)
    return text[:-2] + "\t" + section("refit", REFIT).replace("\n", "\n\t").rstrip() + "\n}\n" if name == "refitted" else text


def configuration():
    """Decisions wait however long after it was written a later version opens the state: such clocks are ignored."""
    return 'clock_tolerance = "30d"\n' + "".join(text_of(name, options) for name, options in MODELS.items() if name != "added") + (
        section("checkpoint", {"every": "1h"})
        + section("journal", {"sync": "never", "segment": "64KiB", "compress": True})
    )


def context(name, i):
    x = [(i * 7 % 11) / 5 - 1, (i * 5 % 13) / 6 - 1, (i % 3) / 2]
    body = {"x": {f"page=p{i % 9}": 1, "age": x[0]} if name == "sparse" else x}
    if name == "ranked":
        body["c"] = [[i % 3, 1], [0, i % 4], [1, 1]]
    if name == "watched":
        body |= {"a": i % 3, "p": 0.5}
    return body


def ask(client, name, id, i, **more):
    verb = "rank" if name == "ranked" else "decide"
    return client.ok(verb, name, {"id": id, "unit": f"unit-{i % 17}", **context(name, i), **more})


def told(name, loss):
    if name == "named":
        return {"losses": {"click": loss, "seconds": 3 * loss}}
    return {"loss": [loss, loss / 2] if name == "probes" else loss}


def learn(client, first, last):
    """Decisions of all models, of which every fourth goes on waiting."""
    for i in range(first, last):
        for name in MODELS:
            ask(client, name, f"{name}-{i}", i, **({"from": ["orders", i % 2, i]} if name == "arms" else {}))
            loss = (i * 3 % 8) / 8
            if i % 4:
                assert client.ok("feedback", name, {"id": f"{name}-{i}", **told(name, loss)})["result"] == "applied"


def decided(count):
    """By each model, after so many rounds."""
    return [count + (2 * MORE if name == "refitted" else 0) for name in MODELS]


def refit(client, count):
    client.ok("refit", "refitted")
    wait_for(lambda: client.model("refitted")["refit"]["ended"] == count, "a refit")
    last = client.model("refitted")["refit"]
    assert last["last"] == "made", last


def live(client):
    """All that a state folder may hold, in the order of a long life."""
    client.ok("model", "added", {"do": "add", "options": ADDED})
    for name in MODELS:
        ask(client, name, f"{name}-{FORGOTTEN}", 5, unit=FORGOTTEN)
    learn(client, 0, 60)
    client.ok("forget", "", {"unit": FORGOTTEN})
    wait_for(lambda: client.status()["forget"]["orders"] == 0, "the order to be carried out")
    for count in (1, 2):
        for i in range(MORE * (count - 1), MORE * count):
            ask(client, "refitted", f"more-{i}", i)
            assert client.feedback("refitted", f"more-{i}", (i * 3 % 8) / 8) == "applied"
        refit(client, count)
        if count == 1:
            client.ok("promote", "refitted")
    client.ok("checkpoint")
    learn(client, 60, 110)


def looked_at(client):
    """What a daemon says of its models, and would decide."""
    keys = ("learner", "decisions", "learned", "pending", "loss_sum")
    seen = {}
    for name in MODELS:
        status = client.model(name)
        seen[name] = {key: status[key] for key in keys}
    seen["arms"]["positions"] = client.ok("positions", "arms")["positions"]
    seen["refitted"]["challenger"] = {key: client.model("refitted")["challenger"][key] for key in ("state", "events")}
    for name in MODELS:
        answers = [ask(client, name, f"probe-{name}-{i}", 1000 + i) for i in range(5)]
        seen[name]["answers"] = [{key: value for key, value in answer.items() if key != "id"} for answer in answers]
    return seen


def write_rows(path):
    lines = []
    for i in range(240):
        x = [(i * 7 % 31) / 31, (i * 11 % 29) / 29, (i * 5 % 23) / 23]
        lines.append(",".join(str(round(v, 4)) for v in x) + f",{int(x[0] + x[1] > 1) + int(x[2] > 0.7)}")
    path.write_text("\n".join(lines) + "\n")


def write_log(path):
    path.write_text("".join(
        f"{1 + i % 2}:{(i * 3 % 5) / 5}:0.5 | a={i % 4} b:{(i % 7) / 7:.3f}\n" for i in range(200)
    ))


def coppice(*words):
    done = subprocess.run([program("COPPICE"), *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def predictions(folder, name, out):
    """Of the first rows, by a trained model of the folder."""
    coppice("predict", folder / "trained" / f"{name}.model", folder / "rows.csv", "--out", out)
    return [line.split(",") for line in out.read_text().splitlines()[:40]]


def replayed(folder):
    """What the model of a log says of the log once more, after what it had added up."""
    report = json.loads(coppice("replay", "--format", "vw", folder / "log.vw", "--resume", folder / "log.model", "--json"))
    return {key: report[key] for key in ("events", "arms", "features", "average_loss", "ips", "dm", "dr")}


def train(folder, scratch):
    (folder / "trained").mkdir()
    write_rows(folder / "rows.csv")
    options = {name: ["--learner", name] for name in LEARNERS} | REGRESSIONS
    options["laptao"] += ["--labelled", "0.5"]
    options |= {name: [*words, "--trees", "3", "--height", "3", "--forest", name] for name, words in FORESTS.items()}
    for name, words in options.items():
        height = [] if "--height" in words else ["--height", "2"]
        coppice("train", "--train", folder / "rows.csv", "--model", folder / "trained" / f"{name}.model", "--threads", 1,
                *words, *height)
    coppice("embed", "--train", folder / "rows.csv", "--model", folder / "trained" / "embedded.model", "--height", 2,
            "--rounds", 2, "--threads", 1)
    return {name: predictions(folder, name, scratch / "out") for name in [*options, "embedded"]}


def configuration_of(folder):
    text = (folder / "coppice.conf").read_text().replace("NAMES", str((folder / "arms.txt").resolve()))
    return text.replace("TRAINED", str((folder / "trained").resolve()))


def serve(folder, scratch, context, state=None):
    """A daemon over a copy of a folder's state (None: begins anew)."""
    place = Path(tempfile.mkdtemp(dir=scratch))
    one = Daemon(place, context, configuration_of(folder))
    if state is not None:
        shutil.copytree(state, one.state)
    return one.start()


def make(folder):
    context = zmq.Context()
    (folder / "coppice.conf").write_text(configuration())
    (folder / "arms.txt").write_text("left\nmiddle\nright\n")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        expected = {"trained": train(folder, scratch)}
        one = serve(folder, scratch, context)
        live(one.client())
        one.kill()
        shutil.copytree(one.state, folder / "state", ignore=shutil.ignore_patterns("lock", "*.ipc"))
        for old in sorted((folder / "state").glob("*.checkpoint"))[:-1]:
            old.unlink()
        one.close()
        write_log(folder / "log.vw")
        coppice("replay", "--format", "vw", folder / "log.vw", "--bits", 8, "--height", 2, "--trees", 2, "--save", folder / "log.model")
        expected["replayed"] = replayed(folder)
        again = serve(folder, scratch, context, folder / "state")
        expected["models"] = looked_at(again.client())
        expected["version"] = again.client().status()["version"]
        again.close()
    context.destroy(linger=0)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def anonymous(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as made:
        make(Path(made))
        with tarfile.open(sys.argv[1], "w:xz") as archive:
            archive.add(made, ".", filter=anonymous)
