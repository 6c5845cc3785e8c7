"""coppice ctl forget where other instances have what was learned: followers of a group, and partitions that merge."""

import pytest
from python_client import coppice
from conftest import model, wait_for
from test_failover import group, lead
from test_forget import SECRET, forget, live, traces, visit
from test_partition import events, instances, merged, near, oracle, predictions, teach
from test_replica import begin, following, follows, instance, sections

MODELS = model("m") + model("d", learner="dgt")


def state_of(one):
    client = one.client()
    state = client.status()["replica"]
    client.close()
    return state


def clean(*ones):
    return all(traces(one.state, [b"tom", SECRET]) == [] for one in ones)


def same(leader, *followers):
    """What leader and followers are, behind the same record."""
    follows(leader, *followers)
    return all(sections(leader) == sections(follower) for follower in followers)


@pytest.fixture
def three(daemon):
    """A leader and two followers that know tom."""
    leader = instance(daemon, "a", models=MODELS, compare=1).start()
    followers = [instance(daemon, name, of=[leader], models=MODELS).start() for name in "bc"]
    live(leader.client(), 0, 60, names="md", tom=4)
    follows(leader, *followers)
    for one in (leader, *followers):
        one.client().ok("checkpoint")
        assert traces(one.state, [b"tom"]) and traces(one.state, [SECRET])
    return leader, *followers


def test_followers_forget_what_the_leader_forgets(three):
    leader, *followers = three
    done = forget(leader, "tom")
    assert done["done"] and done["relearned"] and done["followers"] == 2 and done["followers_left"] == 0
    assert clean(*three)
    compared = state_of(leader)["compared"]
    live(leader.client(), 100, 140, names="md", tom=0)
    assert same(leader, *followers)
    wait_for(lambda: state_of(leader)["compared"] > compared, "states to be compared again")
    for one in followers:
        assert state_of(one)["state"] == "following" and "replica_diverged" not in one.log()
        assert list(one.state.glob("diverged.*")) == [] and list(one.state.glob("renew.*")) == []
        assert "event=replica_settled moved_to=\"\" erased=yes" in one.log()
    assert leader.log().count("event=replica_renewed") == 2
    assert clean(*three)


def test_follower_that_was_away_forgets_when_it_comes(three):
    leader, near_one, away = three
    away.stop()
    done = forget(leader, "tom")
    assert done["followers"] == 1 and clean(leader, near_one) and not clean(away)
    away.launch()
    away.logged("erased=yes")
    following(away)
    assert same(leader, near_one, away)
    assert clean(away) and list(away.state.glob("diverged.*")) == []
    leader.restart()  # what is forgotten is known behind a start, too
    visit(leader.client(), "p1", 200, names="md")
    assert same(leader, near_one, away)
    assert leader.log().count("from=checkpoint") == 2  # the two of before


def test_who_leads_next_has_forgotten(daemon):
    a, b = group(daemon, "a", "b", models=MODELS)
    lead(a)
    live(a.client(), 0, 40, names="md", tom=4)
    follows(a, b)
    error = b.client().error("forget", "", {"unit": "tom"})
    assert error["code"] == "not_leader"
    assert forget(a, "tom")["followers"] == 1
    visit(a.client(), "p1", 99, names="md")
    follows(a, b)
    a.kill()
    lead(b)
    begin(a)
    visit(b.client(), "p1", 100, names="md")
    assert same(b, a) and clean(a, b)
    assert "event=replica_settled" not in a.log()  # it goes on with what it has


def test_order_outlives_a_kill_of_the_leader(three):
    leader, *followers = three
    order = forget(leader, "tom", "--no-wait")["order"]
    leader.kill()
    leader.start()
    client = leader.client()
    wait_for(lambda: client.ok("forget", "", {"order": order})["done"], "the order to be done")
    for one in followers:
        one.logged("erased=yes")
        following(one)
    assert same(leader, *followers) and clean(*three)


def test_followers_begin_anew_also_where_the_leader_finds_nothing(three):
    """Their journals may reach further back."""
    leader, *followers = three
    before = [sections(one) for one in followers]
    done = forget(leader, "nobody", status=1)
    assert not done["relearned"] and done["why"] == "nothing" and done["followers"] == 2
    assert same(leader, *followers) and [sections(one) for one in followers] == before


def test_answers_wait_for_one_follower_while_another_begins_anew(daemon):
    journal = {"sync": "replica"}
    leader = instance(daemon, "a", models=MODELS, journal=journal, followers=1).start()
    followers = [instance(daemon, name, of=[leader], models=MODELS).start() for name in "bc"]
    for one in followers:
        following(one)
    client = leader.client()
    live(client, 0, 20, names="md", tom=4)
    order = forget(leader, "tom", "--no-wait")["order"]
    made = 0
    while not client.ok("forget", "", {"order": order})["done"]:
        visit(client, "p1", 1000 + made, names="m")
        made += 1
    assert client.ok("forget", "", {"order": order})["followers"] == 2
    assert same(leader, *followers) and clean(leader, *followers)


def test_instances_that_merge_lose_what_one_of_them_forgot(daemon):
    """Also where nothing came behind what they were told: the sums of now have a higher number."""
    two = [one.start() for one in instances(daemon, of=2)]
    clients = [one.client() for one in two]
    made = events(8, 200)
    theirs = [{**event, "unit": "tom"} for event in events(9, 60, prefix="t")]
    gone = coppice.part_of("tom", 2)
    teach(clients, made)
    clients[gone].ok("feedback_batch", "m", {"items": theirs})
    merged(clients, oracle(daemon, made + theirs))
    before = predictions(clients[0])
    assert forget(two[gone], "tom")["relearned"]
    wanted = oracle(daemon, made)
    assert not near(before, wanted)
    merged(clients, wanted)
    for one in two:
        one.restart()
    merged([one.client() for one in two], wanted)
