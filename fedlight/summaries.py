"""Means over clients: weighted by what was scored, and plain."""

from __future__ import annotations

from collections.abc import Mapping

Scores = dict[str, dict[str, float]]
ALL, ALL_MACRO = "all", "all_macro"


def overall(scores: Mapping[str, Mapping[str, float]], sizes: Mapping[str, float]) -> Scores:
    """Add the scopes ``all`` (weighted by ``sizes``) and ``all_macro`` (plain mean) to the clients' scores.

    A metric that a client lacks does not count for that client; a metric that nobody has is absent.
    A client whose size is 0 has no say.

    >>> overall({"a": {"mrr": 0.5}, "b": {"mrr": 0.1}, "c": {}}, {"a": 30, "b": 10, "c": 0})["all"]
    {'mrr': 0.4}
    """
    names = list(dict.fromkeys(metric for values in scores.values() for metric in values))
    weighted: dict[str, float] = {}
    macro: dict[str, float] = {}
    for name in names:
        having = [(values[name], sizes[client]) for client, values in scores.items() if name in values]
        total = sum(size for _, size in having)
        if total > 0:
            weighted[name] = sum(value * size for value, size in having) / total
            macro[name] = sum(value for value, size in having if size > 0) / sum(size > 0 for _, size in having)
    return {ALL: weighted, ALL_MACRO: macro, **{client: dict(values) for client, values in scores.items()}}
