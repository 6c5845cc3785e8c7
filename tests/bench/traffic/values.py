"""Continuous actions: scenes for learner value, a context and a place y in [0, 1] to choose.

What is told is the expected loss, or the one that the customer of the event makes, and noise even on +-.1 for each probe.
5 features N(0, 1), theta N(0, I / 5), 20,000 events. Both probes of an event meet the same customer.
"""
import os
import zlib
from dataclasses import dataclass

import numpy as np

import stream
from scenes import sigma

PLACES = 201
EVENTS = 20000
ARMS = 20


@dataclass
class Values:
    """x; expected loss and the one before noise, at even places of [0, 1], events x places."""
    x: np.ndarray
    mean: np.ndarray
    told: np.ndarray


SCENES = {}


def scene(make):
    SCENES[make.__name__.replace("_", "-")] = make
    return make


def pull(rng, x):
    """x.theta, N(0, 1)."""
    return (x @ (rng.standard_normal(x.shape[1]) / np.sqrt(x.shape[1])))[:, None]


def well(y, at, width):
    return np.exp(-(((y - at) / width) ** 2))


@scene
def quadratic(rng, x, y):
    """4 (y - y*)^2 with y* = .5 + .25 tanh(x.theta)."""
    return 4 * (y - 0.5 - 0.25 * np.tanh(pull(rng, x))) ** 2


@scene
def absolute(rng, x, y):
    """|y - y*| with y* = .5 + .25 tanh(x.theta)."""
    return np.abs(y - 0.5 - 0.25 * np.tanh(pull(rng, x)))


@scene
def newsvendor(rng, x, y):
    """.9 (D - y) where demand D is above y, else .3 (y - D); D even on .5 + .2 tanh(x.theta) +- .25."""
    middle, half = 0.5 + 0.2 * np.tanh(pull(rng, x)), 0.25
    above = np.clip(middle + half - y, 0, 2 * half)  # how far demand may lie above y
    short = above ** 2 / (4 * half) + np.maximum(middle - half - y, 0)
    mean = 0.9 * short + 0.3 * (short - (middle - y))
    demand = middle + rng.uniform(-half, half, middle.shape)
    return mean, np.where(demand > y, 0.9 * (demand - y), 0.3 * (y - demand))


@scene
def pricing(rng, x, y):
    """A price y is paid with probability sigma((v - y) / .08), v = .6 + .15 tanh(x.theta); the loss is 1 - y if it is, else
    1."""
    value = 0.6 + 0.15 * np.tanh(pull(rng, x))
    chance = sigma((value - y) / 0.08)
    return 1 - y * chance, 1 - y * (rng.random(value.shape) < chance)


@scene
def step(rng, x, y):
    """.2 where |y - y*| < .15, else .8, y* = .5 + .25 tanh(x.theta)."""
    return np.where(np.abs(y - 0.5 - 0.25 * np.tanh(pull(rng, x))) < 0.15, 0.2, 0.8)


@scene
def constant_optimum(rng, x, y):
    """4 (y - .7)^2, whatever the context."""
    return np.broadcast_to(4 * (y - 0.7) ** 2, (len(x), y.shape[1]))


@scene
def bimodal(rng, x, y):
    """.9 - .4 exp(-((y - .25) / .1)^2) - .8 exp(-((y - .8) / .1)^2): two wells, whatever the context."""
    return np.broadcast_to(0.9 - 0.4 * well(y, 0.25, 0.1) - 0.8 * well(y, 0.8, 0.1), (len(x), y.shape[1]))


@scene
def context_picks_the_well(rng, x, y):
    """.9 - .8 exp(-((y - a) / .1)^2) - .4 exp(-((y - b) / .1)^2): the deeper well a is .25 where x_1 > 0, else .75, and b the
    other."""
    deep = np.where(x[:, :1] > 0, 0.25, 0.75)
    return 0.9 - 0.8 * well(y, deep, 0.1) - 0.4 * well(y, 1 - deep, 0.1)


@scene
def narrow_well(rng, x, y):
    """.9 - .8 exp(-((y - .35) / .05)^2), whatever the context."""
    return np.broadcast_to(0.9 - 0.8 * well(y, 0.35, 0.05), (len(x), y.shape[1]))


def make(name, seed, events=EVENTS):
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    x = rng.standard_normal((events, 5), dtype=np.float32)
    made = SCENES[name](rng, x, np.linspace(0, 1, PLACES)[None, :])
    mean, told = made if isinstance(made, tuple) else (made, made)
    return Values(x, np.asarray(mean, np.float32), np.asarray(told, np.float32))


def at(losses, y):
    """Losses at places y, one an event, between the places there are."""
    place = y * (PLACES - 1)
    low = np.minimum(place.astype(np.int64), PLACES - 2)
    rows = np.arange(len(losses))
    return losses[rows, low] + (place - low) * (losses[rows, low + 1] - losses[rows, low])


def last_fifth(regret):
    return float(regret[-(len(regret) // 5):].mean())


def play(drive, work, name, seed, settings, events=EVENTS):
    """{setting: regret of the last fifth}: learner value with each of the settings, "uniform", and "arms", the default
    ensemble with 20 arms at (k + 1/2) / 20."""
    scene_, rng = make(name, seed, events), np.random.default_rng([1, zlib.crc32(name.encode()), seed])
    noise = rng.uniform(-0.1, 0.1, (events, 2))
    best = scene_.mean.min(axis=1)
    path = os.path.join(work, f"values-{name}-{seed}.stream")
    regrets = {"uniform": last_fifth(scene_.mean.mean(axis=1) - best)}
    stream.write_values(path, scene_.x, scene_.told, noise)
    for setting in settings:
        stream.drive(drive, path, path + ".out", setting, seed)
        y = stream.probes(path + ".out")
        regrets[setting] = last_fifth((at(scene_.mean, y[:, 0]) + at(scene_.mean, y[:, 1])) / 2 - best)
    regrets["arms"] = play_arms(drive, path, scene_, noise[:, :1], seed) - last_fifth(best)
    os.remove(path)
    os.remove(path + ".out")
    return regrets


def play_arms(drive, path, scene_, noise, seed):
    places = np.broadcast_to((np.arange(ARMS) + 0.5) / ARMS, (len(noise), ARMS))
    mean = np.stack([at(scene_.mean, places[:, k]) for k in range(ARMS)], axis=1)
    told = np.stack([at(scene_.told, places[:, k]) for k in range(ARMS)], axis=1)
    with open(path, "wb") as out:
        out.write(stream.header(stream.ARMS, len(mean), ARMS, features=scene_.x.shape[1]))
        for values in (scene_.x, np.clip(told + noise, 0, 1)):
            stream.put(out, values, np.float32)
        stream.put(out, np.arange(1, len(mean) + 1), np.uint32)
    stream.drive(drive, path, path + ".out", "default", seed)
    p = stream.played(path + ".out", *mean.shape)[1]
    return last_fifth(np.einsum("nk,nk->n", p, mean, dtype=np.float64))
