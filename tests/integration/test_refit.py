"""Refits: whole trees from the journal, by a worker beside the daemon; challengers, promotions, and what goes wrong."""

import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from conftest import coppice, free_port, is_sanitized, model, program, section, wait_for

FEATURES, ARMS = 4, 3
QUICK = {
    "enabled": True, "every": "0s", "least_feedback": 1000000, "on_drift": "none", "promote": "hand", "method": "tao",
    "idle": False,  # or it waits for whatever else the machine has to do
}
TRAP = "COPPICED_TEST_WORKER"

lacks_memory = pytest.mark.skipif(
    is_sanitized(os.environ.get("COPPICED", __file__)), reason="a sanitizer ends a process without memory")


def refit_model(name="m", learner="ensemble", refit=None, **options):
    """A model with a section refit: quick, and only when asked, unless told otherwise."""
    inner = section("refit", {**QUICK, **(refit or {})}).replace("\n", "\n\t")
    options.setdefault("trees", None if learner == "dgt" else 2)
    text = model(name, learner, refits=True, features=FEATURES, height=3, policy="epsilon", epsilon=0.3, **options)
    return text.rstrip()[:-1] + "\t" + inner.rstrip() + "\n}\n"


def context(i):
    return [((i * 37 + j * 61) % 97) / 97 for j in range(FEATURES)]


def best(x, turned=False):
    """The best arm: by two thresholds, which an oblique tree of height 2 can say."""
    arm = 0 if x[0] < 0.5 else 1 if x[1] < 0.5 else 2
    return (arm + 1) % ARMS if turned else arm


def teach(client, events, prefix="t", name="m", turned=False, start=0):
    """Decisions with feedback in batches; the mean loss."""
    total = 0.0
    for first in range(start, start + events, 200):
        rows = {f"{prefix}-{i}": context(i) for i in range(first, min(first + 200, start + events))}
        items = [{"id": id, "x": x} for id, x in rows.items()]
        actions = client.ok("decide_batch", name, {"items": items})["items"]
        losses = [{"id": a["id"], "loss": 0.1 if a["a"] == best(rows[a["id"]], turned) else 0.9} for a in actions]
        assert {r["result"] for r in client.ok("feedback_batch", name, {"items": losses})["items"]} == {"applied"}
        total += sum(item["loss"] for item in losses)
    return total / events


def refit_of(client, name="m"):
    return client.model(name)["refit"]


def ended(client, count=1, name="m"):
    """Waits for so many refits to have ended; their state then."""
    return wait_for(lambda: (r := refit_of(client, name))["ended"] >= count and r, f"{count} refits")


def ctl(one, *args, status=0):
    return coppice("ctl", "--endpoint", one.ipc("admin"), *args, status=status)[status != 0]


@pytest.mark.plain
def test_last_refits_are_told_and_what_became_of_their_challengers(daemon):
    one = daemon(refit_model())
    client = one.client()
    assert refit_of(client)["history"] == [] and refit_of(client)["kept"] == []
    for count in (1, 2):
        teach(client, 1500, f"t{count}", start=1500 * count)
        client.ok("refit", "m")
        ended(client, count)
    assert client.ok("promote", "m", {"n": 1})["n"] == 1
    client.ok("rollback", "m")
    refit = refit_of(client)
    second, first = refit["history"]
    assert [one["outcome"] for one in refit["history"]] == ["made", "made"] and refit["kept"] == [2, 1]
    assert (second["n"], second["state"], second["promoted"]) == (2, "retired", False)
    assert (first["n"], first["state"], first["promoted"], first["verdict"]) == (1, "rolled back", True, "open")
    assert first["time"] <= second["time"] <= first["changed"] and first["seconds"] > 0
    one.restart()  # all of it is in the checkpoint
    assert {key: refit_of(one.client())[key] for key in ("history", "kept")} == {key: refit[key] for key in ("history", "kept")}
    one.kill()
    one.start()
    again = refit_of(one.client())
    assert again["history"] == refit["history"] and again["kept"] == [2, 1]
    assert "rolled back" in ctl(one, "status", "m")


