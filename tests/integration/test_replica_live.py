"""Models that are changed live in a group of replicas (coppice ctl model): followers change theirs at the same record."""

import json
from pathlib import Path

from conftest import grow, model, wait_for
from test_failover import LED
from test_models_live import SHAPE, change, names
from test_replica import begin, follows, instance, sections, state_of

ROOT = Path(__file__).resolve().parents[2]
MODELS = model(seed=1, policy="epsilon", epsilon=0.1)


def live(one):
    return (one.state / "live.json").read_bytes()


def pair(daemon, **options):
    leader = instance(daemon, "a", models=MODELS, **options).start()
    return leader, instance(daemon, "b", of=[leader], models=MODELS, compare=20).start()


def change_all(client):
    """Every order there is, with something learned between them."""
    grow(client, prefix="before")
    change(client, "new", "add", SHAPE)
    grow(client, "new", prefix="added")
    change(client, "m", "set", {"epsilon": 0.03, "arms": 4})
    grow(client, prefix="grown")
    change(client, "new", "reset", {"arms": 5})
    grow(client, "new", 30, prefix="anew")
    change(client, "gone", "add", {**SHAPE, "learner": "dgt"})
    grow(client, "gone", 20, prefix="gone")
    change(client, "gone", "remove")
    grow(client, prefix="end")


def check(leader, *others):
    follows(leader, *others)
    state = sections(leader)
    assert len(state) >= 2
    for one in others:
        assert sections(one) == state and live(one) == live(leader)
        assert names(one.client()) == ["m", "new"]
        assert "replica_diverged" not in one.log() and one.client().status()["replica"]["state"] == "following"


def test_followers_change_their_models_at_the_same_record(daemon):
    leader, follower = pair(daemon, compare=20)
    follows(leader, follower)
    change_all(leader.client())
    check(leader, follower)
    later = instance(daemon, "c", of=[leader], models=MODELS, compare=20).start()
    check(leader, follower, later)
    change(leader.client(), "gone", "add", {**SHAPE, "learner": "dgt"})  # goes on where it was
    grow(leader.client(), "gone", 20, prefix="back")
    follows(leader, follower, later)
    assert sections(leader) == sections(follower) == sections(later)
    change(leader.client(), "gone", "remove")
    change(leader.client(), "m", "unset", {"epsilon": None})
    check(leader, follower, later)


def test_follower_that_was_away_goes_on_by_the_records(daemon):
    leader, follower = pair(daemon, compare=20)
    grow(leader.client(), prefix="first")
    follows(leader, follower)
    follower.stop()
    change_all(leader.client())
    follower.start()
    check(leader, follower)
    follower.kill()
    change(leader.client(), "m", "set", {"epsilon": 0.5})
    follower.start()
    check(leader, follower)
    follower.restart()
    check(leader, follower)


def test_follower_begins_with_a_checkpoint_and_its_live_changes(daemon):
    leader = instance(daemon, "a", journal={"segment": "64KiB", "keep": "64KiB"}, compare=20,
                      models="checkpoint { every = 1s keep = 1 }\n" + MODELS).start()
    client = leader.client()
    change_all(client)
    for i in range(12):
        grow(client, events=200, prefix=f"much{i}")
    wait_for(lambda: client.ok("checkpoint") and not (leader.state / "journal" / f"{1:020}.journal").exists(),
             "the first segment to go")
    follower = begin(instance(daemon, "b", of=[leader], models=MODELS, compare=20))
    follower.logged("from=checkpoint")
    check(leader, follower)
    grow(client, "new", 40, prefix="on")
    check(leader, follower)


def test_new_leader_has_the_live_changes(daemon):
    a, b = (daemon(start=False) for _ in range(2))
    for name, one, other in (("a", a, b), ("b", b, a)):
        text = f'replica {{ name = "{name}" listen = "{one.ipc("link")}" of = {{ "{other.ipc("link")}" }} compare = 20 }}\n'
        one.write_config(text + MODELS)
        one.start()
    a.client().ok("lead")
    wait_for(lambda: state_of(a)["followers"], "a follower")
    change_all(a.client())
    check(a, b)
    a.client().ok("follow")
    a.wait(LED)
    b.client().ok("lead")
    client = b.client()
    change(client, "new", "set", {"epsilon": 0.4})
    grow(client, "new", 30, prefix="later")
    a.start()
    wait_for(lambda: state_of(a)["state"] == "following", "it to follow")
    check(b, a)


def test_file_that_contradicts_is_named_and_waited_for(daemon):
    leader = instance(daemon, "a", models=MODELS).start()
    follower = instance(daemon, "b", of=[leader], models=MODELS).start()
    follows(leader, follower)
    grow(leader.client())
    follower.write_config(follower.config.read_text() + model("new", seed=1, arms=7))
    change(leader.client(), "new", "add", SHAPE)
    follower.logged("event=replica_models_differ")
    assert names(follower.client()) == ["m"]
    follower.write_config(follower.config.read_text().split('model "new"')[0])
    follows(leader, follower)
    assert names(follower.client()) == ["m", "new"] and live(follower) == live(leader)


# ---- a program of another version


def other_version(one, folder):
    """The same program, that calls itself by another version from its next start on."""
    version = json.loads((ROOT / "clients/node/package.json").read_text())["version"].encode()
    later = version[:-1] + (b"9" if version[-1:] != b"9" else b"8")
    program = folder / "coppiced-later"
    program.write_bytes(Path(one.program).read_bytes().replace(version, later))
    program.chmod(0o755)
    one.program = program
    return later.decode()


def test_group_is_upgraded_one_by_one(daemon, tmp_path):
    a, b = daemon(start=False), daemon(start=False)
    for name, one, other in (("a", a, b), ("b", b, a)):
        text = f'replica {{ name = "{name}" listen = "{one.ipc("link")}" of = {{ "{other.ipc("link")}" }} compare = 20 }}\n'
        one.write_config('journal { sync = "replica" }\n' + text + MODELS)
        one.start()
    a.client().ok("lead")
    grow(a.client(), prefix="old")
    b.stop()
    later = other_version(b, tmp_path)
    b.start()
    change_all(a.client())
    check(a, b)
    assert a.client().status()["replica"]["followers"][0]["program"] == later
    a.client().ok("follow")
    a.wait(LED)
    b.client().ok("lead")
    a.program = b.program
    a.start()
    grow(b.client(), prefix="new")
    check(b, a)
    assert [f["program"] for f in b.client().status()["replica"]["followers"]] == [later]
    assert b.client().model()["decisions"] == b.client().model()["learned"] == 5 * 60
