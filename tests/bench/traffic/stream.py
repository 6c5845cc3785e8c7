"""A seed of a scene as the file that traffic_drive plays (traffic_stream.h), and what comes back."""
import json
import struct
import subprocess

import numpy as np

ARMS, RANK, VALUES = 0, 1, 2
MASKED, CONVERSIONS = 1, 2


def header(kind, events, arms, flags=0, features=0, nonzeros=0, names=0, items=0, item_features=0, grid=0, window=0):
    return struct.pack("<8s10Id", b"COPTRAF1", kind, flags, events, arms, features, nonzeros, names, items, item_features,
                       grid, window)


def write(path, scene, events):
    """events: as scene.seed gives them."""
    n, arms = events.mean.shape
    mask, due = scene.mask(n), scene.due(n)
    ranks = events.item is not None
    names = b"".join(name.encode() + b"\0" for name in events.names or [])
    flags = (MASKED if mask is not None else 0) | (CONVERSIONS if scene.window else 0)
    with open(path, "wb") as out:
        out.write(header(
            RANK if ranks else ARMS, n, arms, flags, 0 if events.x is None else events.x.shape[1],
            0 if events.name is None else events.name.shape[1], len(events.names or []),
            len(events.item) if ranks else 0, events.item.shape[1] if ranks else 0, 0, scene.window))
        if events.name is None:
            put(out, events.x, np.float32)
        else:
            put(out, events.name, np.uint32)
            put(out, np.ones(events.name.shape), np.float32)
        put(out, events.loss, np.float32)
        put(out, due, np.uint32)
        if ranks:
            put(out, events.candidate, np.uint32)
            put(out, events.item, np.float32)
        if mask is not None:
            put(out, mask, np.uint8)
        out.write(names)


def write_values(path, x, grid, noise):
    """Of a continuous action: expected losses at even places of [0, 1], the noise of both probes."""
    with open(path, "wb") as out:
        out.write(header(VALUES, len(x), 0, features=x.shape[1], grid=grid.shape[1]))
        for values in (x, grid, noise):
            put(out, values, np.float32)
        put(out, np.arange(1, len(x) + 1), np.uint32)


def put(out, values, dtype):
    out.write(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).data)


def drive(program, path, out, setting, seed):
    """Plays the file; the model's counters. setting: "default", or options with values, as "optimism=0,policy=squarecb"."""
    words = [] if setting == "default" else setting.split(",")
    options = [part for word in words for part in (["--skyline"] if word == "skyline" else ["--set", word])]
    done = subprocess.run([program, path, out, "--seed", str(seed), *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(done.args)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def played(out, events, arms):
    """(arm that was played, every arm's probability) of every event."""
    with open(out, "rb") as file:
        arm = np.fromfile(file, "<u4", events)
        p = np.fromfile(file, "<f4").reshape(events, arms)
    return arm, p


def probes(out):
    """Both places that were tried, of every event."""
    return np.fromfile(out, "<f4").reshape(-1, 2).astype(np.float64)