def gone(pid):
    return not Path(f"/proc/{pid}").exists()


def test_refit_when_asked_makes_a_challenger(daemon):
    one = daemon(refit_model())
    client = one.client()
    assert "challenger" not in client.model() and refit_of(client)["state"] == "waiting"
    teach(client, 3000)
    assert client.ok("refit", "m") == {"state": "queued"}
    refit = ended(client)
    assert refit["last"] == "made" and refit["failed"] == 0 and refit["fresh"] == 0, one.log()
    is_now = client.model()["challenger"]
    assert is_now["state"] == "shadow" and is_now["n"] == 1 and is_now["challenges"] == 1
    assert (one.state / "refit" / "refit.m.00000000000000000001.checkpoint").exists()
    teach(client, 400, "after")
    assert client.model()["challenger"]["events"] > 0
    assert "challenger" in ctl(one, "status", "m") and "state shadow" in ctl(one, "status", "m")


@pytest.mark.plain
def test_evidence_is_in_the_metrics(daemon):
    port = free_port()
    one = daemon(section("http", {"listen": f"127.0.0.1:{port}"}) + refit_model())
    client = one.client()

    def gauges():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
            lines = page.read().decode().splitlines()
        return {name: None if value == "NaN" else float(value) for name, value in
                (re.fullmatch(r'coppice_(\w+)\{model="m"\} (\S+)', line).groups() for line in lines
                 if re.match(r'coppice_(shadow|challenger|frozen)\w*\{', line))}

    nothing = {"shadow_learners": 0, "challenger_serving": 0, "frozen": 0, "shadow_events": 0, "shadow_verdict": 0,
               "shadow_gain": None, "shadow_gain_low": None, "shadow_gain_high": None}
    assert gauges() == nothing
    teach(client, 3000)
    client.ok("refit", "m")
    ended(client)
    assert gauges() == {**nothing, "shadow_learners": 1}
    teach(client, 600, "more")
    is_now, told = gauges(), client.model()["challenger"]
    assert is_now["shadow_events"] == told["events"] == 600
    assert is_now["shadow_verdict"] == {"open": 0, "better": 1, "worse": -1}[told["verdict"]]
    for name, key in (("shadow_gain", "gain"), ("shadow_gain_low", "low"), ("shadow_gain_high", "high")):
        assert is_now[name] == pytest.approx(told[key], rel=1e-9, abs=1e-12)
    assert -1 <= is_now["shadow_gain_low"] <= is_now["shadow_gain_high"] <= 1
    client.ok("promote", "m")
    client.ok("freeze", "m")
    assert gauges() == {**nothing, "shadow_learners": 1, "challenger_serving": 1, "frozen": 1}


@pytest.mark.plain
def test_refit_without_new_feedback_starts_nothing(daemon):
    one = daemon(refit_model())
    client = one.client()
    assert client.ok("refit", "m") == {"state": "nothing"}
    teach(client, 2000)
    client.ok("refit", "m")
    ended(client)
    assert client.ok("refit", "m", {"seq": 7}) == {"state": "nothing", "seq": 7}
    one.logged("event=refit_ended")
    assert one.log().count("event=refit_started") == 1
    teach(client, 1, "more")
    assert client.ok("refit", "m") == {"state": "queued"}
    ended(client, 2)


def test_refit_needs_enough_feedback_of_its_own(daemon):
    one = daemon(refit_model(refit={"least_feedback": 2000}))
    client = one.client()
    teach(client, 1800)
    assert refit_of(client)["ended"] == 0 and "refit_started" not in one.log()
    teach(client, 400, "more")
    assert ended(client)["last"] == "made"
    one.logged("why=feedback")


