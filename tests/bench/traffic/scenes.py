"""The scenes: made-up traffic whose truth is known.

A scene is a function of a generator and a number of events; its text is its formula. What it returns holds, for every
event, the context, the expected loss of every arm under the truth, and a loss of every arm that was drawn from that
truth, so that all policies meet the same events. Losses are in [0, 1]; a click is a loss of 0. When feedback comes,
what is missing and which arms there are is of the scene alone, the same for all its seeds.

N(0, 1) and U(0, 1) are draws of their own for every event; theta, w are drawn once for a seed. sigma is the logistic
function. "told" losses are 0 or 1 with the expected loss as probability, unless the scene says otherwise.
"""
import math
import zlib
from dataclasses import dataclass, field

import numpy as np

NEVER = np.iinfo(np.uint32).max


@dataclass
class Events:
    """One seed's events. loss and mean: events x arms. Sparse scenes: name has the places in `names` of each event's
    entries, whose values are 1. Scenes of items: candidate says which items the arms of an event are."""
    mean: np.ndarray
    loss: np.ndarray
    x: np.ndarray = None
    name: np.ndarray = None
    names: list = None
    candidate: np.ndarray = None
    item: np.ndarray = None

    @property
    def best(self):
        return self.mean.min(axis=1)


@dataclass
class Scene:
    name: str
    group: str
    events: int
    seeds: int
    make: object
    delay: object = None      # (generator, events) -> events that feedback is late, at least 1; 0: it never comes
    eligible: object = None   # events -> flags, events x arms
    window: int = 0           # conversions: losses of 1 are known only when so many events are over
    half: str = ""
    formula: str = field(default="", repr=False)

    def seed(self, seed, events=None):
        """The events of one seed."""
        return self.make(np.random.default_rng([zlib.crc32(self.name.encode()), seed]), events or self.events)

    def due(self, events=None):
        """Before which event the feedback of each comes; NEVER."""
        n = events or self.events
        if self.delay is None:
            return np.arange(1, n + 1, dtype=np.uint32)
        late = self.delay(np.random.default_rng([zlib.crc32(self.name.encode()), 1 << 20]), n)
        return np.where(late > 0, np.minimum(np.arange(n) + late, NEVER - 1), NEVER).astype(np.uint32)

    def mask(self, events=None):
        return None if self.eligible is None else self.eligible(events or self.events).astype(np.uint8)


SCENES = {}


def scene(group, events, seeds=20, **more):
    def keep(make):
        name = make.__name__.replace("_", "-")
        half = ("tune", "report")[len(SCENES) % 2]
        SCENES[name] = Scene(name, group, events, seeds, make, half=half, formula=" ".join(make.__doc__.split()), **more)
        return make
    return keep


# ---- what scenes share ----

def sigma(z):
    return 1 / (1 + np.exp(-z))


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def zero_or_one(rng, mean):
    """1 with the probability that mean says."""
    return (rng.random(mean.shape, dtype=np.float32) < mean).astype(np.float32)


def about(rng, mean, width):
    """Even on mean +- width, where that is within [0, 1]; else as wide as leaves the mean where it is."""
    width = np.minimum(width, np.minimum(mean, 1 - mean))
    return (mean + width * rng.uniform(-1, 1, mean.shape)).astype(np.float32)


def fixed(rng, n, losses, features):
    """Arms whose losses do not depend on the context, which is noise."""
    mean = np.tile(np.asarray(losses, dtype=np.float32), (n, 1))
    return Events(mean, zero_or_one(rng, mean), normal(rng, n, features))


def weights(rng, arms, features):
    """One vector for each arm, so that their products with N(0, I) have a variance near 1."""
    return (rng.standard_normal((arms, features)) / math.sqrt(features)).astype(np.float32)


def linear_means(x, theta):
    return np.clip(0.5 + 0.3 * (x @ theta.T), 0, 1)


def linear(rng, n, arms=5, features=10, width=0.2):
    x = normal(rng, n, features)
    mean = linear_means(x, weights(rng, arms, features))
    return Events(mean, about(rng, mean, width), x)


