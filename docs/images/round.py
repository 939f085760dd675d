"""Draws one round of a federation: python docs/images/round.py [round.svg]."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

INK, UP, DOWN, PRIVATE, SHARED = "#222222", "#c0392b", "#2471a3", "#ececec", "#fdebd0"
CLIENTS = ("clubs", "employers", "registry")
# 0.3, 0.4 and 0.3, scaled to 1 over the owners of each entity; None: this client does not have the entity.
WEIGHTS = ((0.30, None, 0.43, 0.50), (0.40, 0.57, 0.57, None), (0.30, 0.43, None, 0.50))


def box(axes: Axes, x: float, y: float, width: float, height: float, color: str) -> None:
    """A rounded box with its lower left corner at (x, y)."""
    style = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.12", fc=color, ec=INK, lw=1)
    axes.add_patch(style)


def client(axes: Axes, y: float, name: str) -> None:
    """One data owner: what stays on the left, what travels on the right."""
    box(axes, 0.1, y, 4.9, 1.45, "white")
    axes.text(0.3, y + 1.14, name, weight="bold")
    axes.text(4.85, y + 1.14, "3  fuse, train", ha="right")
    box(axes, 0.3, y + 0.15, 2.35, 0.78, PRIVATE)
    axes.text(1.47, y + 0.54, "triples, relations,\nown entities: stay", ha="center", va="center", size=9)
    box(axes, 2.85, y + 0.15, 2.0, 0.78, SHARED)
    axes.text(3.85, y + 0.54, "rows of shared\nentities", ha="center", va="center", size=9)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    """An arrow from start to end."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color=color, lw=1.5))


def server(axes: Axes) -> None:
    """The server: its steps, and the weights of a few rows."""
    box(axes, 8.6, 0.35, 5.0, 4.8, "white")
    axes.text(8.85, 4.78, "server", weight="bold")
    axes.text(8.85, 4.36, "1  draw participants")
    axes.text(8.85, 3.96, "5  check updates (NaN, Inf, shapes)")
    axes.text(8.85, 3.56, "6  reports → weights, per row and owner")
    for row, (name, weights) in enumerate(zip(CLIENTS, WEIGHTS, strict=True)):
        y = 2.55 - 0.42 * row
        axes.text(10.25, y + 0.21, name, ha="right", va="center", size=9)
        for column, weight in enumerate(weights):
            x = 10.4 + 0.62 * column
            color = "white" if weight is None else matplotlib.colormaps["YlOrBr"](0.6 * weight)
            axes.add_patch(Rectangle((x, y), 0.62, 0.42, fc=color, ec=INK, lw=0.6))
            axes.text(x + 0.31, y + 0.2, "" if weight is None else f"{weight:.2f}", ha="center", va="center", size=8)
    axes.text(11.64, 3.08, "rows (entities)", ha="center", size=9)
    axes.text(8.85, 1.18, "7  weighted sum of the rows")
    axes.text(8.85, 0.78, "8  every n rounds: evaluate all clients")


def draw() -> Figure:
    """The whole picture."""
    figure = Figure(figsize=(10.8, 4.1))
    axes = figure.subplots()
    for place, name in enumerate(CLIENTS):
        y = 3.95 - 1.93 * place
        client(axes, y, name)
        arrow(axes, (8.5, y + 0.85), (5.1, y + 0.85), DOWN)
        arrow(axes, (5.1, y + 0.35), (8.5, y + 0.35), UP)
        if place == 0:
            axes.text(6.8, y + 0.96, "2  rows, share to keep", ha="center", color=DOWN, size=9)
            axes.text(6.8, y - 0.02, "4  rows, loss, size", ha="center", color=UP, size=9)
    server(axes)
    axes.set(xlim=(0, 13.7), ylim=(0, 5.5))
    axes.axis("off")
    return figure


if __name__ == "__main__":
    matplotlib.rcParams.update({"svg.hashsalt": "fedlight", "font.size": 10, "font.family": "DejaVu Sans"})
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("round.svg"))
    metadata = {"Date": None} if target.suffix == ".svg" else None
    draw().savefig(target, bbox_inches="tight", facecolor="white", metadata=metadata, dpi=110)