def test_refit_of_model_where_it_is_off_is_forbidden(daemon):
    one = daemon(refit_model(refit={"enabled": False}) + refit_model("other") + section("journal", {"enabled": False}))
    client = one.client()
    assert client.error("refit", "m")["code"] == "forbidden"
    assert client.error("refit", "other")["code"] == "forbidden"  # without a journal
    assert client.error("refit", "none")["code"] == "unknown_model"
    assert (refit_of(client)["state"], refit_of(client)["why"]) == ("off", "configuration")
    assert (refit_of(client, "other")["state"], refit_of(client, "other")["why"]) == ("off", "no journal")


def test_refit_begins_by_default(daemon):
    """A model whose section says nothing of refits."""
    text = "".join(model(name, learner, refits=True, features=FEATURES, height=3) for name, learner in
                   (("m", "ensemble"), ("d", "dgt"), ("v", "value")))
    one = daemon(text)
    client = one.client()
    assert [(refit_of(client, name)["state"], refit_of(client, name)["why"]) for name in "mdv"] == [
        ("waiting", "feedback"), ("waiting", "feedback"), ("off", "learner")]
    teach(client, 900)
    assert refit_of(client)["why"] == "feedback" and "refit_started" not in one.log()
    teach(client, 200, "more")
    assert ended(client)["last"] == "made", one.log()
    is_now = client.model()["challenger"]
    assert is_now["n"] == 1 and is_now["challenges"] == 1
    assert re.search(r"event=refit_started model=m why=schedule number=1 .* memory=\d+$", one.log(), re.M), one.log()
    assert "event=refit_started model=d" not in one.log()


@pytest.mark.plain
def test_share_of_the_processor_delays_the_next_refit(daemon):
    """Even after a restart, and a larger share lets it begin. Refits are on by default: the section does not say so."""
    refit = section("refit", {k: v for k, v in QUICK.items() if k not in ("enabled", "method")} | {
        "least_feedback": 200, "window": 3000}).replace("\n", "\n\t")
    text = model(refits=True, features=FEATURES, height=3).rstrip()[:-1] + "\t" + refit.rstrip() + "\n}\n"
    one = daemon("refit_cpu_share = 0.001\n" + text)
    client = one.client()
    teach(client, 3000)
    first = ended(client)
    assert first["last"] == "made" and first["last_processor"] > 0, one.log()
    teach(client, 3200, "second")
    is_now = refit_of(client)
    assert (is_now["state"], is_now["why"], is_now["ended"]) == ("waiting", "share", 1) and is_now["rest"] > 0, one.log()
    one.restart()
    client = one.client()
    is_now = refit_of(client)
    assert (is_now["state"], is_now["why"], is_now["ended"]) == ("waiting", "share", 0) and is_now["rest"] > 0, one.log()
    client.ok("refit", "m")  # by hand at once
    assert ended(client)["last"] == "made", one.log()
    one.logged("model=m why=asked number=2")
    teach(client, 3200, "third")  # the trial of the second is over, too
    assert refit_of(client)["why"] == "share"
    one.write_config("refit_cpu_share = 1\n" + text)
    assert client.ok("reload")["applied"] == ["refit_cpu_share: 0.001 -> 1"]
    ended(client, 2)
    one.logged("model=m why=feedback number=3")


def test_refits_of_two_models_run_one_after_the_other(daemon):
    one = daemon(refit_model() + refit_model("n", "dgt"), env={TRAP: "HANG@starting"})
    client = one.client()
    for name in ("m", "n"):
        teach(client, 1000, name=name)
        client.ok("refit", name)
    wait_for(lambda: "pid" in refit_of(client), "a worker")
    assert client.model("m")["refit"]["state"] == "running" and client.model("n")["refit"]["state"] == "queued"
    os.kill(refit_of(client)["pid"], signal.SIGKILL)
    wait_for(lambda: client.model("n")["refit"]["state"] == "running", "the other one")


