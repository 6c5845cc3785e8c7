"""Who leads a group of replicas: orders by hand, fencing by epochs, handing over, and a leader that is killed."""

import json
import shutil
import signal
import subprocess
from contextlib import closing

import pytest
from conftest import model, pack, program, section, unpack, wait_for
from lease import Etcd, Lease
from test_metrics import Pages

LED = 3  # exit status of one that leads no longer


def group(daemon, *names, sync="interval", models=None, **options):
    """Started instances of one group, all of which begin as followers."""
    made = [daemon(start=False) for _ in names]
    for name, one in zip(names, made):
        others = [other.ipc("link") for other in made if other is not one]
        replica = {"name": name, "listen": one.ipc("link"), "of": others, **options}
        one.write_config(section("journal", {"sync": sync}) + section("replica", replica) + (models or model(seed=1)))
        one.name = name
    for one in made:
        one.start()
    return made


def replica(one):
    with closing(one.client()) as client:  # asked often
        return client.status()["replica"]


def lead(one, **body):
    return one.client().ok("lead", "", body)


def wait_for_followers(leader, count):
    wait_for(lambda: sum(f["stage"] == "streaming" for f in replica(leader)["followers"]) == count, "followers", 60)


def epochs(one):
    """{epoch: segments of it} of the journal, by coppice journal."""
    done = subprocess.run([program("COPPICE"), "journal", "ls", "--json", one.state], capture_output=True, text=True, check=True)
    found = {}
    for segment in json.loads(done.stdout)["segments"]:
        found.setdefault(segment["epoch"], []).append(segment)
    return found


def learn(client, prefix, events=20):
    for i in range(events):
        client.decide("m", f"{prefix}-{i}", [i % 3, 1, 0])
        assert client.feedback("m", f"{prefix}-{i}", (i % 4) / 4) == "applied"


# ---- orders


def test_lone_daemon_leads_in_the_epoch_that_it_is_told(daemon):
    one = daemon()
    client = one.client()
    learn(client, "before")
    assert lead(one)["epoch"] == 0
    assert lead(one, epoch=7)["epoch"] == 7 and lead(one, epoch=7)["epoch"] == 7 and lead(one)["epoch"] == 7
    error = client.error("lead", "", {"epoch": 6})
    assert error["code"] == "bad_request" and "epoch: 6, expected at least 7" in error["message"]
    learn(client, "after")
    one.stop()
    assert list(epochs(one)) == [0, 7]
    one.start()
    assert lead(one)["epoch"] == 7
    assert client.error("follow")["message"].endswith("expected a section replica")


@pytest.mark.parametrize("body, told", [
    ({"epoch": 0}, "epoch: 0, expected"), ({"epoch": "x"}, "epoch: got a string, expected a whole number above 0"),
    ({"for": -1}, "for: -1, expected seconds above 0"), ({"for": 1, "until": 5e9}, "for, until: both given"),
    ({"until": 1e-3}, "until: it is over"), ({"for": "x"}, "expected a number of seconds"),
])  # fmt: skip
def test_wrong_orders_are_refused(daemon, body, told):
    error = daemon().client().error("lead", "", body)
    assert error["code"] == "bad_request" and told in error["message"]


def test_follower_that_is_told_to_lead_begins_an_epoch(daemon):
    a, b = group(daemon, "a", "b")
    client = a.client()
    assert client.error("decide", "m", {"id": 1, "x": [0, 0, 0]})["code"] == "not_leader"
    assert lead(a)["epoch"] == 1
    assert replica(a)["role"] == "leader" and "until" not in replica(a)
    wait_for_followers(a, 1)
    learn(client, "one")
    wait_for(lambda: replica(b)["next"] == replica(a)["next"] and replica(b)["held"] == 1, "the records")
    error = b.client().error("decide", "m", {"id": 1, "x": [0, 0, 0]})
    assert error["code"] == "not_leader" and error["leader"] == a.ipc("requests")
    error = b.client().error("lead", "", {"epoch": 1})
    assert "epoch: 1, expected above 1" in error["message"]
    a.stop()
    b.stop()
    assert list(epochs(a)) == list(epochs(b)) == [1]


