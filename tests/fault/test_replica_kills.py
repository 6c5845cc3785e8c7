"""Machines of a pair of replicas are killed under load, with `journal.sync = "replica"`: what was not synced is gone from
their disks (machine.py). One machine dies at a time, and the next when the other one has everything again; where answers
wait for the other one's disk, also both at once. By what clients saw (checker.py) no reward that was acknowledged is lost,
none is learned twice, and at the end both have the same journal and the same models. COPPICE_SEED repeats a run.
"""

import pytest
from crowd import MODELS, Crowd, History
from faults import LONG, seeded, service
from host import Host, Progress, check_history, state_of

KILLS = 20  # in a round
ROUNDS = 25 if LONG else 1
LED = 3  # exit status of one that leads no longer


class Pair:
    """hosts, of which `leader` leads; `lineage`: the records that the leaders had, by number."""

    def __init__(self, daemon, rng, folder, hold):
        self.rng, self.leader = rng, None
        self.hosts = [Host(daemon, rng, folder / name) for name in "ab"]
        self.lineage = {}
        for name, one, other in zip("ab", self.hosts, reversed(self.hosts)):
            replica = {"name": name, "listen": one.d.ipc("link"), "of": [other.d.ipc("link")], "hold": hold}
            one.d.write_config(configuration(replica))
            one.start_for_good()
        self.lead(rng.choice(self.hosts))
        self.wait_for_both()

    def other(self, host):
        return self.hosts[host is self.hosts[0]]

    def lead(self, host):
        self.leader = host
        client = host.d.client()
        client.ok("lead")
        self.drop(host, client)

    @staticmethod
    def drop(host, client):
        host.d.clients.remove(client)
        client.close()

    @staticmethod
    def status(host):
        status = host.serves()
        assert status, f"it died: {host.d.log()[-2000:]}"
        return status

    def wait_for_both(self, exactly=False):
        """The other one has what the leader had when this began (exactly: has now), and tells so; or it has died."""
        end = None

        def level():
            nonlocal end
            if self.other(self.leader).died():
                return True
            status = self.status(self.leader)
            end = status["journal"]["next"] if exactly or end is None else end
            followers = status["replica"]["followers"]
            return any(f["stage"] == "streaming" and f["applied"] >= end - 1 for f in followers)

        service.wait_for(level, "the follower to have everything")

    def note_lineage(self):
        """What the leader's journal holds is what the group goes by. It may be written to meanwhile."""
        records = self.leader.journal()
        for number in [n for n in self.lineage if n > records[-1].sequence]:
            del self.lineage[number]
        self.lineage |= {record.sequence: record for record in records}

    def start(self, host):
        """It may die in some call of its start, or later: then its machine is cut once more."""
        host.start()
        if not host.serves():
            host.cut()
            host.start_for_good()


def configuration(replica):
    text = service.section("journal", {"sync": "replica", "interval": "5ms", "segment": "64KiB", "keep": "1GiB"})
    text += service.section("checkpoint", {"every": "1s", "keep": 2}) + service.section("replica", replica)
    for name, learner in (("m", "ensemble"), ("d", "dgt")):
        text += service.model(name, learner, features=MODELS[name], reward_window="1d")
    return text


def work(pair, crowd):
    goal = crowd.history.told + pair.rng.choice((0, 1, 20, 100, pair.rng.randint(1, 400)))
    died = lambda: any(host.died() for host in pair.hosts)  # noqa: E731
    service.wait_for(lambda: crowd.history.told >= goal or died() or crowd.failures, "answers")


def kill_one(pair, crowd):
    """The leader, after which the other one leads, or the follower; it comes back, and catches up."""
    dead = [host for host in pair.hosts if host.died()]
    victim = dead[0] if dead else pair.rng.choice((pair.leader, pair.leader, pair.other(pair.leader)))
    crowd.history.add("cut", kept=None)
    print("leader" if victim is pair.leader else "follower", victim.cut())
    if victim is pair.leader:
        pair.lead(pair.other(victim))
    pair.start(victim)
    pair.wait_for_both()
    victim.fault.end()
    if victim.died():  # in a call of its start, or as a follower
        kill_one(pair, crowd)


def kill_both(pair, crowd):
    """At once; the one that has most leads then, as docs/how-to/failover.md has it."""
    crowd.history.add("cut", kept=None)
    print("both", *(host.cut() for host in pair.hosts))
    for host in pair.hosts:
        host.start_for_good()
    pair.lead(max(pair.hosts, key=lambda host: [pair.status(host)["replica"][key] for key in ("held", "next")]))
    pair.wait_for_both()


def hand_over(pair):
    """Unless the other one dies meanwhile: then the leader leads on."""
    old = pair.leader
    client = old.d.client()
    status, reply = client.request("follow")
    pair.drop(old, client)
    if status == "error" and pair.other(old).died():
        return
    assert status == "ok", reply
    old.d.wait(LED)
    pair.lead(pair.other(old))
    old.start_for_good()
    pair.wait_for_both()


@pytest.mark.parametrize("hold", ("memory", "disk"))
def test_pair_of_which_machines_are_killed_loses_nothing(daemon, tmp_path, hold):
    for number in Progress(f"replica-kills-{hold}", ROUNDS).left():
        rng = seeded(f"replica kills, {hold}, round {number}")
        pair = Pair(daemon, rng, tmp_path / f"pair{number}", hold)
        history = History()
        endpoints = [host.d.ipc("requests") for host in pair.hosts]
        with Crowd(history, pair.leader.d.context, endpoints, rng) as crowd:
            for _ in range(KILLS):
                work(pair, crowd)
                pair.note_lineage()
                if rng.random() < 0.15:
                    hand_over(pair)
                    work(pair, crowd)
                (kill_both if hold == "disk" and rng.random() < 0.3 else kill_one)(pair, crowd)
        crowd.audit()
        pair.wait_for_both(exactly=True)
        status = pair.status(pair.leader)
        for host in (pair.other(pair.leader), pair.leader):
            host.d.stop()
        pair.note_lineage()
        records = [pair.lineage[sequence] for sequence in sorted(pair.lineage)]
        counts = check_history(history, records, status, tmp_path)
        check_equal(pair)
        print(f"round {number}: {counts}")
        assert counts["cuts"] >= KILLS and counts["rewards"] > 5 * KILLS and counts["repeated"] > KILLS


def check_equal(pair):
    journals = [{r.sequence: (r.kind, r.body) for r in host.journal()} for host in pair.hosts]
    both = journals[0].keys() & journals[1].keys()
    assert both and max(both) == max(journals[0]) == max(journals[1])
    assert all(journals[0][number] == journals[1][number] for number in both)
    assert state_of(pair.hosts[0].d) == state_of(pair.hosts[1].d)
    for host in pair.hosts:
        assert "replica_diverged" not in host.d.log()