@pytest.mark.parametrize("stage", ["starting", "loading", "reading", "iteration", "writing"])
def test_worker_killed_at_a_stage_is_told_and_harms_nothing(daemon, stage):
    one = daemon(refit_model(), env={TRAP: f"HANG@{stage}"})
    client = one.client()
    teach(client, 5000 if stage == "reading" else 2000)
    client.ok("refit", "m")
    refit = wait_for(lambda: (r := refit_of(client)).get("text", "").startswith(stage) and r, f"stage {stage}")
    assert refit["state"] == "running" and 0 <= refit["progress"] <= 1
    client.decide("m", "meanwhile", context(1))
    os.kill(refit["pid"], signal.SIGKILL)
    refit = ended(client)
    assert refit["last"] == "crashed" and "signal 9" in refit["last_reason"] and stage in refit["last_reason"]
    assert refit["failed"] == 1 and refit["pause"] > 0 and refit["state"] == "waiting"
    assert client.feedback("m", "meanwhile", 0.5) == "applied"
    assert one.logged("outcome=crashed") and "challenger" not in client.model()
    assert not list((one.state / "refit").glob("*")) if (one.state / "refit").exists() else True


def test_worker_that_crashes_by_itself_is_told(daemon):
    one = daemon(refit_model(), env={TRAP: "CRASH@loading"})
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    refit = ended(client)
    assert refit["last"] == "crashed" and "at: loading" in refit["last_reason"]


def test_worker_that_hangs_is_ended_at_its_time_limit(daemon):
    one = daemon(refit_model(refit={"time_limit": "1s"}), env={TRAP: "HANG@starting"})
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    refit = ended(client)
    one.logged("event=refit_ended")
    pid = int(re.search(r"event=refit_started .* pid=(\d+)", one.log())[1])
    # Before it said anything it is at its start: on a busy machine that takes longer than the limit.
    assert refit["last"] == "timeout" and refit["last_reason"].split(", at: ")[1] in ("starting", "start") and gone(pid)


@lacks_memory
def test_worker_without_memory_is_told(daemon):
    one = daemon(refit_model(), env={TRAP: "MEMORY@iteration"})
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "memory"


@lacks_memory
def test_window_beyond_the_memory_is_made_smaller(daemon):
    """16 MiB hold a few thousand decisions of these, not 8,000."""
    one = daemon(model(learner="dgt", refits=True, features=400).rstrip()[:-1] + section("refit", {
        **QUICK, "height": 2, "memory": "16MiB", "window": 64000}) + "}\n")
    client = one.client()
    for first in range(0, 8000, 200):
        items = [{"id": f"e{i}", "x": [((i * 37 + j * 61) % 97) / 97 for j in range(400)]} for i in range(first, first + 200)]
        actions = client.ok("decide_batch", "m", {"items": items})["items"]
        client.ok("feedback_batch", "m", {"items": [{"id": a["id"], "loss": 0.3 * a["a"]} for a in actions]})
    client.ok("refit", "m")
    last = ended(client)
    assert last["last"] in ("made", "worse"), one.log()
    fitted = int(re.search(r"from (\d+) decisions", last["last_reason"]).group(1))
    assert 500 <= fitted <= 4000, last


def test_worker_ends_with_its_daemon(daemon):
    one = daemon(refit_model(), env={TRAP: "HANG@loading"})
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    pid = wait_for(lambda: refit_of(client).get("pid"), "a worker")
    one.kill()
    wait_for(lambda: gone(pid), "the worker's end")
    one.start()
    assert refit_of(one.client())["state"] == "waiting"


def test_worker_stands_back(daemon):
    one = daemon(refit_model(refit={"idle": True}), env={TRAP: "HANG@loading"})
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    pid = wait_for(lambda: refit_of(client).get("text") == "loading" and refit_of(client)["pid"], "a worker")
    assert os.sched_getscheduler(pid) == os.SCHED_IDLE
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
    assert "NOTIFY_SOCKET" not in Path(f"/proc/{pid}/environ").read_text()


