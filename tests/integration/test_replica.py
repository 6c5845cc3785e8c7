"""Instances that follow another one: real daemons, the link over ipc and tcp."""

import re
import signal

import pytest
import zmq
from conftest import free_port, grow, model, section, wait_for
from test_refit import context, ended, refit_model, teach


def instance(daemon, name, of=(), models=None, journal=None, **options):
    """A daemon of a group, not started: its link is at its ipc("link")."""
    one = daemon(start=False)
    replica = {"name": name, "listen": one.ipc("link"), **options}
    if of:
        replica["of"] = [other.ipc("link") for other in of]
    text = models or model()
    if journal:
        text = section("journal", journal) + text
    one.write_config(section("replica", replica) + text)
    return one


def next_of(one):
    client = one.client()
    number = client.status()["journal"]["next"]
    client.close()  # asked often
    return number


def follows(leader, *followers):
    """Until the followers have all that the leader has."""
    lead = leader.client()

    def level():
        end = lead.status()["journal"]["next"]
        return all(next_of(f) == end for f in followers) and end

    return wait_for(level, "the followers to be level")


def following(one):
    """Until it follows: the process may begin anew, with its leader's checkpoint, and lose what was asked before."""

    def answers():
        client = one.client()
        client.send("status")
        state = client.receive()[1]["replica"]["state"] if client.socket.poll(200) else None
        client.close()
        return state == "following"

    wait_for(answers, "it to follow")


def begin(follower):
    """Starts it."""
    follower.launch()
    following(follower)
    return follower


def sections(one):
    """What a model is, by section, from a checkpoint that is written now."""
    client = one.client()
    sequence = client.ok("checkpoint")["sequence"]
    body = (one.state / f"coppice.{sequence:020}.checkpoint").read_bytes()[28:]
    found, at = {}, 24
    while at < len(body):
        name = body[at : at + 16].rstrip(b"\0").decode()
        length = int.from_bytes(body[at + 20 : at + 28], "little")
        if name == "model":
            payload = body[at + 32 : at + 32 + length]
            found[bytes(payload[4 : 4 + int.from_bytes(payload[:4], "little")])] = payload
        at += 32 + length
    return found


def test_follower_from_the_beginning_takes_all(daemon):
    leader = instance(daemon, "a").start()
    grow(leader.client(), prefix="before")
    follower = instance(daemon, "b", of=[leader]).start()
    follows(leader, follower)
    grow(leader.client(), prefix="while")
    follows(leader, follower)
    assert sections(leader) == sections(follower) != {}
    client = follower.client()
    error = client.request("decide", "m", {"id": 1, "x": [0, 0, 0]})
    assert error[0] == "error" and error[1]["code"] == "not_leader" and error[1]["leader"] == leader.ipc("requests")
    assert client.model()["decisions"] == 120
    error = client.request("freeze", "m")
    assert error[0] == "error" and error[1]["code"] == "not_leader" and "leader" not in error[1]
    assert error[1]["message"].endswith(f"expected at the admin endpoint of the one that answers at {leader.ipc('requests')}")


def state_of(one):
    client = one.client()
    state = client.status()["replica"]
    client.close()  # asked often
    return state


def test_leader_that_does_not_answer_is_named(daemon):
    leader = instance(daemon, "a")
    follower = instance(daemon, "b", [leader]).start()
    why = f"{leader.ipc('link')} does not answer"
    follower.logged(f'event=replica_unreached record=1 reason="{why}"')
    state = follower.client().status()["replica"]
    assert (state["state"], state["reason"]) == ("seeking", why)
    leader.start()
    grow(leader.client())
    following(follower)
    follows(leader, follower)
    assert "reason" not in follower.client().status()["replica"]
    leader.kill()
    follower.logged("event=replica_leader_lost")
    follower.logged("event=replica_unreached", 2)


def test_answers_wait_for_a_follower_that_has_their_records(daemon):
    leader = instance(daemon, "a", journal={"sync": "replica"}).start()
    client = leader.client()
    client.send("decide", "m", {"id": 1, "x": [0, 0, 0]})
    assert not client.socket.poll(300)
    leader.logged("event=replica_short")
    client.send("status")
    assert not client.socket.poll(300)  # in its turn
    other = leader.client()  # what others ask that says nothing about the journal does not wait
    wait_for(lambda: other.status()["journal"]["next"] > 1, "the decision's record")
    assert other.ok("checkpoint")
    follower = instance(daemon, "b", of=[leader]).start()
    assert client.receive()[1]["id"] == 1
    assert "journal" in client.receive()[1]
    grow(client)
    end = client.status()["journal"]
    assert end["committed"] == end["next"] - 1
    follower.signal(signal.SIGSTOP)
    client.send("decide", "m", {"id": 2, "x": [0, 0, 0]})
    assert not client.socket.poll(300)
    follower.signal(signal.SIGCONT)
    assert client.receive()[0] == "ok"
    leader.logged("event=replica_held")


