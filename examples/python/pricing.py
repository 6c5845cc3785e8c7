"""Finds a price: a model with values, whose loss is the revenue that was missed.

    python3 pricing.py ENDPOINT OFFERS

A model `price` { learner = "value"  features = 1  value_range = { 0, 1 } }. Customers here buy below a limit that
depends on the season; the mean revenue of the first and the last quarter of the offers is printed."""

import random
import sys

import coppice


def main(endpoint: str, offers: int) -> None:
    rng = random.Random(1)
    revenues = []
    with coppice.Client(endpoint) as client:
        for _ in range(offers):
            season = rng.random()
            action = client.decide("price", [season])
            price = action.probe[0]  # the price to ask: y itself is the model's, not to be tried
            revenue = price if price <= 0.4 + 0.4 * season + rng.gauss(0, 0.02) else 0.0
            client.feedback("price", action.id, 1.0 - revenue)
            revenues.append(revenue)
    quarter = max(1, offers // 4)
    print(f"revenue first {sum(revenues[:quarter]) / quarter:.3f} last {sum(revenues[-quarter:]) / quarter:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