def test_worker_takes_no_foreign_arguments():
    run = subprocess.run([program("COPPICE_REFIT"), "--speed=9"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "--speed=9" in run.stderr and run.stdout == ""


def test_promotion_by_hand_and_back(daemon):
    one = daemon(refit_model())
    client = one.client()
    assert client.error("promote", "m")["code"] == "bad_request"
    assert client.error("rollback", "m")["code"] == "bad_request"
    teach(client, 3000)
    client.ok("refit", "m")
    ended(client)
    done = client.ok("promote", "m", {"seq": 3})
    assert done["kind"] == "promote" and done["n"] == 1 and done["seq"] == 3
    assert client.model()["challenger"]["state"] == "serving"
    assert client.error("promote", "m")["code"] == "bad_request"
    teach(client, 400, "served")
    assert client.ok("rollback", "m")["kind"] == "rollback"
    assert client.model()["challenger"]["state"] == "shadow"
    assert "kind promote" in " ".join(ctl(one, "promote", "m", "1").split())
    assert client.model()["challenger"]["challenges"] == 1  # it was there
    ctl(one, "rollback", "m")
    error = client.error("promote", "m", {"n": 9})
    assert error["code"] == "bad_request" and error["message"].startswith('promote: model "m" has no challenger 9; expected one of')
    assert client.error("promote", "m", {"n": "one"})["code"] == "bad_request"


def test_promotion_never_is_forbidden(daemon):
    one = daemon(refit_model(refit={"promote": "never"}))
    assert one.client().error("promote", "m")["code"] == "forbidden"


def test_frozen_model_learns_nothing(daemon):
    one = daemon(refit_model())
    client = one.client()
    teach(client, 200)
    assert client.ok("freeze", "m")["kind"] == "freeze"
    assert client.error("freeze", "m")["code"] == "bad_request"
    rev = client.model()["rev"]
    teach(client, 200, "cold")
    assert client.model()["rev"] == rev and client.model()["challenger"]["frozen"] is True
    ctl(one, "freeze", "m", "--off")
    assert client.error("freeze", "m", {"on": False})["code"] == "bad_request"
    teach(client, 200, "warm")
    assert client.model()["rev"] > rev


def test_better_challenger_takes_over_by_evidence(daemon):
    """A learner that cannot say what is best is beaten by a tree that can."""
    one = daemon(refit_model(learner="dgt", learning_rate=1e-9, refit={"promote": "evidence", "holdout": 0.1}))
    client = one.client()
    before = teach(client, 6000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made", one.log()
    for i in range(60):
        if client.model()["challenger"]["state"] == "serving":
            break
        teach(client, 500, f"w{i}", start=i * 500)
    assert client.model()["challenger"]["state"] == "serving", client.model()
    one.logged("kind=promote number=1 by=evidence")
    assert teach(client, 2000, "then") < before - 0.1


def test_challenger_that_stays_undecided_goes_after_the_window(daemon):
    refit = {"promote": "bound", "risk": 1e-9, "window": 1000}
    one = daemon(refit_model(learner="dgt", refit=refit))
    client = one.client()
    teach(client, 3000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made", one.log()
    teach(client, 800, "before")
    assert client.model()["challenger"]["state"] == "shadow"
    teach(client, 400, "after")
    wait_for(lambda: client.model()["challenger"]["state"] == "none", "its end")
    one.logged("kind=retire number=0 by=window")
    before = state_of(client)
    one.kill()
    one.start()
    assert state_of(one.client()) == before


def state_of(client):
    names = ("rev", "decisions", "learned", "loss_sum", "challenger")
    return {k: v for k, v in client.model().items() if k in names}


@pytest.mark.parametrize("kill", [False, True])
def test_restart_changes_nothing(daemon, kill):
    """Stopped, or killed and replayed over challenge, promotion and rollback: every decision is the same as of a daemon
    that never stopped."""
    def lead(one, restart):
        client = one.client()
        teach(client, 2000)
        client.ok("refit", "m")
        assert ended(client)["last"] == "made"
        teach(client, 300, "shadow")
        restart(one)
        client = one.client()
        client.ok("promote", "m")
        teach(client, 300, "served")
        restart(one)
        client = one.client()
        client.ok("rollback", "m")
        client.ok("freeze", "m")
        teach(client, 100, "cold")
        restart(one)
        client = one.client()
        client.ok("freeze", "m", {"on": False})
        told = [client.decide("m", f"d{i}", context(i)) for i in range(200)]
        return told, state_of(client)

    def again(one):
        if kill:
            one.kill()
            one.start()
        else:
            one.restart()

    # One worker's challenger depends on what was synced when it began; the copy gets the other's.
    first = daemon(refit_model())
    one = lead(first, lambda d: None)
    second = daemon(refit_model())
    assert lead(second, again) == one


def test_challenger_that_is_gone_or_changed_is_refused_at_start(daemon):
    one = daemon(refit_model())
    client = one.client()
    teach(client, 2000)
    client.ok("refit", "m")
    ended(client)
    one.kill()
    path = next((one.state / "refit").glob("refit.m.*.checkpoint"))
    whole = path.read_bytes()
    path.unlink()
    one.launch()
    one.wait(1)
    assert str(path.name) in one.log()
    damaged = bytearray(whole)
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    one.launch()
    one.wait(1)
    path.write_bytes(whole)
    one.start()
    assert one.client().model()["challenger"]["n"] == 1


def challengers(one):
    return sorted(int(p.name.split(".")[2]) for p in (one.state / "refit").glob("*.checkpoint"))


def make_challengers(client, count, events=1000):
    for i in range(count):
        teach(client, events, f"r{i}", start=events * i)
        client.ok("refit", "m")
        assert ended(client, i + 1)["last"] == "made"


@pytest.mark.plain
def test_challengers_beyond_keep_go_with_the_records_that_need_them(daemon):
    one = daemon(refit_model(refit={"keep": 1}) + section("checkpoint", {"every": "1h", "keep": 1})
                 + section("journal", {"segment": "64KiB", "keep": "64KiB"}))
    client = one.client()
    make_challengers(client, 3)
    assert challengers(one) == [1, 2, 3]  # the journal may need them all

    def removed():
        client.ok("checkpoint")  # the first removes segments, and one behind it what those needed
        return challengers(one) == [3]

    wait_for(removed, "the older challengers to go")
    first = min(int(p.name[:20]) for p in (one.state / "journal").glob("*.journal*"))
    assert first > 1
    one.restart()
    client = one.client()
    teach(client, 1000, "again", start=5000)
    client.ok("refit", "m")
    ended(client)
    assert 3 in challengers(one) and client.model()["challenger"]["n"] == 4


@pytest.mark.plain
def test_challengers_that_the_journal_needs_count_as_journal(daemon):
    one = daemon(refit_model(refit={"keep": 1}) + section("checkpoint", {"keep": 1})
                 + section("journal", {"segment": "64KiB", "keep": "4MiB"}))
    client = one.client()
    make_challengers(client, 2)
    for _ in range(3):
        client.ok("checkpoint")
    first = one.state / "journal" / "00000000000000000001.journal"
    assert challengers(one) == [1, 2] and first.exists()
    older = next((one.state / "refit").glob("*00001.checkpoint"))
    os.truncate(older, 8 << 20)  # as large as those of many features

    def removed():
        client.ok("checkpoint")
        return challengers(one) == [2]

    wait_for(removed, "the older challenger to go")
    assert not first.exists()
    for _ in range(3):
        client.ok("checkpoint")
    assert challengers(one) == [2]


@pytest.mark.plain
def test_whole_journal_with_refits_is_replayed_without_checkpoints(daemon):
    """Challengers that checkpoints no longer need stay for as long as the journal tells of them."""
    one = daemon(refit_model(refit={"keep": 1}) + section("checkpoint", {"keep": 1}))
    client = one.client()
    make_challengers(client, 2)
    client.ok("promote", "m")
    teach(client, 300, "served", start=5000)
    teach(client, 1000, "third", start=6000)
    client.ok("refit", "m")
    assert ended(client, 3)["last"] == "made"
    for _ in range(3):
        client.ok("checkpoint")
    assert challengers(one) == [1, 2, 3]
    before = state_of(client)
    told = [{**client.decide("m", f"d{i}", context(i)), "repeated": True} for i in range(50)]
    one.kill()
    for path in one.state.glob("coppice.*.checkpoint"):
        path.unlink()
    one.start()
    client = one.client()
    now = state_of(client)
    assert now.pop("decisions") == before.pop("decisions") + 50 and now == before
    assert [client.decide("m", f"d{i}", context(i)) for i in range(50)] == told


def test_journal_whose_challenger_is_gone_is_replayed_without_it_when_told_to(daemon):
    one = daemon(refit_model())
    client = one.client()
    make_challengers(client, 1)
    client.ok("promote", "m")
    teach(client, 200, "served", start=5000)
    decisions = client.model()["decisions"]
    one.kill()
    next((one.state / "refit").glob("refit.m.*.checkpoint")).unlink()
    one.launch()
    one.wait(1)
    assert "challenger is gone" in one.log() and "refit.m.00000000000000000001.checkpoint" in one.log()
    assert "--salvaged" in one.log()
    one.start("--salvaged")
    client = one.client()
    assert client.model()["decisions"] == decisions and "challenger" not in client.model()
    one.logged("event=replayed")


def test_drift_begins_a_refit_before_it_is_time(daemon):
    one = daemon(refit_model(refit={"least_feedback": 500, "every": "30d", "on_drift": "adwin"}))
    client = one.client()
    teach(client, 3000)
    assert ended(client)["last"] == "made"  # the first one ever is due at once
    one.kill()  # the detector goes on where it was
    one.start()
    client = one.client()
    for i in range(40):
        if "why=drift" in one.log():
            break
        teach(client, 400, f"turned{i}", turned=True, start=i * 400)
    one.logged("why=drift")


def test_journal_that_is_never_synced_is_synced_for_a_refit(daemon):
    one = daemon(refit_model() + section("journal", {"sync": "never"}))
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made", one.log()


def test_segments_of_the_window_are_not_removed_by_age(daemon):
    journal = section("journal", {"segment": "64KiB", "keep_age": "1s"})
    for refit, kept in (({"window": 1000000}, True), ({"enabled": False}, False)):
        one = daemon(refit_model(refit=refit) + journal + section("checkpoint", {"every": "1h", "keep": 1}))
        client = one.client()
        first = one.state / "journal" / "00000000000000000001.journal"
        teach(client, 3000)
        assert first.exists()
        os.utime(first, (1, 1))
        second = sorted((one.state / "journal").iterdir())[1]
        os.utime(second, (1, 1))

        def tidied():
            client.ok("checkpoint")
            return not first.exists() or (kept and one.log().count("event=checkpoint ") > 5)

        wait_for(tidied, "segments that are too old to go")
        assert first.exists() == kept


def test_backup_has_the_challengers(daemon, tmp_path):
    one = daemon(refit_model())
    client = one.client()
    teach(client, 1000)
    client.ok("refit", "m")
    ended(client)
    ctl(one, "backup", str(tmp_path / "copy"))
    name = "refit.m.00000000000000000001.checkpoint"
    assert (tmp_path / "copy" / "refit" / name).read_bytes() == (one.state / "refit" / name).read_bytes()
    one.stop()
    one.state.rename(one.state.with_name("old"))
    (tmp_path / "copy").rename(one.state)
    one.start()
    assert one.client().model()["challenger"]["n"] == 1


def test_reload_turns_refits_on_and_off(daemon):
    one = daemon(refit_model(refit={"enabled": False}), env={TRAP: "HANG@loading"})
    client = one.client()
    teach(client, 1000)
    one.write_config(refit_model())
    assert any("refit.enabled" in text for text in client.ok("reload")["applied"])
    client.ok("refit", "m")
    pid = wait_for(lambda: refit_of(client).get("pid"), "a worker")
    one.write_config(refit_model(refit={"enabled": False}))
    client.ok("reload")
    wait_for(lambda: gone(pid), "the worker's end")
    one.logged("event=refit_stopped")