def clicks(rng, n, arms, features, most, slope=2.0):
    x = normal(rng, n, features)
    mean = (1 - most * sigma(slope * (x @ weights(rng, arms, features).T))).astype(np.float32)
    return Events(mean, zero_or_one(rng, mean), x)


# ---- tests: the arms differ, the context does not matter ----

@scene("tests", 20000)
def ab_small(rng, n):
    """Two arms, clicks of 1 % and 2 %. 20 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.99, 0.98], 20)


@scene("tests", 300000)
def ab_long(rng, n):
    """Two arms, clicks of 1.0 % and 1.5 %. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.99, 0.985], 5)


@scene("tests", 50000)
def five_small(rng, n):
    """Five arms, clicks of 3 % but for one of 4 %. 10 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.97, 0.97, 0.97, 0.96, 0.97], 10)


@scene("tests", 20000)
def ab_constant(rng, n):
    """Two arms, clicks of 5 % and 7 %. One feature, which is always 1."""
    e = fixed(rng, n, [0.93, 0.95], 1)
    e.x[:] = 1
    return e


@scene("tests", 200, 1000)
def short_ab(rng, n):
    """200 events, two arms of losses .7 and .5. 2 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.7, 0.5], 2)


# ---- gaps about one half ----

@scene("gaps", 10000)
def gap_five_hundredths(rng, n):
    """Four arms of losses .45, .5, .5, .5. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.45, 0.5, 0.5, 0.5], 5)


@scene("gaps", 50000)
def gap_two_hundredths(rng, n):
    """Two arms of losses .49 and .51. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.51, 0.49], 5)


@scene("gaps", 10000)
def gap_tenth(rng, n):
    """Three arms of losses .5, .4, .5. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.5, 0.4, 0.5], 5)


@scene("gaps", 5000)
def gap_four_tenths(rng, n):
    """Two arms of losses .3 and .7. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.7, 0.3], 5)


@scene("gaps", 20000)
def gap_ladder(rng, n):
    """Ten arms of losses .42, .44, ... .60, in an order of the seed. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, rng.permutation(0.42 + 0.02 * np.arange(10)), 5)


# ---- clicks that depend on the context ----

@scene("clicks", 50000)
def click_dense(rng, n):
    """Ten arms, clicks of 3 % sigma(2 x.theta_k); 10 features N(0, 1), theta_k N(0, I / 10)."""
    return clicks(rng, n, 10, 10, 0.03)


NAMES = [("city", 20), ("device", 4), ("browser", 5), ("hour", 24), ("plan", 3)]


@scene("clicks", 40000)
def click_names(rng, n):
    """Six arms, clicks of 10 % sigma(s_k - 1), s_k the sum over five named features, each one of 20, 4, 5, 24, 3 values
    even at random, of w N(0, .8^2) for every value and arm. Contexts are sparse."""
    name, first, score = [], 0, -1.0
    for _, count in NAMES:
        value = rng.integers(0, count, n)
        score = score + (0.8 * rng.standard_normal((count, 6)))[value]
        name.append(value + first)
        first += count
    mean = (1 - 0.1 * sigma(score)).astype(np.float32)
    names = [f"{kind}={value}" for kind, count in NAMES for value in range(count)]
    return Events(mean, zero_or_one(rng, mean), name=np.stack(name, 1).astype(np.uint32), names=names)


@scene("clicks", 20000)
def click_items(rng, n):
    """Users by items, for learner rank: 10 of 200 items to choose from, clicks of 20 % sigma(2 u'M c + b - 1); u and c 4
    features N(0, 1) of the user and of the item, M N(0, 1 / 16), b N(0, .5^2) of the item, which features do not say."""
    item = normal(rng, 200, 4)
    bias = 0.5 * rng.standard_normal(200)
    mixing = rng.standard_normal((4, 4)) / 4
    user = normal(rng, n, 4)
    candidate = np.argsort(rng.random((n, 200)), axis=1)[:, :10].astype(np.uint32)
    score = np.einsum("nd,nkd->nk", user @ mixing, item[candidate])
    mean = (1 - 0.2 * sigma(2 * score + bias[candidate] - 1)).astype(np.float32)
    return Events(mean, zero_or_one(rng, mean), user, candidate=candidate, item=item)


@scene("clicks", 20000)
def click_two_features(rng, n):
    """Three arms, clicks of 30 % sigma(2 x.theta_k); 2 features N(0, 1), theta_k N(0, I / 2)."""
    return clicks(rng, n, 3, 2, 0.3)


@scene("clicks", 30000)
def click_wide(rng, n):
    """Four arms, clicks of 10 % sigma(2 x.theta_k); 60 features N(0, 1), theta_k N(0, I / 60)."""
    return clicks(rng, n, 4, 60, 0.1)


# ---- rare rewards ----

@scene("rare", 100000)
def rare_rewards(rng, n):
    """Four arms, clicks of .1 % but for one of .4 %. 5 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.999, 0.999, 0.996, 0.999], 5)


