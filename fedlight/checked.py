"""Holds arguments to their annotations, for those who build a class in Python and not on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from types import UnionType
from typing import Any, Literal, ParamSpec, Union, get_args, get_origin, get_type_hints

from fedlight.config_types import in_words
from fedlight.errors import ConfigurationError

P = ParamSpec("P")


def checked(section: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let an ``__init__`` refuse, before it runs, the values that the command line refuses.

    Held are arguments annotated with ``Literal``, one of jsonargparse's restricted numbers or a class of fedlight, also
    beside others.

    Args:
        section: of the configuration, ``model`` for example, for messages.

    Raises:
        ConfigurationError: naming section, argument, value and what it may be.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        signature = inspect.signature(init)

        @wraps(init)
        def holding(*args: P.args, **kwargs: P.kwargs) -> None:
            hints = get_type_hints(init)
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in hints and (fault := _fault(hints[name], value)) is not None:
                    raise ConfigurationError(f"{section}.{name}: {fault}")
            init(*args, **kwargs)

        return holding

    return decorate


def _union_fault(hints: Sequence[Any], value: Any) -> str | None:
    """What the first kind that is held says, where the value is of no kind that could be told apart."""
    kinds = tuple(kind for each in hints if isinstance(kind := get_origin(each) or each, type) and not _is_held(kind))
    if isinstance(value, kinds):
        return None
    faults = [_fault(each, value) for each in hints if _is_held(each)]
    return None if not faults or None in faults else faults[0]


def _is_held(hint: Any) -> bool:
    own = isinstance(hint, type) and hint.__module__.startswith("fedlight.")
    return get_origin(hint) is Literal or hasattr(hint, "_expression") or own


def _fault(hint: Any, value: Any) -> str | None:
    """What is wrong with a value; ``None`` where nothing is, or where the hint is none that is held."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return None if value in choices else f"{value!r} is not one of {', '.join(map(str, choices))}"
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return _union_fault(get_args(hint), value)
    if isinstance(hint, type) and hint.__module__.startswith("fedlight."):
        return None if isinstance(value, hint) else f"{value!r} is no {hint.__name__}"
    expression = getattr(hint, "_expression", None)  # of a restricted number
    if expression is None:
        return None
    if isinstance(value, str):  # which the numbers would read
        return f"{value!r} is no {in_words(hint.__name__)}"
    try:
        hint(value)
    except (TypeError, ValueError) as error:
        outside = "does not conform" in str(error)
        must = expression.replace("v", "")
        return f"{value} is out of range, must be {must}" if outside else f"{value!r} is no {in_words(hint.__name__)}"
    return None
