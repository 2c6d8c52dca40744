"""Methods that stand in modules of their own, which are loaded when one of them is first used.

``(norms,) = methods_of("clifford_rand.functions", "norms")``, and in a class ``norm = norms.norm``: at its first use
the method becomes the function itself, as if the class had been written with it. The import takes half as long.
"""

import importlib
from types import FunctionType
from typing import Any


def name_methods(owner: type) -> None:
    """Give functions of modules the names that they have as methods of a class."""
    names: dict[FunctionType, list[str]] = {}
    for name, function in vars(owner).items():
        if isinstance(function, FunctionType):
            names.setdefault(function, []).append(name)
    for function, held in names.items():
        _name(function, owner, held)


def _name(function: FunctionType, owner: type, names: list[str]) -> FunctionType:
    """Let a function with another name call itself as the method that it is: in errors, in help, and to pickle."""
    if function.__name__ not in names:
        function.__name__, function.__qualname__ = names[0], f"{owner.__name__}.{names[0]}"
        function.__module__ = owner.__module__
    return function


class LazyMethod:
    """A function of a module, put into the class in its place at the first use."""

    def __init__(self, module: str, function: str) -> None:
        self.module, self.function = module, function
        self.names: list[str] = []

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.names.append(name)

    def __get__(self, instance: object, owner: type) -> Any:
        function = _name(getattr(importlib.import_module(self.module), self.function), self.owner, self.names)
        for name in self.names:
            setattr(self.owner, name, function)
        return function.__get__(instance, owner)


class _Module:
    """A module whose functions are methods of a class."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LazyMethod:
        return LazyMethod(self._module, name)


def methods_of(package: str, modules: str) -> list[_Module]:
    """Return the modules of a package, by their names, none of them loaded."""
    return [_Module(f"{package}.{module}") for module in modules.split()]