@scene("rare", 100000)
def rare_context(rng, n):
    """Four arms, clicks of 1 % sigma(2 x.theta_k); 5 features N(0, 1), theta_k N(0, I / 5)."""
    return clicks(rng, n, 4, 5, 0.01)


# ---- many arms ----

@scene("arms", 20000)
def arms_100(rng, n):
    """100 arms, losses drawn even on [.3, .8] once for a seed. 2 features N(0, 1) that say nothing."""
    return fixed(rng, n, rng.uniform(0.3, 0.8, 100), 2)


@scene("arms", 10000)
def arms_500(rng, n):
    """500 arms of loss .5 but for one, at random, of .1; told even on [0, 1], and [0, .2]. 2 features N(0, 1) that say
    nothing."""
    mean = np.full((n, 500), 0.5, np.float32)
    mean[:, rng.integers(500)] = 0.1
    return Events(mean, about(rng, mean, 0.5), normal(rng, n, 2))


@scene("arms", 10000)
def arms_1000(rng, n):
    """1,000 arms of loss .5 but for 50, at random, of .1. 2 features N(0, 1) that say nothing."""
    losses = np.full(1000, 0.5)
    losses[rng.permutation(1000)[:50]] = 0.1
    return fixed(rng, n, losses, 2)


@scene("arms", 20000)
def arms_50_linear(rng, n):
    """50 arms, expected losses .5 + .3 x.theta_k cut to [0, 1]; 5 features N(0, 1), theta_k N(0, I / 5); told within .2
    of what is expected."""
    return linear(rng, n, 50, 5)


# ---- arms that come and go ----

def turnover(n):
    """Twenty arms, six at a time; every twentieth of the stream the oldest one goes and a new one comes, at last the first
    ones again."""
    block = np.arange(n) * 20 // n
    return ((np.arange(20)[None, :] - block[:, None]) % 20) < 6


def half_of_ten(n):
    """Each of ten arms is there in half of the events; the first one there always."""
    flags = np.random.default_rng(10).random((n, 10)) < 0.5
    flags[:, 0] = True
    return flags


@scene("coming", 20000, eligible=turnover)
def turnover_fixed(rng, n):
    """Twenty arms of losses even on [.3, .8]; six are there at a time, and 20 times the oldest goes and another comes. 3
    features N(0, 1) that say nothing."""
    return fixed(rng, n, rng.uniform(0.3, 0.8, 20), 3)


@scene("coming", 20000, eligible=turnover)
def turnover_linear(rng, n):
    """Twenty arms, six at a time as before, expected losses .5 + .3 x.theta_k cut to [0, 1]; 5 features N(0, 1), theta_k
    N(0, I / 5); told within .2 of what is expected."""
    return linear(rng, n, 20, 5)


@scene("coming", 20000, eligible=half_of_ten)
def subsets(rng, n):
    """Ten arms, each but the first there in half of the events at random; expected losses .5 + .3 x.theta_k cut to [0, 1];
    8 features N(0, 1), theta_k N(0, I / 8); told within .2 of what is expected."""
    return linear(rng, n, 10, 8)


# ---- feedback that is late, missing, in batches ----

@scene("late", 10000, delay=lambda rng, n: np.full(n, 500))
def late_fixed(rng, n):
    """Five arms, expected losses .5 + .3 x.theta_k cut to [0, 1]; 10 features N(0, 1), theta_k N(0, I / 10); told within
    .2 of what is expected, 500 events late."""
    return linear(rng, n)


