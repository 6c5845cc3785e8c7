"""Least and largest shares of arms: what decisions' propensities keep, by the configuration and its reload; what is refused."""

import json
import random
import subprocess

import pytest
from conftest import DEADLINE, model, program, wait_for

X = [0.25, 1.0, 3.5]


def sharp(**options):
    """A model that would hardly explore: arm 0 is always best."""
    return model(**{"arms": 5, "policy": "fastcb", "gamma": 100000, **options})


def teach(client, events, prefix, mask=None):
    """Propensities by arm of so many decisions, each with feedback."""
    rng, seen = random.Random(prefix), {}
    for i in range(events):
        body = {"id": f"{prefix}{i}", "x": [rng.gauss(0, 1) for _ in range(3)], **({"mask": mask} if mask else {})}
        action = client.ok("decide", "m", body)
        seen.setdefault(action["a"], []).append(action["p"])
        client.feedback("m", body["id"], 0.1 if action["a"] == 0 else 0.9)
    return seen


def lowest(seen):
    return min(p for ps in seen.values() for p in ps)


def test_propensities_keep_the_floor_and_a_reload_changes_it(daemon):
    one = daemon(sharp(least_propensity=0.5))
    client = one.client()
    seen = teach(client, 300, "a")
    assert lowest(seen) >= 0.1 and len(seen) == 5 and abs(lowest(seen) - 0.1) < 1e-12
    masked = teach(client, 60, "m", mask=[True, False, True, False, False])
    assert set(masked) == {0, 2} and lowest(masked) >= 0.25
    action = client.decide("m", "once", X)
    explained = client.ok("explain", "m", {"id": "once"})
    assert explained["p"] == action["p"] >= 0.1
    one.write_config(sharp(least_propensity=0.05))
    assert client.ok("reload")["applied"] == ["model m: least_propensity: 0.5 -> 0.05"]
    seen = teach(client, 600, "b")
    assert abs(lowest(seen) - 0.01) < 1e-12
    one.write_config(sharp(least_propensity=0.05, share_min=["2=0.25"], share_max=["0=0.6", "4=0.02"]))
    applied = client.ok("reload")["applied"]
    assert applied == ['model m: share_min: { } -> { "2=0.25" }', 'model m: share_max: { } -> { "0=0.6", "4=0.02" }']
    seen = teach(client, 400, "c")
    assert min(seen[2]) >= 0.25 and max(seen[0]) <= 0.6 and max(seen.get(4, [0])) <= 0.02
    assert abs(max(seen[0]) - 0.6) < 1e-12


def test_floor_stays_through_a_restart_and_is_inspected(daemon):
    one = daemon(sharp(least_propensity=0.25, share_min=["1=0.125"]))
    client = one.client()
    teach(client, 100, "a")
    client.ok("checkpoint")
    done = subprocess.run([program("COPPICE"), "inspect", "--json", max(one.state.glob("*.checkpoint"))], capture_output=True,
                          text=True, check=True, timeout=DEADLINE)
    shown = json.loads(done.stdout)["models"][0]
    assert shown["least_propensity"] == 0.25 and shown["share_min"] == [{"arm": 1, "share": 0.125}]
    assert "share_max" not in shown
    one.stop()
    one.start()
    assert lowest(teach(one.client(), 100, "b")) >= 0.05


def test_floor_holds_for_candidates(daemon):
    one = daemon(model(learner="rank", arms=None, candidate_features=2, gamma=100000, least_propensity=0.4))
    client, rng = one.client(), random.Random(4)
    lows = []
    for i in range(200):
        candidates = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(rng.randint(1, 6))]
        action = client.ok("rank", "m", {"id": i, "x": X, "c": candidates})
        assert action["p"] >= 0.4 / len(candidates)
        lows.append(action["p"] * len(candidates))
        client.feedback("m", i, 0.1 if candidates[action["a"]][0] > 0 else 0.9)
    assert abs(min(lows) - 0.4) < 1e-12


