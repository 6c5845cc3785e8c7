"""A pipeline on streams: contexts are published in arrays, actions played as they come, losses published back.

    python3 pipeline.py CONTEXTS FEEDBACK ACTIONS COUNT

The three endpoints are coppiced's contexts_bind, feedback_bind and actions_bind; a model `m` { arms = 3  features = 2 }.
Prints how many actions came."""

import random
import sys

import coppice

ARRAY = 20


def main(contexts_at: str, feedback_at: str, actions_at: str, count: int) -> None:
    rng = random.Random(1)
    played = 0
    with coppice.Publisher(contexts_at, "m", name="pipeline") as contexts, coppice.Publisher(
        feedback_at, "m", name="pipeline-feedback"
    ) as feedback, coppice.Actions(actions_at, "m") as actions:
        for start in range(0, count, ARRAY):
            ids = range(start, min(start + ARRAY, count))
            seen = {id: [rng.random(), rng.random()] for id in ids}
            contexts.contexts({"id": id, "x": x} for id, x in seen.items())
            while seen:
                message = actions.receive(timeout=60)
                best = [(action, 0 if seen.pop(action.id)[0] < 0.5 else 2) for _, action in message]
                feedback.feedbacks({"id": action.id, "loss": float(action.a != arm)} for action, arm in best)
                played += len(best)
    print(f"{played} actions")


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