@scene("late", 30000, delay=lambda rng, n: rng.integers(1, 10001, n))
def late_even(rng, n):
    """The same five arms, 30,000 events; feedback is late by a number of events even on 1 to 10,000."""
    return linear(rng, n)


@scene("late", 20000, delay=lambda rng, n: np.ceil(50 / rng.random(n) ** (1 / 0.8)).astype(np.int64))
def late_heavy(rng, n):
    """Ten arms of losses .3, .35, ... .75; feedback is late by 50 / U^(1 / .8) events (Pareto, no mean). 5 features N(0,
    1) that say nothing."""
    return fixed(rng, n, rng.permutation(0.3 + 0.05 * np.arange(10)), 5)


@scene("late", 50000, delay=lambda rng, n: np.ceil(rng.exponential(2000, n)).astype(np.int64), window=6000)
def conversions(rng, n):
    """Five arms, conversions of 8 % sigma(2 x.theta_k); 5 features N(0, 1), theta_k N(0, I / 5). A conversion is told
    after a time that is exponential with a mean of 2,000 events; what has not converted is a loss of 1 after 6,000
    events, and a conversion after that comes too late."""
    return clicks(rng, n, 5, 5, 0.08)


@scene("late", 40000, delay=lambda rng, n: np.ceil(rng.exponential(500, n)).astype(np.int64), window=3000)
def conversions_test(rng, n):
    """Three arms of conversions of 1, 1 and 2 %, told after a time that is exponential with a mean of 500 events, and
    taken for none after 3,000. 10 features N(0, 1) that say nothing."""
    return fixed(rng, n, [0.99, 0.98, 0.99], 10)


@scene("late", 20000, delay=lambda rng, n: (rng.random(n) < 0.3).astype(np.int64))
def missing(rng, n):
    """Five arms, expected losses as in late-fixed; of 70 % of the decisions, at random, nothing is ever told."""
    return linear(rng, n)


@scene("late", 20000, delay=lambda rng, n: 1000 - np.arange(n) % 1000)
def batches(rng, n):
    """Five arms, expected losses as in late-fixed; feedback comes in batches, after every thousandth event."""
    return linear(rng, n)


# ---- drift ----

@scene("drift", 30000)
def drift_sudden(rng, n):
    """Five arms, expected losses as in late-fixed; theta is drawn anew after each third of the stream."""
    x = normal(rng, n, 10)
    third = np.arange(n) * 3 // n
    mean = np.empty((n, 5), np.float32)
    for k in range(3):
        mean[third == k] = linear_means(x[third == k], weights(rng, 5, 10))
    return Events(mean, about(rng, mean, 0.2), x)


@scene("drift", 30000)
def drift_slow(rng, n):
    """Five arms, expected losses as in late-fixed with theta(t) = cos(phi) theta_a + sin(phi) theta_b, phi from 0 to pi
    over the stream: at its end every weight has turned round."""
    x, phi = normal(rng, n, 10), np.linspace(0, np.pi, n)[:, None]
    a, b = x @ weights(rng, 5, 10).T, x @ weights(rng, 5, 10).T
    mean = np.clip(0.5 + 0.3 * (np.cos(phi) * a + np.sin(phi) * b), 0, 1).astype(np.float32)
    return Events(mean, about(rng, mean, 0.2), x)


@scene("drift", 30000)
def drift_season(rng, n):
    """Four arms of losses .5 + .2 cos(2 pi (t / 6000 + k / 4)): each is the best for a quarter of a season of 6,000
    events, which no feature says. 3 features N(0, 1)."""
    turn = np.arange(n)[:, None] / 6000 + np.arange(4)[None, :] / 4
    mean = (0.5 + 0.2 * np.cos(2 * np.pi * turn)).astype(np.float32)
    return Events(mean, zero_or_one(rng, mean), normal(rng, n, 3))


# ---- dirty rows, heavy tails, shapes ----

@scene("dirty", 20000)
def dirty_rows(rng, n):
    """Five arms, expected losses as in late-fixed, but the model is shown rows of which 2 % have one feature 10^3 to 10^6
    times too large, and features whose units are 10^-3, 10^-2, ... 10^3."""
    e = linear(rng, n)
    units = 10.0 ** np.array([-3, -2, -1, 0, 0, 0, 0, 1, 2, 3])
    shown = (e.x * units).astype(np.float32)
    bad = np.flatnonzero(rng.random(n) < 0.02)
    shown[bad, rng.integers(0, 10, len(bad))] *= (10.0 ** rng.uniform(3, 6, len(bad))).astype(np.float32)
    e.x = shown
    return e


