"""Machines are killed under load: the process dies, and what it did not sync is gone from the disk (machine.py). By what
clients saw (checker.py) nothing that was acknowledged is lost but what `journal.sync` does not promise, and nothing is
learned twice. COPPICE_SEED repeats a run.
"""

import pytest
from crowd import MODELS, Crowd, History
from faults import LONG, seeded, service
from host import Host, Progress, check_history, check_replay, kept

KILLS = 20  # in a round
ROUNDS = 25 if LONG else 1


def configuration(sync):
    text = service.section("journal", {"sync": sync, "interval": "5ms", "segment": "64KiB", "keep": "1GiB"})
    text += service.section("checkpoint", {"every": "1s", "keep": 2})
    for name, learner in (("m", "ensemble"), ("d", "dgt")):
        text += service.model(name, learner, features=MODELS[name], reward_window="1d")
    return text


def work(host, crowd):
    """Until it is to be killed, or has died; maybe not even until it serves."""
    history, rng = crowd.history, host.rng
    if rng.random() < 0.1 or not host.serves():
        return
    history.add("up")
    goal = history.told + rng.choice((0, 1, 20, 100, rng.randint(1, 400)))
    service.wait_for(lambda: history.told >= goal or host.died() or crowd.failures, "answers")


def live(host, crowd, promised):
    """The machine is killed again and again; at the end it serves. promised: what a cut may not take, by its disk."""
    history, cuts = crowd.history, 0
    while cuts < KILLS:
        history.add("start")
        host.start()
        work(host, crowd)
        if host.rng.random() < 0.2:  # the process alone
            host.kill()
            host.machine.resume()
            continue
        entry = history.add("cut", kept=None)
        cut = host.cut()
        entry["kept"] = promised(cut)
        cuts += 1
        print(f"kill {cuts}, {cut}")
    history.add("start")
    host.d.start()
    history.add("up")


@pytest.mark.parametrize("sync", ("always", "interval"))
def test_machine_killed_under_load_loses_no_more_than_may_be(daemon, tmp_path, sync):
    promised = kept if sync == "interval" else lambda cut: None
    for number in Progress(f"machine-kills-{sync}", ROUNDS).left():
        rng = seeded(f"machine kills, {sync}, round {number}")
        host = Host(daemon, rng, tmp_path / f"host{number}", configuration(sync))
        history = History()
        with Crowd(history, host.d.context, [host.d.ipc("requests")], rng) as crowd:
            live(host, crowd, promised)
        crowd.audit()
        status = host.d.client().status()
        host.d.stop()
        counts = check_history(history, host.journal(), status, tmp_path)
        check_replay(daemon, host, configuration(sync))
        print(f"round {number}: {counts}")
        assert counts["cuts"] == KILLS and counts["rewards"] > 5 * KILLS and counts["repeated"] > KILLS