def test_epoch_does_not_fall_when_the_journal_is_gone(daemon):
    one = daemon()
    lead(one, epoch=7)
    learn(one.client(), "one", 3)
    one.stop()
    shutil.rmtree(one.state / "journal")
    one.start()
    assert lead(one)["epoch"] == 7 and list(epochs(one)) == [7]


def test_time_that_is_left_is_a_metric(daemon):
    pages = Pages()
    one = daemon(start=False)
    one.write_config(section("replica", {"name": "a", "listen": one.ipc("link")}) + pages.section + model())
    one.start()
    assert "coppice_replica_lead_seconds" not in pages.samples()  # without end
    lead(one, **{"for": 500})
    assert 400 < pages.samples()["coppice_replica_lead_seconds"] <= 500


def test_order_by_coppice_ctl(daemon):
    a, _ = group(daemon, "a", "b")
    words = [program("COPPICE"), "ctl", "--endpoint", a.ipc("admin"), "--json"]
    done = subprocess.run([*words, "lead", "--epoch", "9", "--for", "500"], capture_output=True, text=True, check=True)
    assert '"epoch":9' in done.stdout.replace(" ", "") and '"until":' in done.stdout
    done = subprocess.run([*words, "follow", "--within", "0.1"], capture_output=True, text=True)
    assert done.returncode in (0, 1)
    if done.returncode == 0:
        a.wait(LED)


# ---- the end of leading


def test_leader_whose_time_is_over_answers_nothing_more_and_ends(daemon):
    a, _ = group(daemon, "a", "b")
    lead(a)
    learn(a.client(), "one", 3)
    lead(a, **{"for": 0.5})
    a.wait(LED)
    assert a.logged("event=leads_no_longer epoch=1 reason=\"the order's time is over\"")
    a.start()
    assert replica(a)["role"] == "follower" and replica(a)["epoch"] == 1
    assert lead(a)["epoch"] == 2


def test_renewal_goes_on(daemon):
    a, _ = group(daemon, "a", "b")
    until = last = lead(a, epoch=5, **{"for": 1.0})["until"]

    def renewed():
        """Each order moves the end on, which the first one's is long behind then."""
        nonlocal last
        answer = lead(a, epoch=5, **{"for": 60})
        assert answer["until"] > last
        last = answer["until"]
        return answer["clock"] > until + 1

    while not renewed():
        signal.sigtimedwait([], 0.1)
    assert replica(a)["role"] == "leader" and replica(a)["until"] > until + 1
    assert lead(a)["epoch"] == 5 and "until" not in replica(a)


def test_leader_that_hears_of_a_higher_epoch_ends(daemon):
    a, b, c = group(daemon, "a", "b", "c")
    lead(a)
    wait_for_followers(a, 2)
    learn(a.client(), "one")
    wait_for(lambda: replica(b)["next"] == replica(a)["next"], "the records")
    assert lead(b)["epoch"] == 2
    a.wait(LED)
    assert a.logged("reason=\"another instance leads in a higher epoch\" higher=2")
    a.start()
    wait_for_followers(b, 2)
    learn(b.client(), "two")
    for one in (a, c):
        wait_for(lambda: replica(one)["next"] == replica(b)["next"] and replica(one)["held"] == 2, "the records")
    assert b.client().model()["decisions"] == c.client().model()["decisions"] == a.client().model()["decisions"] == 40


def test_hand_over_loses_nothing(daemon):
    a, b = group(daemon, "a", "b")
    lead(a)
    wait_for_followers(a, 1)
    learn(a.client(), "one")
    answer = a.client().ok("follow")
    assert answer["epoch"] == 1 and answer["next"] == replica(b)["next"]
    a.wait(LED)
    assert b.client().ok("follow")["next"] == answer["next"]  # it follows already
    assert lead(b)["epoch"] == 2
    assert b.client().model()["decisions"] == 20
    assert b.client().feedback("m", "one-3", 0.5) == "duplicate"
    a.start()
    wait_for_followers(b, 1)


