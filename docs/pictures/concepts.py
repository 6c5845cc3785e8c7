#!/usr/bin/env python3
"""Draws the pictures of docs/concepts: docs/pictures/concepts.py [--check]

Writes propensity.svg, reward-window.svg, mixture.svg and refit-life.svg beside this file; with --check it only says, by
its exit status, whether they are as it would draw them.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
STYLE = """<style>
  text { font: 14px sans-serif; fill: #222; dominant-baseline: central }
  .small { font-size: 12px; fill: #666 }
  .strong { font-weight: bold }
  .middle { text-anchor: middle }
  .box { fill: #eef3ea; stroke: #5a7d4a }
  .other { fill: #f4f1e8; stroke: #a08c55 }
  .bar { fill: #8fb27c }
  .chosen { fill: #d08b3a }
  .line { fill: none; stroke: #777; stroke-width: 1.4 }
  .window { stroke: #5a7d4a; stroke-width: 7; opacity: .35 }
  .dashed { stroke-dasharray: 5 4 }
  .tip { marker-end: url(#tip) }
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>
<rect width="100%" height="100%" fill="#fff"/>"""


class Picture:
    def __init__(self, width, height, title):
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
                    f"<title>{escape(title)}</title>", STYLE]  # fmt: skip

    def text(self, x, y, text, kind=""):
        self.out.append(f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>')

    def rect(self, x, y, width, height, kind):
        self.out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" class="{kind}"/>')

    def box(self, x, y, width, lines, kind="box"):
        """Centred lines, the first one strong; returns its height."""
        height = 14 + 20 * len(lines)
        self.rect(x, y, width, height, kind)
        for i, line in enumerate(lines):
            self.text(x + width / 2, y + 17 + 20 * i, line, "middle strong" if i == 0 else "middle small")
        return height

    def line(self, points, kind="line"):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        self.out.append(f'<path d="{path}" class="{kind}"/>')

    def arrow(self, *points, kind="line tip"):
        self.line(points, kind)

    def dot(self, x, y, kind):
        self.out.append(f'<circle cx="{x}" cy="{y}" r="6" class="{kind}"/>')

    def svg(self):
        return "\n".join([*self.out, "</svg>", ""])


def propensity():
    p = Picture(900, 330, "One decision: probabilities, the draw, and the line of the log with its propensity")
    p.box(10, 70, 150, ["context", "evening, on a phone"])
    p.arrow((160, 97), (200, 97))
    p.text(205, 24, "probabilities of the policy", "strong")
    for i, (name, share) in enumerate((("news", 0.70), ("sport", 0.25), ("recipes", 0.05))):
        y = 50 + 34 * i
        p.text(208, y + 11, name)
        p.rect(270, y, 220 * share, 22, "chosen" if name == "sport" else "bar")
        p.text(276 + 220 * share, y + 11, f"{share:.2f}")
    p.arrow((500, 97), (560, 97))
    p.text(530, 82, "draw", "middle small")
    p.box(565, 62, 320, ["the log keeps", "action = sport   propensity = 0.25   loss = 0"], "other")
    p.line(((10, 170), (890, 170)), "line dashed")
    p.text(10, 194, "What would “always sport” have lost?  A hundred such visits:", "strong")
    for i in range(100):
        kind = "chosen" if i % 4 == 1 else "bar"
        p.rect(10 + 8.8 * i, 212, 6.5, 22, kind)
    p.text(10, 256, "Only the 25 coloured ones saw sport. Each of them stands for 1 / 0.25 = 4 visits: together for all hundred.")
    p.text(10, 282, "Without the propensity nobody knows for how many visits one that saw sport stands. The rare one-in-twenty of", "small")
    p.text(10, 300, "recipes would count twenty-fold: that is why every arm keeps a least propensity.", "small")
    return p.svg()


def reward_window():
    p = Picture(900, 330, "Three decisions and their reward windows")
    left, minute = 150, 60
    rows = (
        ("u1-17", 0, 3.5, "clicked: loss 0", "learned when the feedback comes", "bar"),
        ("u2-4", 1.5, None, "no feedback", "learned as default_loss when the window ends", "chosen"),
        ("u3-9", 0.5, 10.9, "clicked, too late", "late: counted, not learned", "other"),
    )
    for i, (name, start, told, what, then, kind) in enumerate(rows):
        y = 60 + 85 * i
        x = left + start * minute
        end = x + 8 * minute
        p.text(10, y, f"decision {name}", "strong")
        p.line(((x, y), (end, y)), "window")
        p.dot(x, y, "box")
        p.text(x, y - 20, "decided", "middle small")
        p.line(((end, y - 12), (end, y + 12)))
        p.text(end, y - 20, "window ends", "middle small")
        at = end if told is None else x + told * minute
        if told is not None:
            p.dot(at, y, kind)
        p.text(min(at, 790), y + 22, what, "middle")
        p.text(min(at, 760), y + 40, then, "middle small")
    p.arrow((left, 310), (880, 310))
    p.text(10, 310, "time", "small")
    return p.svg()


def mixture():
    p = Picture(900, 400, "The default learner: experts, their weights, the policy, and the way of a loss")
    p.box(10, 170, 120, ["context", "features"])
    experts = (
        ("average", "of each arm"),
        ("linear", "in the features"),
        ("quadratic", "products of two features"),
        ("trees", "oblique, by gradients"),
        ("forest", "grows where losses differ"),
    )
    for i, (name, what) in enumerate(experts):
        y = 20 + 72 * i
        p.box(190, y, 190, [name, what])
        p.arrow((130, 197), (160, 197), (160, y + 27), (188, y + 27))
        p.arrow((380, y + 27), (420, y + 27), (420, 197), (448, 197))
    p.box(450, 160, 150, ["one prediction", "for each arm:", "weighted by what each", "expert has been worth"])
    p.arrow((600, 200), (648, 200))
    p.box(650, 170, 110, ["policy", "probabilities"])
    p.arrow((760, 197), (798, 197))
    p.box(800, 170, 90, ["action", "and its p"], "other")
    p.arrow((845, 224), (845, 380), (285, 380), (285, 366), kind="line tip dashed")
    p.arrow((525, 380), (525, 256), kind="line tip dashed")
    p.text(700, 366, "the loss comes: experts and weights learn", "middle small")
    return p.svg()


def refit_life():
    p = Picture(900, 330, "The life of a refit: from the journal to the serving model, or away")
    p.box(10, 40, 160, ["serving model", "decides, and learns", "from each loss"])
    p.arrow((90, 114), (90, 168))
    p.text(100, 140, "records", "small")
    p.box(10, 170, 160, ["journal", "contexts, actions,", "propensities, losses"], "other")
    p.arrow((170, 207), (228, 207))
    p.box(230, 170, 170, ["refit", "a process of its own", "fits whole trees"])
    p.arrow((400, 207), (458, 207))
    p.box(460, 170, 210, ["challenger", "in the shadow: learns along,", "decides nothing, is judged"])
    p.arrow((500, 170), (500, 77), (172, 77))
    p.text(190, 97, "better, by evidence that holds however", "small")
    p.text(190, 115, "often one looks: it takes over", "small")
    p.arrow((670, 207), (728, 207))
    p.box(730, 170, 150, ["goes", "neither better nor", "worse for long"], "other")
    p.arrow((20, 40), (20, 14), (630, 14), (630, 168), kind="line tip dashed")
    p.text(190, 30, "what served before is the challenger now, and may come back", "small")
    p.text(10, 290, "The loop never waits for any of this: the fit runs in another process, with a bounded share of one processor.", "small")
    return p.svg()


PICTURES = {"propensity": propensity, "reward-window": reward_window, "mixture": mixture, "refit-life": refit_life}


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    differ = []
    for name, draw in PICTURES.items():
        path = HERE / f"{name}.svg"
        if arguments and (not path.exists() or path.read_text() != draw()):
            differ.append(path.name)
        elif not arguments:
            path.write_text(draw())
    if differ:
        sys.exit(f"{', '.join(differ)}: not as docs/pictures/concepts.py draws them")


if __name__ == "__main__":
    main(sys.argv[1:])