def limit_of(action):
    """Which option of LIMITED decided: the policy alone would hardly play an arm that it does not hold for the best."""
    return None if action["greedy"] else "share_min" if action["a"] == 2 else "least_propensity"


LIMITED = {"least_propensity": 0.25, "share_min": ["2=0.2"], "holdout": 0.2, "baseline": 2}
NUMBERS = [None, "share_min", "share_max", "least_propensity"]


def test_answers_explanations_and_journal_have_the_limit_that_decided(daemon):
    one = daemon(sharp(**LIMITED))
    client = one.client()
    teach(client, 400, "a")
    made = {f"b{i}": client.decide("m", f"b{i}", X) for i in range(120)}
    policys = [action for action in made.values() if "by" not in action]
    assert {limit_of(action) for action in policys} == {None, "share_min", "least_propensity"}
    assert all(action.get("limit") == limit_of(action) for action in policys)
    assert all("limit" not in action for action in made.values() if "by" in action)  # the baseline has no limits
    explained = {id: client.ok("explain", "m", {"id": id}) for id in made}
    assert all(explained[id].get("limit") == made[id].get("limit") for id in made)
    assert "limit" not in client.ok("explain", "m", {"x": X})
    for waiting in (True, False):
        words = {"prefix": "b", "limit": 100, **({"waiting": True} if waiting else {})}
        found = wait_for(lambda: (a := client.ok("decisions", "m", words))["state"] == "done" and a, "the decisions")
        assert all(row.get("limit") == made[row["id"]].get("limit") for row in found["decisions"])
        assert len(found["decisions"]) == 100
    one.write_config(sharp(share_max=["0=0.6"]))
    client.ok("reload")
    # Arm 0 is at its largest share, and what it gives up raises the others.
    assert all(client.decide("m", f"c{i}", X)["limit"] == "share_max" for i in range(20))
    client.ok("checkpoint")
    kept = {**made, **{f"d{i}": client.decide("m", f"d{i}", X) for i in range(20)}}
    one.kill()
    dump = subprocess.run([program("COPPICE"), "journal", "dump", one.state, "--json"], capture_output=True, text=True,
                          check=True, timeout=DEADLINE)
    records = {r["id"]: r for r in map(json.loads, dump.stdout.splitlines()) if r["type"] == "decision"}
    assert all(NUMBERS[records[id].get("b", 0)] == action.get("limit") for id, action in kept.items())
    words = subprocess.run([program("COPPICE"), "journal", "dump", one.state], capture_output=True, text=True, check=True,
                           timeout=DEADLINE).stdout
    for limit in NUMBERS[1:]:
        assert words.count(f" limit={limit}") == sum(r.get("b") == NUMBERS.index(limit) for r in records.values()) > 0
    for id in ["d0", *(next(id for id, a in made.items() if a.get("limit") == limit) for limit in NUMBERS[:2])]:
        past = json.loads(one.run("--explain", "m", id).stdout)
        assert past.get("limit") == kept[id].get("limit")
        assert id == "d0" or past == json.loads(json.dumps(explained[id]))
    one.start()
    for id, action in kept.items():
        again = one.client().decide("m", id, X)
        assert again.pop("repeated") and again == action


WRONG = [
    ({"least_propensity": 1.5}, 'least_propensity: "1.5" is not allowed, expected a number from 0 to 1'),
    ({"share_min": ["0=0.7", "1=0.7"]}, "share_min: the arms' shares add to more than 1, expected at most 1 in all"),
    ({"share_max": ["0=0.2", "1=0.2", "2=0.2"]}, "share_max: all arms' shares add to less than 1, expected at least 1"),
    ({"share_min": ["0=0.5"], "share_max": ["0=0.4"]}, "share_min: above the same arm's share_max"),
    ({"share_min": ["3=0.1"]}, "share_min: expected arms that there are"),
    ({"share_min": ["1"]}, 'share_min: "1" is not allowed, expected ARM=SHARE'),
    ({"share_min": ["1=0.1", "1=0.2"]}, 'share_min: "1=0.2" is not allowed, expected ARM=SHARE'),
    ({"share_min": ["0=0.5", "1=0.5"], "least_propensity": 0.1}, "share_min: with least_propensity for the other arms"),
    ({"learner": "value", "least_propensity": 0.1}, "least_propensity: this learner has no such option, expected it only in"),
    ({"learner": "rank", "arms": None, "candidate_features": 2, "share_max": ["0=0.5"]}, "share_max: this learner has no such option"),
]


