"""Models that come, change and go while the daemon serves, over a day of the clock: what a process that was killed at
any moment of it goes on from is byte for byte what the one that was not killed has.

COPPICE_SEED repeats a run.
"""

import shutil
import time
from collections import Counter

from faults import LONG, checkpoints, read_checkpoint, seeded, service

CHANGES = 400 if LONG else 100
DAY = 86400
COPIES = 40 if LONG else 12
NAMES = ("a", "b", "c", "d")
LEARNERS = (
    {"learner": "ensemble", "features": 3},
    {"learner": "dgt", "features": 4},
    {"learner": "dgt", "features": 2, "policy": "epsilon"},
    {"learner": "ridge", "features": 3},
    {"learner": "value", "features": 10},  # of 10 to 128 features: bins of that form
    {"learner": "rank", "features": 2, "candidate_features": 2, "max_candidates": 4},
)


class Scene:
    """Random events and changes; knows what the daemon should serve."""

    def __init__(self, daemon, rng):
        self.rng, self.client = rng, daemon.client()
        self.shapes = {"kept": {"learner": "ensemble", "features": 3, "arms": 3}}
        self.first = {"kept": 3}  # features that a model began with
        self.kept = {}  # of models that were removed
        self.open = {}
        self.results = Counter()
        self.next = 0

    def events(self, count):
        for _ in range(count):
            name = self.rng.choice(sorted(self.shapes))
            shape = self.shapes[name]
            features = self.rng.choice((shape["features"], self.rng.randint(self.first[name], shape["features"])))
            x = [self.rng.random() for _ in range(features)]
            if self.rng.random() < 0.2:  # what is missing in between is unknown, too
                x = {i: value for i, value in enumerate(x) if i < self.first[name] or self.rng.random() < 0.5}
            self.next += 1
            ranks = shape["learner"] == "rank"
            choices = self.rng.randint(1, shape["max_candidates"]) if ranks else shape.get("arms", 1)
            mask = [self.rng.random() < 0.7 for _ in range(choices - 1)] + [True]
            masked = self.rng.random() < 0.5 and (ranks or "arms" in shape)
            more = {"mask": mask} if masked else {}
            if ranks:
                more["c"] = [[self.rng.random() for _ in range(2)] for _ in range(choices)]
            self.client.ok("rank" if ranks else "decide", name, {"id": self.next, "x": x, **more})
            self.open.setdefault(name, []).append(self.next)
            if self.rng.random() < 0.7:
                waiting = self.open[name]
                id = waiting.pop(self.rng.randrange(len(waiting)))
                self.results[self.client.feedback(name, id, self.rng.random())] += 1

    def order(self, name, do, options=None, **more):
        self.client.ok("model", name, {"do": do, **({"options": options} if options else {}), **more})

    @staticmethod
    def shape(shape, arms):
        return {**shape, **({} if shape["learner"] in ("rank", "value") else {"arms": arms})}

    def change(self):
        served = sorted(set(self.shapes) - {"kept"})
        gone = sorted(set(NAMES) - set(self.shapes))
        what = self.rng.choice((["add"] * 3 if gone else []) + (["set", "grow", "widen", "reset", "remove"] if served else []))
        if what == "add":
            name = self.rng.choice(gone)
            again = name in self.kept and self.rng.random() < 0.5
            shape = self.kept[name] if again else self.shape(self.rng.choice(LEARNERS), self.rng.randint(2, 4))
            window = {"reward_window": f"{self.rng.randint(1, 9)}h"}
            self.order(name, "add", {**shape, **window}, **({} if again else {"fresh": True}))
            if not again:
                self.open.pop(name, None)
                self.first[name] = shape["features"]
            self.shapes[name] = shape
            return
        name = self.rng.choice(served)
        if what == "set" or (what == "grow" and "arms" not in self.shapes[name]):
            self.order(name, "set", {"reward_window": f"{self.rng.randint(1, 9)}h"})
        elif what == "grow":
            shape = self.shapes[name] = {**self.shapes[name], "arms": self.shapes[name]["arms"] + self.rng.randint(1, 5)}
            self.order(name, "set", {"arms": shape["arms"]})
        elif what == "widen":
            more = min(self.shapes[name]["features"] + self.rng.randint(1, 9), 128)
            shape = self.shapes[name] = {**self.shapes[name], "features": more}
            self.order(name, "set", {"features": shape["features"]})
        elif what == "reset":
            self.first[name] = self.shapes[name]["features"]
            shape = self.shapes[name] = self.shape(self.shapes[name], self.rng.randint(2, 5))
            self.order(name, "reset", {"arms": shape["arms"]} if "arms" in shape else None)
            self.open.pop(name, None)
        else:
            self.order(name, "remove")
            self.kept[name] = self.shapes.pop(name)


def settled(daemon, client):
    """All models' sections, as a checkpoint has them now."""
    client.ok("checkpoint")
    return read_checkpoint(checkpoints(daemon.state)[-1])


def copied(state, to):
    """A copy as of a kill: everything that was answered is in the files. False: a file went meanwhile."""
    shutil.rmtree(to, ignore_errors=True)
    try:
        shutil.copytree(state, to, ignore=shutil.ignore_patterns("lock", "*.ipc", "*.tmp"))
    except shutil.Error:
        return False
    return True


def test_killed_among_a_hundred_changes_of_a_day(daemon, fault):
    rng = seeded("models-live")
    morning = int(time.time())
    fault.set(real=morning)
    text = service.section("journal", {"sync": "interval", "segment": "64KiB", "keep": "64MiB"})
    text += service.section("checkpoint", {"every": "1h", "keep": 2})
    text += service.model("kept", features=3, arms=3, reward_window="4h")
    one = daemon(text, env=fault.env)
    scene = Scene(one, rng)
    copies = sorted(rng.sample(range(CHANGES), COPIES))
    for i in range(CHANGES):
        fault.set(real=morning + DAY * i // CHANGES)
        scene.events(rng.randint(0, 12))
        scene.change()
        scene.events(rng.randint(0, 12))
        if i not in copies:
            continue
        twin = daemon(text, start=False, env=fault.env)
        service.wait_for(lambda: copied(one.state, twin.state), "a copy of the state folder")
        twin.start()
        other = twin.client()
        assert settled(twin, other) == settled(one, scene.client), f"after change {i}"
        assert [m["name"] for m in other.status()["models"]] == [m["name"] for m in scene.client.status()["models"]]
        twin.stop()
    assert sorted(m["name"] for m in scene.client.status()["models"]) == sorted(scene.shapes)
    state = settled(one, scene.client)
    one.kill()
    one.start()
    assert settled(one, one.client()) == state
    assert set(scene.results) == {"applied", "late", "unknown"} and scene.results["applied"] > sum(scene.results.values()) / 2
