"""coppice-lease with a real etcd, which is killed and stopped meanwhile; daemons are those of lease.py."""

import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest
from conftest import program, wait_for
from lease import SECONDS, Etcd, Instance, check_history

needs_etcd = pytest.mark.skipif(
    shutil.which("etcd") is None, reason="there is no etcd (Debian package etcd-server; tools/install-deps test)")


@pytest.fixture
def group(tmp_path):
    """make(names..., members=1): an etcd and an instance of each name."""
    program("COPPICE_LEASE")
    opened = []

    def make(*names, members=1, options=(), **more):
        etcd = Etcd(tmp_path, members)
        opened.append(etcd)
        instances = [Instance(tmp_path, name, etcd.endpoints, *options, **more.get(name, {})) for name in names]
        opened.extend(instances)
        return etcd, instances

    yield make
    for one in reversed(opened):
        one.close()


def leader_of(instances):
    leaders = [one for one in instances if one.is_leader()]
    return leaders[0] if leaders else None


def wait_for_leader(instances):
    return wait_for(lambda: leader_of(instances), "a leader", 60)


# ---- words


@pytest.mark.parametrize("words, told", [
    ([], "expected --etcd and --group"),
    (["--etcd", "http://h:1"], "expected --etcd and --group"),
    (["--etcd", "h:1", "--group", "g", "--foreground"], "expected up to 16 of http://HOST:PORT"),
    (["--etcd", "http://h:1", "--group", "a/b"], "--group: 'a/b' given, expected up to 63 of letters"),
    (["--etcd", "http://h:1", "--group", "g", "--name", "a b"], "--name: 'a b' given"),
    (["--etcd", "http://h:1", "--group", "g", "--seconds", "1"], "--seconds: '1' given, expected a number from 2 to 3600"),
    (["--etcd", "http://h:1", "--group", "g", "--key", "f"], "expected both --key and --server-key"),
    (["--etcd", "http://h:1", "--group", "g", "more"], "unexpected argument 'more'"),
    (["--what"], "usage:"),
])  # fmt: skip
def test_wrong_words_are_refused_by_name(words, told):
    done = subprocess.run([program("COPPICE_LEASE"), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == (1 if "--foreground" in words else 2) and told in done.stderr


def test_help_and_version():
    done = subprocess.run([program("COPPICE_LEASE"), "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("usage: coppice-lease --etcd URL")
    assert max(map(len, done.stdout.splitlines())) <= 80
    done = subprocess.run([program("COPPICE_LEASE"), "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("coppice-lease 0.")


# ---- leading


@needs_etcd
def test_one_of_the_group_leads_and_goes_on(group):
    _, instances = group("a", "b", "c")
    first = wait_for_leader(instances)
    until = first.until
    wait_for(lambda: first.until > until + SECONDS, "renewals", 60)
    assert [len(one.led) for one in instances].count(0) == 2
    check_history(instances)
    follower = next(one for one in instances if one is not first)
    assert wait_for(lambda: f'event=lease_leader name="{first.name}" epoch={first.epoch}' in follower.lease.log(), "its log")


@needs_etcd
def test_who_has_most_leads(group):
    _, instances = group("a", "b", "c", a={"held": 1, "next": 900}, b={"held": 1, "next": 1000}, c={"held": 0, "next": 5000})
    assert wait_for_leader(instances).name == "b"


@needs_etcd
@pytest.mark.parametrize("how", ["lease killed", "lease stopped", "daemon deaf", "both killed"])
def test_another_leads_when_one_is_gone(group, how):
    _, instances = group("a", "b")
    first = wait_for_leader(instances)
    other = next(one for one in instances if one is not first)
    if how in ("lease killed", "both killed"):
        first.lease.process.kill()
    if how == "lease stopped":
        first.lease.signal(signal.SIGSTOP)
    if how in ("daemon deaf", "both killed"):
        first.deaf = True
    wait_for(other.is_leader, "the other to lead", 60)
    first.lease.process.send_signal(signal.SIGCONT)
    led = other.led[-1][0]
    wait_for(lambda: other.until > led + 2 * SECONDS, "that it goes on", 60)
    check_history(instances)


@needs_etcd
def test_daemon_that_began_anew_leads_again_in_a_higher_epoch(group):
    _, (one,) = group("a")
    wait_for_leader([one])
    one.restart()
    wait_for(lambda: len(one.led) == 2 and one.is_leader(), "a second time", 60)
    check_history([one])
    wait_for(lambda: "event=lease_given_back" in one.lease.log(), "its log")


@needs_etcd
def test_stop_hands_over_first(group):
    _, instances = group("a", "b")
    first = wait_for_leader(instances)
    other = next(one for one in instances if one is not first)
    until = first.until
    first.lease.stop()
    assert not first.is_leader() and first.led[-1][1] <= until
    wait_for(other.is_leader, "the other to lead", 60)
    check_history(instances)
    other.lease.stop()


@needs_etcd
def test_hand_over_that_does_not_end_waits_until_the_daemon_cannot_lead(group):
    _, instances = group("a", "b", options=("--hand-over", "1"))
    first = wait_for_leader(instances)
    first.drains = 1000
    first.lease.stop()
    assert not first.is_leader() and "event=lease_not_handed_over" in first.lease.log()
    wait_for_leader(instances)
    check_history(instances)


@needs_etcd
def test_refused_order_gives_the_lease_back(group):
    _, instances = group("a", "b", a={"held": 10**12})
    wait_for(lambda: "event=lease_refused" in instances[0].lease.log(), "the refusal", 60)
    assert "expected above 1000000000000" in instances[0].lease.log()
    assert not instances[0].led


@needs_etcd
def test_epochs_begin_behind_above(group):
    _, (one,) = group("a", options=("--above", "1000000"))
    assert wait_for_leader([one]).epoch > 1000000


# ---- etcd is away


@needs_etcd
@pytest.mark.parametrize("number, again", [(signal.SIGSTOP, signal.SIGCONT), (signal.SIGKILL, None)])
def test_nobody_leads_while_etcd_is_away(group, number, again):
    etcd, instances = group("a", "b")
    first = wait_for_leader(instances)
    etcd.signal(number)
    wait_for(lambda: not first.is_leader(), "the end", 60)
    wait_for(lambda: "event=lease_lost" in first.lease.log(), "its log", 60)
    assert "event=lease_etcd_away" in first.lease.log()
    assert leader_of(instances) is None
    if again:
        etcd.signal(again)
    else:
        etcd.processes[0].wait()
        etcd.start(0)
    wait_for_leader(instances)
    assert len(check_history(instances)) >= 2


@needs_etcd
def test_members_of_etcd_may_die_one_at_a_time(group):
    etcd, instances = group("a", "b", members=3)
    first = wait_for_leader(instances)
    for i in range(3):
        first = leader_of(instances) or first
        until = first.until
        etcd.kill(i)
        wait_for(lambda: any(one.is_leader() and one.until > until + SECONDS for one in instances), "renewals", 60)
        etcd.start(i)
        etcd.wait()
    check_history(instances)