@pytest.mark.parametrize("options, told", WRONG, ids=lambda v: v if isinstance(v, str) else "")
def test_contradictions_are_refused_by_check_and_reload(daemon, options, told):
    one = daemon(model())
    client = one.client()
    one.write_config(model(**options))
    run = one.run("--check")
    assert run.returncode == 1 and told in run.stderr, run.stderr
    assert client.error("reload", "")["code"] == "bad_request"
    assert client.decide("m", 1, X)["p"] > 0


@pytest.mark.parametrize("args, complaint", [
    (["--least-propensity", "2"], "--least-propensity: '2' given, expected a number from 0 to 1"),
    (["--share-min", "0=0.2,0=0.3"], "--share-min: '0=0.3' given, expected ARM=SHARE, an arm's number from 0 and a share from 0 to 1, each arm once"),
    (["--share-max", "x"], "--share-max: 'x' given, expected ARM=SHARE"),
    (["--least-propensity", "0.1", "--learner", "value"], "--least-propensity goes with --learner ensemble, dgt, rank or ridge"),
    (["--share-min", "0=0.1", "--learner", "rank"], "--share-min goes with --learner ensemble, dgt or ridge"),
    (["--share-max", "0=0.1", "--learner", "value"], "--share-max goes with --learner ensemble, dgt or ridge"),
])
def test_wrong_options_of_commands_say_what_was_expected(args, complaint):
    done = subprocess.run([program("COPPICE"), "simulate", "--data", "x.csv", *args], capture_output=True, text=True,
                          timeout=DEADLINE)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_shares_that_contradict_a_problem_are_refused_by_simulate(tmp_path):
    rng = random.Random(2)
    rows = "".join(f"{rng.random():.3f},{rng.random():.3f},{rng.randrange(3)}\n" for _ in range(60))
    (tmp_path / "x.csv").write_text("a,b,y\n" + rows)
    run = [program("COPPICE"), "simulate", "--data", tmp_path / "x.csv"]
    good = subprocess.run([*run, "--share-min", "0=0.5,2=0.25", "--share-max", "1=0.1"], capture_output=True, text=True,
                          timeout=DEADLINE)
    assert good.returncode == 0, good.stderr
    for wrong, told in (("0=0.9,1=0.9", "add to more than 1"), ("7=0.5", "expected arms that there are")):
        done = subprocess.run([*run, "--share-min", wrong], capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 1 and told in done.stderr, done.stderr


def test_floor_counts_in_a_replay_of_the_policy_as_it_explores(tmp_path):
    """A log of two arms, each played half of the time; the second always loses."""
    rng = random.Random(3)
    lines = ["x,action,probability,cost"]
    for _ in range(3000):
        arm = rng.randrange(2)
        lines.append(f"{rng.random():.3f},{arm},0.5,{arm}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")

    def value(floor):
        run = subprocess.run([program("COPPICE"), "replay", "--format", "csv", tmp_path / "log.csv", "--policy-value", "exploring",
                              "--gamma", "1000000", "--least-propensity", floor, "--json"], capture_output=True, text=True,
                             timeout=DEADLINE, check=True)
        return json.loads(run.stdout)["snips"]

    assert value("0") < 0.02
    assert 0.19 < value("0.4") < 0.23
