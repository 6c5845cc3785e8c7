"""Bandit logs for the tests of coppice replay: made up, written in each format, and replayed."""

import csv
import json
import math
import random
from pathlib import Path

import numpy
from conftest import coppice

ROOT = Path(__file__).resolve().parents[2]
VW = ROOT / "tests" / "data" / "vw"
ARMS, FEATURES = 3, 4


def replay(path, *args, format="vw", **more):
    out, err = coppice("replay", "--format", format, path, *args, "--json", **more)
    assert out.count("\n") == 1
    return json.loads(out)


def figures(result):
    """What must not depend on the machine, nor on where events came from."""
    return {k: v for k, v in result.items() if k not in ("seconds", "events_per_second")}


def refused(*args, status=1, **more):
    out, err = coppice("replay", *args, status=status, **more)
    assert out == "" and err.startswith("coppice replay: ")
    return err


def events(count, seed=7, arms=ARMS, low=0.0, high=1.0):
    """(x, action, cost, p): an unequal logging policy, and costs that depend on x and action."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        x = [round(rng.uniform(-1, 1), 3) for _ in range(FEATURES)]
        weights = [1 + (x[0] > 0), 2, 1][:arms] + [1] * (arms - 3)
        a = rng.choices(range(arms), weights)[0]
        best = 0 if x[1] > 0 else 1
        cost = low + (high - low) * float(rng.random() < (0.2 if a == best else 0.8))
        result.append((x, a, cost, weights[a] / sum(weights)))
    return result


def vw_line(event):
    x, a, cost, p = event
    return f"{a + 1}:{cost:g}:{p!r} |x " + " ".join(f"f{i}:{v!r}" for i, v in enumerate(x))


def write_vw(path, log):
    path.write_text("".join(vw_line(e) + "\n" for e in log))
    return path


def write_dsjson(path, log):
    lines = []
    for i, (x, a, cost, p) in enumerate(log):
        features = {f"f{k}": v for k, v in enumerate(x)}
        rest = [k for k in range(ARMS) if k != a]
        lines.append(json.dumps({
            "_label_cost": cost, "_label_probability": p, "_label_Action": a + 1, "_labelIndex": a,
            "EventId": f"e{i}", "a": [a + 1] + [k + 1 for k in rest], "p": [p] + [(1 - p) / 2] * 2,
            "c": {"x": features, "_multi": [{"item": {f"arm{k}": 1}} for k in range(ARMS)]},
        }, separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_csv(path, log, header=True, reward=False):
    with open(path, "w", newline="", encoding="ascii") as stream:
        out = csv.writer(stream)
        if header:
            out.writerow([f"f{i}" for i in range(FEATURES)] + ["action", "probability", "reward" if reward else "cost"])
        for x, a, cost, p in log:
            out.writerow([*x, a, repr(p), 1 - cost if reward else cost])
    return path


def read_dump(path):
    rows = list(csv.DictReader(open(path, encoding="ascii")))
    return {key: numpy.array([float(r[key]) if r[key] else math.nan for r in rows]) for key in rows[0]}