def test_hand_over_to_nobody_is_refused_and_it_leads_on(daemon):
    a, b = group(daemon, "a", "b")
    lead(a)
    wait_for_followers(a, 1)
    b.stop()
    learn(a.client(), "one", 3)
    error = a.client().error("follow", "", {"within": 0.3})
    assert error["code"] == "busy" and "no follower has everything" in error["message"]
    learn(a.client(), "two", 3)
    assert replica(a)["role"] == "leader"


# ---- a leader that is killed


class Sure:
    """Goes from one endpoint to the next until a request is answered, and notes which rewards were acknowledged."""

    def __init__(self, instances):
        self.instances, self.acknowledged = instances, []

    def ask(self, verb, body):
        def tried():
            for one in self.instances:
                if one.process is None or one.process.poll() is not None:
                    continue
                with closing(one.client()) as client:
                    client.send_raw(verb.encode(), b"m", pack(body))
                    if not client.socket.poll(500):
                        continue
                    status, answer = client.receive_raw()[-2:]
                if status == b"ok":
                    return unpack(answer)
                assert unpack(answer)["code"] in ("not_leader", "not_durable", "busy"), unpack(answer)
            return None

        return wait_for(tried, "an answer", 60)

    def event(self, id):
        self.ask("decide", {"id": id, "x": [1, 0, 1]})
        result = self.ask("feedback", {"id": id, "loss": 0.25})["result"]
        assert result in ("applied", "duplicate"), (id, result)
        self.acknowledged.append(id)


def test_killed_leader_loses_nothing_that_was_acknowledged(daemon):
    a, b, c = group(daemon, "a", "b", "c", sync="replica", followers=2)
    lead(a)
    wait_for_followers(a, 2)
    sure = Sure([a, b, c])
    for i in range(30):
        sure.event(f"one-{i}")
    a.kill()
    best = max((b, c), key=lambda one: (replica(one)["held"], replica(one)["next"]))
    lead(best)
    a.start()
    wait_for_followers(best, 2)
    for i in range(30):
        sure.event(f"two-{i}")
    for id in sure.acknowledged:
        assert best.client().feedback("m", id, 0.5) == "duplicate"
    assert best.client().model()["decisions"] == 60
    for one in (a, b, c):
        wait_for(lambda: replica(one)["next"] == replica(best)["next"], "the records", 60)


@pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd (tools/install-deps test)")
@pytest.mark.parametrize("how", ["kill", "term"])
def test_group_with_a_lease_goes_on_when_its_leader_is_gone(daemon, tmp_path, how):
    program("COPPICE_LEASE")
    instances = group(daemon, "a", "b", "c", sync="replica", followers=2)
    etcd = Etcd(tmp_path)
    leases = {one.name: Lease(tmp_path, one.name, etcd.endpoints, one.ipc("admin")) for one in instances}
    try:
        def leader():
            running = [one for one in instances if one.process is not None and one.process.poll() is None]
            return next((one for one in running if replica(one)["role"] == "leader"), None)

        first = wait_for(leader, "a leader", 60)
        wait_for_followers(first, 2)
        sure = Sure(instances)
        for i in range(20):
            sure.event(f"one-{i}")
        if how == "kill":
            first.kill()
        else:
            leases[first.name].stop()
            first.wait(LED)
        first.start()
        if how == "term":
            leases[first.name].start()
        for i in range(20):
            sure.event(f"two-{i}")
        second = leader()
        assert replica(second)["epoch"] > 1
        for id in sure.acknowledged:
            assert sure.ask("feedback", {"id": id, "loss": 0.5})["result"] == "duplicate"
        assert second.client().model()["decisions"] == 40
    finally:
        for lease in leases.values():
            lease.close()
        etcd.close()
