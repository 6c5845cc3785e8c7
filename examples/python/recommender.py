"""Recommends one of a few articles: named features of the visitor and of each candidate, and candidates with names.

    python3 recommender.py ENDPOINT VISITORS

A model `articles` { learner = "rank"  features = 0 }. Readers here like what is about their hobby; the share of clicks
among the first and the last quarter of the visitors is printed."""

import random
import sys

import coppice

HOBBIES = ("football", "cooking", "chess", "music")


def main(endpoint: str, visitors: int) -> None:
    rng = random.Random(1)
    clicks = []
    with coppice.Client(endpoint) as client:
        for _ in range(visitors):
            visitor = {"hobby": rng.choice(HOBBIES), "mobile": rng.random() < 0.5}
            articles = [{"topic": topic, "length": rng.random()} for topic in rng.sample(HOBBIES, 3)]
            titles = [f"All about {article['topic']}" for article in articles]
            candidates = [{"Article": article} for article in articles]
            action = client.rank("articles", {"User": visitor}, candidates, names=titles)
            liked = action.arm == f"All about {visitor['hobby']}"
            clicked = rng.random() < (0.8 if liked else 0.1)
            client.reward("articles", action.id, 1.0 if clicked else 0.0)
            clicks.append(clicked)
    quarter = max(1, visitors // 4)
    print(f"clicks first {sum(clicks[:quarter]) / quarter:.3f} last {sum(clicks[-quarter:]) / quarter:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