def test_follower_whose_disk_is_waited_for_syncs_at_once(daemon):
    late = {"interval": "1min"}
    leader = instance(daemon, "a", journal={"sync": "replica", **late}, hold="disk").start()
    instance(daemon, "b", of=[leader], journal={"sync": "interval", **late}, hold="disk").start()
    grow(leader.client())


def test_answers_wait_for_the_followers_disk(daemon):
    leader = instance(daemon, "a", journal={"sync": "replica"}, hold="disk").start()
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client())
    follows(leader, follower)
    follower = state_of(leader)["followers"][0]
    assert follower["name"] == "b" and follower["synced"] > 0


def test_killed_follower_goes_on_from_its_own_journal(daemon):
    leader = instance(daemon, "a").start()
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client(), prefix="one")
    follows(leader, follower)
    follower.kill()
    grow(leader.client(), prefix="two")
    follower.start()
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    assert "from=checkpoint" not in leader.log()


def test_restarted_leader_is_followed_again(daemon):
    leader = instance(daemon, "a", compare=50).start()
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client(), prefix="one")
    follows(leader, follower)
    leader.kill()
    leader.start()
    grow(leader.client(), prefix="two")
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    grow(leader.client(), prefix="three")  # while it follows: else nobody is compared with
    wait_for(lambda: state_of(follower)["compared"], "a comparison")
    assert state_of(follower)["differed"] == 0


def test_follower_goes_on_across_an_epoch_that_began_while_it_was_away(daemon):
    leader = instance(daemon, "a").start()
    leader.client().ok("lead", "", {"epoch": 1})
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client(), prefix="one")
    follows(leader, follower)
    follower.stop()
    leader.client().ok("lead", "", {"epoch": 2})
    grow(leader.client(), prefix="two")
    leader.restart()  # the epoch goes on, and began before this process
    for _ in range(2):
        follower.start()
        follows(leader, follower)
        follower.stop()
    assert "from=checkpoint" not in leader.log() and not list(follower.state.glob("diverged*"))


def test_follower_whose_beginning_is_gone_begins_with_a_checkpoint(daemon):
    small = {"segment": "64KiB", "keep": "64KiB"}
    leader = instance(daemon, "a", journal=small, models="checkpoint { every = 1s keep = 1 }\n" + model()).start()
    client = leader.client()
    for i in range(12):
        grow(client, prefix=f"p{i}", events=200)
    wait_for(lambda: client.ok("checkpoint") and not (leader.state / "journal" / f"{1:020}.journal").exists(),
             "the first segment to go")
    follower = begin(instance(daemon, "b", of=[leader], compare=50))
    grow(client, prefix="while")
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    follower.logged("event=replica_settled moved_to=\"\"")
    assert not list(follower.state.glob("diverged*"))
    wait_for(lambda: state_of(follower)["compared"], "a comparison")
    follower.restart()
    grow(client, prefix="again")
    follows(leader, follower)
    assert sections(leader) == sections(follower)


def test_records_that_the_leader_does_not_have_are_moved_aside(daemon):
    leader = instance(daemon, "a").start()
    follower = instance(daemon, "b", of=[leader])
    # As after a power cut of a leader that came back with less: both wrote their own.
    alone = daemon(start=False)
    alone.state = follower.state
    alone.write_config(model())
    alone.start()
    grow(alone.client(), prefix="other")
    alone.stop()
    grow(leader.client(), events=100)
    begin(follower)
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    assert (follower.state / "diverged.1" / "journal").is_dir()
    follower.logged("replica_settled")


def test_follower_that_is_behind_memory_reads_files_under_load(daemon):
    leader = instance(daemon, "a").start()
    for i in range(5):
        grow(leader.client(), prefix=f"p{i}", events=500)
    leader.restart()  # memory begins here
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client(), prefix="while", events=500)
    follows(leader, follower)
    assert sections(leader) == sections(follower)
    assert state_of(leader)["far_records"] >= 5000


@pytest.mark.foresees("replica_namesake", "replica_refused")
def test_second_follower_of_a_name_is_told_and_the_first_one_comes_back_after_it(daemon):
    leader = instance(daemon, "a").start()
    one = instance(daemon, "twin", of=[leader]).start()
    following(one)
    other = instance(daemon, "twin", of=[leader]).start()
    following(other)
    leader.logged("event=replica_namesake")
    one.logged("event=replica_refused")
    client = leader.client()
    joins = client.status()["replica"]["joins"]
    assert joins == 2
    client.decide("m", 1, [0, 0, 0])
    follows(leader, other)
    state = state_of(one)
    assert state["state"] == "seeking" and "another follower has the name twin" in state["reason"]
    assert client.status()["replica"]["joins"] == joins and leader.log().count("event=replica_namesake") == 1
    other.stop()
    following(one)
    follows(leader, one)


