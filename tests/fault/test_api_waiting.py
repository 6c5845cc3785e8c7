"""A request over HTTP whose answer waits for the disk, among so many connections that some have to end."""

import errno
import json
import socket

from faults import HANG, SYNC, service

LISTENS = 1024  # connections of one listener: with more of them the oldest that asks for nothing is ended


def test_request_that_waits_for_the_disk_keeps_its_connection(daemon, fault):
    port = service.free_port()
    listener = service.section("api", {"listen": [f"127.0.0.1:{port}"]})
    one = daemon(listener + service.section("journal", {"sync": "always"}) + service.model(features=3), env=fault.env)
    fault.begin(SYNC, errno.EIO, path="/state/journal", flags=HANG)
    body = json.dumps({"id": "waits", "x": [0.25, 0.5, 1.0]}).encode()
    asking = socket.create_connection(("127.0.0.1", port), timeout=service.DEADLINE)
    asking.sendall(b"POST /v1/models/m/decide HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))  # fmt: skip
    service.wait_for(lambda: fault.get("failed") > 0, "a sync that hangs")
    silent = [socket.create_connection(("127.0.0.1", port), timeout=service.DEADLINE) for _ in range(LISTENS + 50)]
    for s in silent[:50]:
        assert s.recv(1) == b""  # the oldest ones are ended
    fault.end()
    answer = b""
    while piece := asking.recv(4096):
        answer += piece
    head, _, got = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and json.loads(got)["id"] == "waits"
    for s in (asking, *silent):
        s.close()
    assert one.client().model()["decisions"] == 1
