"""Instances that follow another one: real daemons, the link over ipc and tcp."""

from conftest import grow, model, section, wait_for


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


def follows(leader, *followers):
    """Until the followers have all that the leader has."""
    lead = leader.client()

    def level():
        end = lead.status()["journal"]["next"]
        return all(f.client().status()["journal"]["next"] == end for f in followers) and end

    return wait_for(level, "the followers to be level")


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
