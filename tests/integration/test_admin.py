"""Administration has an endpoint of its own, which its file's mode guards; every other way in refuses these verbs."""

import json
import os
import re
import stat
import subprocess

import pytest
from conftest import ADMINISTRATION, DEADLINE, Client, free_port, model, pack, program, section, watched

X = [0.1, 0.2, 0.3]


def config(one, **sockets):
    return model() + section("sockets", {"requests": [one.ipc("requests")], **sockets})


@pytest.fixture
def at_home(daemon):
    """A daemon whose file does not name the endpoint: (daemon, its endpoint)."""
    one = daemon(start=False)
    folder = f"{one.sockets.name}/state"  # whose path leaves room for a socket's
    one.config.write_text(f'state_dir = "{folder}"\n' + config(one))
    return one.start(), f"ipc://{folder}/admin.ipc"


def test_admin_endpoint_is_in_the_state_folder_for_owner_and_group_alone(at_home):
    one, endpoint = at_home
    path = endpoint.removeprefix("ipc://")
    mode = os.stat(path)
    assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o660
    assert f'\tadmin = {{ "{endpoint}" }}\n' in one.run("--print-config").stdout
    client = one.client(endpoint=endpoint, admin=endpoint)
    assert client.ok("checkpoint")["sequence"] == 1
    assert client.decide("m", 1, X)["id"] == 1  # it takes all verbs
    one.kill()
    one.start()  # over the file that the killed one left
    assert one.client(endpoint=endpoint, admin=endpoint).ok("checkpoint")["sequence"] == 3  # after the start's
    one.stop()
    assert not os.path.exists(path)


def test_data_sockets_refuse_administration_and_name_its_endpoint(daemon):
    one = daemon(start=False)
    tcp = f"tcp://127.0.0.1:{free_port()}"
    one.write_config(config(one, requests=[one.ipc("requests"), tcp]))
    one.start()
    before = one.client().status()
    for endpoint in (one.ipc("requests"), tcp):
        data = Client(one.context, endpoint)
        one.clients.append(data)
        for verb in ADMINISTRATION:
            for body in (b"", b"\x80", pack({"on": True, "n": 1}), b"\xc1"):
                status, reply = data.raw(verb, "m", body)
                assert status == "error" and reply["code"] == "forbidden"
                assert reply["message"] == f"{verb} is administration; expected at {one.ipc('admin')}"
            assert data.error(verb, "nobody", {"seq": 4}) == {
                "code": "forbidden", "message": f"{verb} is administration; expected at {one.ipc('admin')}", "seq": 4}
    after = one.client().status()
    assert after["checkpoint"]["sequence"] == before["checkpoint"]["sequence"] == 0
    assert after["models"] == before["models"]
    one.logged(f'event=request_forbidden name=- reason="checkpoint is administration; expected at {one.ipc("admin")}"')


def test_administration_is_in_the_log_with_who_asked(daemon):
    one = daemon()
    one.client().ok("freeze", "m", {})
    one.client().ok("freeze", "m", {"on": False})
    assert one.client().error("refit", "m", {})["code"] == "forbidden"
    peer = f":{os.getuid()}:{os.getgid()}:{os.getpid()}"
    one.logged(f'event=administration verb=freeze model="m" peer="{peer}" name="" done=yes', 2)
    one.logged(f'event=administration verb=refit model="m" peer="{peer}" name="" done=no')
    assert one.log().count("event=administration") == 3


def test_empty_list_means_no_administration(daemon):
    one = daemon(start=False)
    one.write_config(config(one, admin=[]).replace("{  }", "{ }"))
    assert "admin = { }" in one.run("--print-config").stdout
    one.start()
    one.logged("event=admin_off")
    data = Client(one.context, one.ipc("requests"))
    one.clients.append(data)
    assert data.error("checkpoint")["message"] == (
        "checkpoint is administration, which has no endpoint; expected admin in section sockets")
    assert data.decide("m", 1, X)["id"] == 1


def test_state_folder_too_deep_for_a_socket_starts_without_administration(daemon, tmp_path):
    one = daemon(start=False)
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    one.config.write_text(f'state_dir = "{deep}"\n' + config(one))
    assert "warning: nobody can administer" in one.run("--check").stderr
    one.start()
    one.logged("event=admin_off")
    assert one.client().decide("m", 1, X)["id"] == 1


def test_wrong_endpoints_of_administration_are_refused(daemon):
    one = daemon(start=False)

    def wrong(**sockets):
        one.write_config(config(one, **sockets))
        done = one.run("--check")
        assert done.returncode == 1
        return done.stderr

    for endpoint in ("ipc://@hidden", "ipc://*"):
        assert "expected a path, whose mode says who may administer" in wrong(admin=[endpoint])
    assert "is bound already" in wrong(admin=[one.ipc("requests")])
    assert "can be reached from other machines" in wrong(admin=["tcp://0.0.0.0:5595"])
    assert "not allowed, expected tcp://" in wrong(admin=["unix:/x"])
    assert "no way in" in wrong(requests=[])


def test_administration_goes_on_while_requests_are_not_read(daemon):
    """A client of the data socket that sends and does not read holds up no administrator."""
    one = daemon()
    flood = Client(one.context, one.ipc("requests"), SNDHWM=0, RCVHWM=1)
    one.clients.append(flood)
    for i in range(20000):
        flood.send("decide", "m", {"id": i, "x": X})
    assert one.admin().ok("checkpoint")["sequence"] == 1


def test_ctl_goes_to_each_verbs_endpoint_by_itself(daemon):
    """Without --endpoint: nobody is there in a test, but the message has where it asked."""

    def asked(*args):
        done = subprocess.run([program("COPPICE"), "ctl", "--timeout", "0.1", *args], capture_output=True, text=True,
                              timeout=DEADLINE, env=watched())
        return re.match(r"coppice ctl: (\S+): ", done.stderr).group(1)

    assert asked("status") == asked("explain", "m", "1") == "tcp://127.0.0.1:5590"
    for verb in ADMINISTRATION:
        words = {"checkpoint": [], "reload": [], "lead": [], "follow": [], "model": ["remove", "m"]}.get(verb, ["m"])
        assert asked(verb, *words) == "ipc:///run/coppice/admin.ipc"


def test_ctl_of_a_file_that_may_not_be_opened_says_why(daemon, tmp_path):
    one = daemon()
    path = one.ipc("admin").removeprefix("ipc://")
    command = [program("COPPICE"), "ctl", "--endpoint", f"ipc://{path}", "--timeout", "1", "checkpoint", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=watched())
    assert json.loads(done.stdout)["sequence"] == 1
    if os.getuid() == 0:
        os.chmod(one.sockets.name, 0o755)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, user=65534, group=65534)
        assert done.returncode == 1 and "Permission denied, expected a running coppiced's file" in done.stderr
        data = subprocess.run([*command[:3], one.ipc("requests"), "--timeout", "1", "checkpoint"], capture_output=True,
                              text=True, timeout=DEADLINE)
        assert "forbidden: checkpoint is administration; expected at " + one.ipc("admin") in data.stderr
