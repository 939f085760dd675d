"""The concrete classes of a package, for tests that a table of cases is complete."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def concrete_classes(package: ModuleType, base: type[T]) -> set[type[T]]:
    """Classes under ``base`` that can be built, defined in any module of ``package``."""
    names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    found = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    return {cls for cls in found if issubclass(cls, base) and not inspect.isabstract(cls)}
