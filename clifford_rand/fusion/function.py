"""The decorator `fused` and the function that it makes: traced at the first call of each kind, then compiled."""

import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from clifford_rand._checks import check_choice, check_instance, check_listed, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import is_tensor
from clifford_rand.compiler.graph import Operations
from clifford_rand.compiler.loops import by_coefficients
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.fusion.kernel import FusedKernel, replaced_at, samples_at
from clifford_rand.fusion.tracing import TENSORS, ArrayFunction, Tracing, kind_of

BACKENDS = ("numba", "numpy")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_OUTSIDE = "out of the range in which the compiled code is right"
MOST = 1000  # kinds of arguments of one function; one that meets more starts anew


class FusionWarning(UserWarning):
    """A fused function runs as the plain one; the message says why."""


class FusedFunction:
    """A function of multivectors that is compiled as one loop over samples: see `fused`.

    Attributes
    ----------
    function : function
        The plain function.
    backend : {"numba", "numpy"}
    fallback_reason : str or None
        Why the last call ran the plain function, for all or some samples; None if it did not.
    """

    def __init__(self, function: Callable[..., Any], backend: str, static: tuple[str, ...]) -> None:
        check_instance(function, Callable, "function", "fused", "a function of multivectors")
        functools.update_wrapper(self, function)
        self.function, self.backend = function, backend
        self.fallback_reason: str | None = None
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        self._names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
        self._count = len(self._names) if len(self._names) == len(parameters) and not static else -1
        self._rest = next(
            (parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL), ""
        )
        unknown = [name for name in static if name not in self._signature.parameters]
        if unknown:
            rule = f"among the arguments {', '.join(self._signature.parameters)}"
            raise fail("static_argnames", "fused", rule, unknown[0])
        self._static = static
        self._kernels: dict[Any, FusedKernel | str] = {}
        self._latest: FusedKernel | None = None
        self._warned = False

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @cached_property
    def _alias(self) -> Any:
        """The plain function as ``f._alias``, where pickle finds it: its own name is that of this object."""
        f = self.function
        alias = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
        alias.__kwdefaults__, alias.__module__ = f.__kwdefaults__, f.__module__
        alias.__qualname__ = f"{f.__qualname__}._alias"
        return alias

    def __reduce__(self) -> Any:
        """Pickle by name where its module has this object by this name; else by the plain function."""
        global_value: Any = sys.modules.get(self.function.__module__)
        for name in self.function.__qualname__.split("."):
            global_value = getattr(global_value, name, None)
        if global_value is not self:
            return _unpickled, (self.function, self.backend, self._static)
        if self.function.__module__ != "__main__":
            return str(self.function.__qualname__)
        # a process that has not run the script gets its code from cloudpickle
        return _unpickled, (self._alias, self.backend, self._static)

    def __repr__(self) -> str:
        return f"<fused function {self.function.__qualname__}{self._signature}: {len(self.compiled_for)} compiled>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the plain function returns."""
        names: Sequence[str] = ()
        if kwargs or len(args) != self._count:
            args, kwargs, names = self._bound(args, kwargs)
        leaves: list[Any] = []
        key = self._key(args, kwargs, names, leaves)
        try:
            kernel = self._kernels.get(key)
        except TypeError:  # not hashable
            kernel = "an argument is neither a multivector, a number or an array of them, nor hashable"
        if kernel is None:
            kernel = self._made(key, args, kwargs, leaves)
        if kernel.__class__ is str:
            return self._plain(args, kwargs, kernel)
        failed, result = kernel(leaves)  # type: ignore[operator]
        self.fallback_reason = None
        return result if failed is False else self._with_plain(args, kwargs, failed, result)

    def _with_plain(self, args: tuple[Any, ...], kwargs: dict[str, Any], failed: Any, result: Any) -> Any:
        """Return the result with the samples in which a guard failed, all if that is True, by the plain function."""
        if failed is True:
            self.fallback_reason = f"its only sample, or what all share, is {_OUTSIDE}"
            return self.function(*args, **kwargs)
        places = np.nonzero(failed)
        count = len(places[0])
        self.fallback_reason = f"{count} of {failed.size} samples {'is' if count == 1 else 'are'} {_OUTSIDE}"
        some = [samples_at(value, failed.shape, places) for value in (*args, *kwargs.values())]
        try:
            plain = self.function(*some[: len(args)], **dict(zip(kwargs, some[len(args) :], strict=True)))
            return replaced_at(result, plain, places)
        except Exception:  # about some of the samples, or a result of another form: that of the whole batch counts
            return self.function(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code for these arguments, without any that of the latest call, as a loop over samples."""
        return self._kernel(args, kwargs, "source").source

    def operations(self, *args: Any, **kwargs: Any) -> Operations:
        """Return the numbers of multiplications, additions and other operations on one sample."""
        return self._kernel(args, kwargs, "operations").operations

    def array_function(self, *args: Any, **kwargs: Any) -> ArrayFunction:
        """Return the function of coefficient arrays, for PyTorch, JAX and every library with the array API.

        Plain code without guards or Python objects: differentiate it, give it to `torch.compile` or `jax.jit`.

        Parameters
        ----------
        *args, **kwargs
            Arguments as for a call, tensors too: their blades and static values count, their coefficients do not.

        Returns
        -------
        ArrayFunction
            Of arrays (..., components), one for each multivector, and (...) for each scalar; its results likewise,
            ``keys`` has their blades.

        Raises
        ------
        ArgumentError
            If the function cannot be traced.

        Examples
        --------
        >>> alg = cr.Algebra(3)
        >>> turn = cr.fused(lambda B, x: B.exp() * x * ~B.exp()).array_function(alg.e12, alg.vector([1, 0, 0]))
        >>> turn(np.array([[-np.pi / 4]]), np.array([[1.0, 0, 0]])).round(12), turn.keys[0].masks
        (array([[0., 1., 0.]]), array([1, 2, 4]))
        """
        args, kwargs, names = self._bound(args, kwargs)
        args = tuple(A.to_numpy() if hasattr(A, "to_numpy") else 1.0 if is_tensor(A) else A for A in args)
        leaves: list[Any] = []
        self._key(args, kwargs, names, leaves)
        tracing = Tracing(leaves, (*args, *kwargs.values()), self._static, whole=True)
        try:
            return ArrayFunction(tracing.traced(self.function, names, args, kwargs))
        except TraceError as error:
            raise fail("function", "array_function", "one that can be traced", describe(str(error))) from None

    @property
    def compiled_for(self) -> list[str]:
        """What it was compiled for: the grades, dtype and batch of every argument."""
        return [kernel.title for kernel in self._kernels.values() if isinstance(kernel, FusedKernel)]

    # ---- which kernel

    def _bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], list[str]]:
        """Return positional and other arguments, defaults among them, and the names of the former."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        more = len(bound.args) - len(self._names)
        return bound.args, bound.kwargs, [*self._names, *(f"{self._rest}{i}" for i in range(more))]

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str], leaves: list[Any]) -> Any:
        """Return what a kernel is kernel for, and append the arrays and numbers that it takes."""
        if not names:
            return tuple([kind_of(value, leaves) for value in args])
        pairs = [*zip(names, args, strict=True), *kwargs.items()]
        return tuple(
            (name, type(value), value) if name in self._static else (name, kind_of(value, leaves))
            for name, value in pairs
        )

    def _kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> FusedKernel:
        kernel: Any = self._latest
        if args or kwargs:
            args, kwargs, names = self._bound(args, kwargs)
            leaves: list[Any] = []
            kernel = self._made(self._key(args, kwargs, names, leaves), args, kwargs, leaves)
        if not isinstance(kernel, FusedKernel):
            reason = "it was not called yet" if kernel is None else str(kernel)
            raise fail("arguments", name, "ones for which the function is compiled", describe(reason))
        return kernel

    def _made(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> FusedKernel | str:
        """Return the kernel of a key, compiled if it is new, or why there is none."""
        if key in self._kernels:
            return self._kernels[key]
        if TENSORS in key:
            return TENSORS
        kernel: FusedKernel | str
        names = [*self._names, *(f"{self._rest}{i}" for i in range(len(args) - len(self._names)))]
        try:
            tracing = Tracing(leaves, (*args, *kwargs.values()), self._static)
            traced = tracing.traced(self.function, names, args, kwargs)
            by_linearity = traced._replace(program=by_coefficients(traced.program))
            kernel = FusedKernel(by_linearity, tracing.many, self.backend)
        except Exception as error:  # whatever the function does that traced values cannot: the plain one will tell
            kernel = str(error) if isinstance(error, TraceError) else f"{type(error).__name__}: {error}"
        if len(self._kernels) >= MOST:
            self._kernels.clear()
        kernel = self._kernels.setdefault(key, kernel)
        if isinstance(kernel, FusedKernel):
            self._latest = kernel
        return kernel

    def _plain(self, args: tuple[Any, ...], kwargs: dict[str, Any], reason: Any) -> Any:
        text = f"{self.function.__qualname__} runs as it is, not fused: {reason.rstrip('.')}."
        try:
            result = self.function(*args, **kwargs)
        except Exception as error:
            error.add_note(text)
            raise
        self.fallback_reason = reason
        if not self._warned and reason is not TENSORS:
            self._warned = True
            warnings.warn(text, FusionWarning, stacklevel=3)
        return result


@functools.lru_cache(maxsize=64)
def _unpickled(function: Callable[..., Any], backend: str, static: tuple[str, ...]) -> FusedFunction:
    """Return the fused function, the same for all tasks of a process that unpickles one function by name."""
    return FusedFunction(function, backend, static)


@overload
def fused(function: Callable[..., Any]) -> FusedFunction: ...
@overload
def fused(
    *, backend: str = ..., static_argnames: str | Sequence[str] = ...
) -> Callable[[Callable[..., Any]], FusedFunction]: ...
def fused(
    function: Callable[..., Any] | None = None, *, backend: str = "numba", static_argnames: str | Sequence[str] = ()
) -> Any:
    """Return a function of multivectors that is compiled as one loop over samples, without temporaries.

    ``@fused`` above a function of multivectors, numbers and arrays of scalars. At the first call with multivectors of
    some blades and of some dtype the function is traced: terms that are equal are computed once, what vanishes for all
    arguments is left out. Batches of 512 samples and more run one loop that Numba compiles at the first call, once a
    machine, in 0.3 to 3 s; later processes read it from the disk. Fewer samples are computed by NumPy until that has
    cost as much.

    Parameters
    ----------
    function : function
        Its arguments may be multivectors, numbers, arrays of scalars (one for each sample), and tuples or lists of
        them; any other argument that is hashable is part of the code. Batch axes broadcast, an argument without them
        is read once. It returns multivectors, scalars, or tuples and lists of them.
    backend : {"numba", "numpy"}
        "numpy" runs the same terms on whole arrays, and never compiles; without Numba both do.
    static_argnames : str or sequence of str
        Names of numbers that are part of the code: exponents, or how often a step is repeated.

    Returns
    -------
    FusedFunction
        Called as the plain function. ``source(…)`` is the code for these arguments, ``operations(…)`` counts what it
        computes for one sample, ``compiled_for`` lists what it was compiled for, ``fallback_reason`` says why the last
        call ran the plain function, if it did. ``array_function(…)`` is plain code for PyTorch, JAX and others.

    Warns
    -----
    FusionWarning
        Once, if the plain function is run because it cannot be traced: where it branches on values, takes parts of the
        batch, or calls what has no closed form.

    Notes
    -----
    Traced are sums, all products, ``>>``, involutions, duals, complements, grades, coefficients by name, `norm`,
    `normalized`, `inv` where A ~A = s + q with q² a scalar (all even elements and blades for d ≤ 5), `exp` where
    B² = s + q likewise with real planes (all bivectors for d ≤ 5 but where two positive meet two negative directions),
    `log` of unit rotors, `sqrt` of rotors and `bivector_split` for d ≤ 5, `project`, `reject` and `reflect` at blades,
    `map`, `replace`, `outermorphism` of a constant matrix, and NumPy's functions of scalars with `numpy.where`.
    ``R >> X`` takes R for a versor.

    What is right for some values only is checked in every sample: that R is a versor, that a divisor is not zero, that
    nothing overflows. Samples where it is not so are computed by the plain function, with its result or its error.

    Sums are rearranged, (a + b) - b is a, so that results differ from the plain ones by rounding; blades that vanish
    are left out. Integers are computed as float64. Variables of the function that are not arguments are constants,
    with the values that they have when it is traced.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> @cr.fused
    ... def move(B, x):
    ...     R = B.exp()
    ...     return R * x * ~R
    >>> B, x = alg("0.5*e12 + e03"), alg("e123 + 2.0*e012")
    >>> move(B, x).isclose(B.exp() * x * ~B.exp())
    True
    >>> product = cr.fused(lambda a, b: a * b - b * a, backend="numpy")
    >>> product.operations(alg.e1 + alg.e2, alg.e1 - alg.e2)
    Operations(multiplications=2, additions=2, other=0)
    """
    check_choice(backend, "backend", "fused", BACKENDS)
    rule = "names of arguments of the function"
    if isinstance(static_argnames, str):
        static_argnames = (static_argnames,)
    names = tuple(check_listed(static_argnames, "static_argnames", "fused", rule))
    if not all(isinstance(name, str) for name in names):
        raise fail("static_argnames", "fused", rule, static_argnames)
    if function is None:
        return lambda f: FusedFunction(f, backend, names)
    return FusedFunction(function, backend, names)