@pytest.mark.foresees("replica_diverged")
@pytest.mark.parametrize("joins", ["before", "after"])
def test_diverged_follower_stops_and_names_the_part(daemon, joins):
    leader = instance(daemon, "a", compare=10).start()
    follower = instance(daemon, "b", of=[leader], models=model(seed=2))
    if joins == "before":
        follower.start()
        leader.logged("event=replica_joined")
    grow(leader.client())
    if joins == "after":
        follower.launch()
    follower.logged("event=replica_diverged")
    status = state_of(follower)
    assert status["state"] == "stopped" and re.match(r"m/\S+ differs from the leader's behind record \d+", status["reason"])
    assert status["differed"] == 1


def test_models_that_differ_are_named_and_waited_for(daemon):
    leader = instance(daemon, "a", models=model() + model("n")).start()
    follower = instance(daemon, "b", of=[leader]).start()
    follower.logged("event=replica_models_differ record=1 reason=\"model 'n' of the leader is not served here")
    follower.write_config(follower.config.read_text() + model("n"))
    grow(leader.client(), "n")
    follows(leader, follower)
    assert sections(leader) == sections(follower)


def test_challengers_and_promotions_travel_with_their_files(daemon):
    models = "refit_cpu_share = 1\n" + refit_model()
    leader = instance(daemon, "a", models=models, compare=500).start()
    follower = instance(daemon, "b", of=[leader], models=models).start()
    client = leader.client()
    teach(client, 2000)
    client.ok("refit", "m")
    assert ended(client)["last"] == "made"
    teach(client, 400, "after")
    follows(leader, follower)
    name = "refit.m.00000000000000000001.checkpoint"
    assert (leader.state / "refit" / name).read_bytes() == (follower.state / "refit" / name).read_bytes()
    client.ok("promote", "m")
    client.ok("freeze", "m", {"frozen": True})
    teach(client, 400, "frozen")
    follows(leader, follower)
    assert follower.client().model()["challenger"]["n"] == 1
    x = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9][: len(context(0))]
    best = follower.client().decide("m", "best", x)
    assert best["p"] == 1 and best["durable"] is False and best["a"] == follower.client().ok("explain", "m", {"x": x})["a"]
    assert follower.client().error("feedback", "m", {"id": "best", "loss": 0})["code"] == "not_leader"
    assert sections(leader) == sections(follower)
    wait_for(lambda: state_of(follower)["compared"], "a comparison")
    assert state_of(follower)["differed"] == 0


def test_settings_and_arms_that_the_leader_changes_travel(daemon):
    leader = instance(daemon, "a", compare=20).start()
    follower = instance(daemon, "b", of=[leader]).start()
    grow(leader.client(), prefix="one")
    leader.write_config(leader.config.read_text().replace("arms = 3", "arms = 4\n\treward_window = 5s"))
    leader.client().ok("reload")
    follower.logged("event=replica_models_differ")
    follower.write_config(follower.config.read_text().replace("arms = 3", "arms = 4"))
    grow(leader.client(), prefix="two")
    follows(leader, follower)
    assert sections(leader) == sections(follower)


def test_link_of_tcp_is_encrypted_and_needs_the_right(daemon, tmp_path):
    public, secret = {}, {}
    for name in "ab":
        pair = zmq.curve_keypair()
        public[name], secret[name] = (key.decode() for key in pair)
        (tmp_path / name).write_text(secret[name] + "\n")
        (tmp_path / name).chmod(0o600)
    clients = tmp_path / "clients"
    clients.write_text(f"b {public['b']} all\n")
    port = free_port()

    def curve(name):
        return section("curve", {"key": str(tmp_path / name), "clients": str(clients)}) + model()

    leader = instance(daemon, "a", models=curve("a"), listen=f"tcp://127.0.0.1:{port}").start()
    follower = instance(daemon, "b", models=curve("b"))
    options = {"name": "b", "of": [f"tcp://127.0.0.1:{port} server_key={public['a']}"]}
    follower.write_config(section("replica", options) + curve("b"))
    follower.start()
    wait_for(lambda: "lacks the right replicate" in state_of(follower).get("reason", ""), "it to be refused")
    clients.write_text(f"b {public['b']} replicate\n")
    leader.client().ok("reload")
    grow(leader.client())
    follows(leader, follower)
    assert sections(leader) == sections(follower)
