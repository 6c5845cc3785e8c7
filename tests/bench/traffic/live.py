"""A scene through a running daemon's requests, one after the other, as traffic_drive plays it in process."""
import contextlib
import os
import signal
import subprocess
import tempfile

import msgpack
import numpy as np
import zmq

from scenes import NEVER

DEADLINE = 120  # seconds for an answer; nothing here is a measurement of time


def model_options(scene, events, seed):
    """The options of a model's section that make it the one that traffic_drive plays."""
    ranks, sparse = events.item is not None, events.x is None
    if scene.window:
        raise ValueError(f"{scene.name}: a window ends by the daemon's clock")
    options = {"learner": "rank" if ranks else "ensemble", "seed": seed, "features": 0 if sparse else events.x.shape[1]}
    if ranks:
        return {**options, "candidate_features": events.item.shape[1], "max_candidates": events.mean.shape[1]}
    options["arms"] = events.mean.shape[1]
    return {**options, "max_nonzeros": events.name.shape[1]} if sparse else options


def section(options):
    lines = (f'\t{key} = {value}\n' if isinstance(value, int) else f'\t{key} = "{value}"\n' for key, value in options.items())
    return 'model "traffic" {\n' + "".join(lines) + "\trefit { enabled = false }\n}\n"


def packed(row):
    return np.ascontiguousarray(row, dtype="<f4").tobytes()


def context(events, mask, i):
    if events.x is None:
        body = {"id": i, "x": {events.names[name]: 1.0 for name in events.name[i]}}
    else:
        body = {"id": i, "x": packed(events.x[i])}
    if events.item is not None:
        body["c"] = [packed(events.item[k]) for k in events.candidate[i]]
    if mask is not None:
        body["mask"] = [bool(flag) for flag in mask[i]]
    return body


def play(ask, scene, events):
    """ask(verb, body): the reply, of the scene's model. (arm that was played, its probability) of every event."""
    n = len(events.mean)
    due, mask = scene.due(n), scene.mask(n)
    order = [i for i in np.argsort(due, kind="stable") if due[i] < n and due[i] != NEVER]
    arm, p, told = np.zeros(n, np.uint32), np.zeros(n, np.float32), 0
    for i in range(n):
        for e in order[told:]:
            if due[e] > i:
                break
            result = ask("feedback", {"id": int(e), "loss": float(events.loss[e, arm[e]])})["result"]
            if result != "applied":
                raise SystemExit(f"{scene.name}: feedback {e} was {result}")
            told += 1
        action = ask("decide" if events.item is None else "rank", context(events, mask, i))
        arm[i], p[i] = action["a"], action["p"]
    return arm, p


@contextlib.contextmanager
def daemon(program, text):
    """ask(verb, body) of a daemon with this configuration of a model called traffic, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="cop-") as folder:
        with open(os.path.join(folder, "coppice.conf"), "w", encoding="ascii") as file:
            file.write(f'state_dir = "state"\nsockets {{ requests = {{ "ipc://requests" }} }}\n{text}')
        log = os.path.join(folder, "log")
        with open(log, "wb") as out:
            process = subprocess.Popen([program, "--config", "coppice.conf", "--foreground"], cwd=folder, stdout=out, stderr=out)
        socket = zmq.Context.instance().socket(zmq.REQ)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.RECONNECT_IVL, 10)
            socket.connect(f"ipc://{folder}/requests")
            yield lambda verb, body: request(socket, verb, body, log)
        finally:
            socket.close()
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE)


def request(socket, verb, body, log):
    socket.send_multipart([verb.encode(), b"traffic", msgpack.packb(body)])
    if not socket.poll(1000 * DEADLINE):
        with open(log, encoding="utf-8", errors="replace") as file:
            raise SystemExit(f"traffic: the daemon does not answer\n{file.read()}")
    status, reply = socket.recv_multipart()
    if status != b"ok":
        raise SystemExit(f"traffic: {verb}: {msgpack.unpackb(reply)}")
    return msgpack.unpackb(reply)