@scene("dirty", 20000)
def dirty_outliers(rng, n):
    """Five arms, expected losses as in late-fixed; of the rows that the model is shown 2 % have one feature 10^3 to 10^6
    times too large."""
    e = linear(rng, n)
    bad = np.flatnonzero(rng.random(n) < 0.02)
    shown = e.x.copy()
    shown[bad, rng.integers(0, 10, len(bad))] *= (10.0 ** rng.uniform(3, 6, len(bad))).astype(np.float32)
    e.x = shown
    return e


@scene("tails", 50000)
def revenue(rng, n):
    """Four arms. A purchase, of 4 % but for one arm's 6 %, is worth min(100, U^(-1 / 1.2)) (Pareto), so 4.01 on average; the
    loss is 1 - worth / 100. 5 features N(0, 1) that say nothing."""
    worth = 1 + (1 - 100 ** -0.2) / 0.2
    rate = np.array([0.04, 0.04, 0.06, 0.04])
    mean = np.tile((1 - rate * worth / 100).astype(np.float32), (n, 1))
    value = np.minimum(100, rng.random((n, 4)) ** (-1 / 1.2))
    loss = 1 - np.where(rng.random((n, 4)) < rate, value, 0) / 100
    return Events(mean, loss.astype(np.float32), normal(rng, n, 5))


@scene("tails", 20000)
def latency(rng, n):
    """Five arms, losses min(1, exp(mu_k + 1.2 N(0, 1))), mu_k = ln .08 + .5 x.theta_k; 5 features N(0, 1), theta_k N(0, I /
    5). Expected: exp(mu + s^2 / 2) Phi(-mu / s - s) + Phi(mu / s), s = 1.2."""
    x, s = normal(rng, n, 5), 1.2
    mu = math.log(0.08) + 0.5 * (x @ weights(rng, 5, 5).T).astype(np.float64)
    phi = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))
    mean = np.exp(mu + s * s / 2) * phi(-mu / s - s) + phi(mu / s)
    loss = np.minimum(1, np.exp(mu + s * rng.standard_normal(mu.shape)))
    return Events(mean.astype(np.float32), loss.astype(np.float32), x)


@scene("shapes", 10000)
def linear_plain(rng, n):
    """Five arms, expected losses as in late-fixed; told within .2 of what is expected, at once."""
    return linear(rng, n)


@scene("shapes", 20000)
def signs(rng, n):
    """Four arms; arm 2 [x_1 > 0] + [x_2 > 0] has loss .2, the others .6; 5 features N(0, 1). No linear model says which."""
    x = normal(rng, n, 5)
    mean = np.full((n, 4), 0.6, np.float32)
    mean[np.arange(n), 2 * (x[:, 0] > 0) + (x[:, 1] > 0)] = 0.2
    return Events(mean, zero_or_one(rng, mean), x)


@scene("shapes", 20000)
def products(rng, n):
    """Two arms of losses .5 +- .3 sign(x_1 x_2); 5 features N(0, 1)."""
    x = normal(rng, n, 5)
    side = 0.3 * np.sign(x[:, 0] * x[:, 1])
    mean = np.stack([0.5 + side, 0.5 - side], axis=1).astype(np.float32)
    return Events(mean, zero_or_one(rng, mean), x)


# ---- the length of streams ----

@scene("length", 200, 100)
def short_linear(rng, n):
    """200 events of three arms, expected losses .5 + .3 x.theta_k cut to [0, 1]; 5 features N(0, 1), theta_k N(0, I / 5);
    told within .2 of what is expected."""
    return linear(rng, n, 3, 5)


@scene("length", 1000000)
def long_clicks(rng, n):
    """A million events of three arms, clicks of 5 % sigma(2 x.theta_k); 4 features N(0, 1), theta_k N(0, I / 4)."""
    return clicks(rng, n, 3, 4, 0.05)
