"""Intrinsics of compiled loops: loads and stores without aliases, prefetches and powers of two, which vectorize.

A kernel has dozens of rows as operands and results. LLVM would test at run time that no two of them overlap, and where
these are many tests, it gives up and computes one sample at a time. So each load and store says here that it is alone:
rows of results overlap neither operands nor each other (the `noalias` and `alias.scope` metadata of LLVM).
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def _scopes(builder: Any, names: list[str]) -> Any:
    module = builder.module
    domain = module.add_metadata(["clifford_rand.fusion"])
    return module.add_metadata([module.add_metadata([name, domain]) for name in names])


def _address(context: Any, builder: Any, kind: Any, array: Any, row: int, i: Any) -> Any:
    tools: Any = cgutils
    struct = context.make_array(kind)(context, builder, array)
    shape, strides = tools.unpack_tuple(builder, struct.shape), tools.unpack_tuple(builder, struct.strides)
    indices = [ir.Constant(i.type, row), i]
    return tools.get_item_pointer2(context, builder, struct.data, shape, strides, kind.layout, indices)


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, row: Any, i: Any) -> Any:
    """Return array[row, i] of an operand."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, array, arguments[0], row.literal_value, arguments[2]))
        value.set_metadata("alias.scope", _scopes(builder, ["operands"]))
        return value

    return array.dtype(array, row, i), generate


@intrinsic(prefer_literal=True)
def store(typing: Any, array: Any, row: Any, slot: Any, slots: Any, i: Any, value: Any) -> Any:
    """Set array[row, i] of a result, the row number ``slot`` of all ``slots`` that the kernel writes."""
    signature = types.void(array, row, slot, slots, i, array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own, count = slot.literal_value, slots.literal_value
        address = _address(context, builder, array, arguments[0], row.literal_value, arguments[4])
        instruction = builder.store(arguments[5], address)
        instruction.set_metadata("alias.scope", _scopes(builder, [f"result {own}"]))
        elsewhere = [f"result {k}" for k in range(count) if k != own]
        instruction.set_metadata("noalias", _scopes(builder, ["operands", *elsewhere]))
        return context.get_dummy_value()

    return signature, generate


@intrinsic(prefer_literal=True)
def load_rows(typing: Any, array: Any, row: Any, count: Any, i: Any) -> Any:
    """Return the tuple of array[row, i], …, array[row + count - 1, i], of an operand."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, scopes = [], _scopes(builder, ["operands"])
        for k in range(row.literal_value, row.literal_value + count.literal_value):
            values.append(builder.load(_address(context, builder, array, arguments[0], k, arguments[3])))
            values[-1].set_metadata("alias.scope", scopes)
        return context.make_tuple(builder, signature.return_type, values)

    result: Any = types.UniTuple(array.dtype, count.literal_value)  # type: ignore[no-untyped-call]
    return result(array, row, count, i), generate


@intrinsic(prefer_literal=True)
def store_rows(typing: Any, array: Any, row: Any, slots: Any, i: Any, values: Any) -> Any:
    """Set array[row, i], array[row + 1, i], … of a result to a tuple: the rows are those of all ``slots`` results."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        names = [f"result {k}" for k in range(slots.literal_value)]
        tools: Any = cgutils
        for k, value in enumerate(tools.unpack_tuple(builder, arguments[4]), row.literal_value):
            instruction = builder.store(value, _address(context, builder, array, arguments[0], k, arguments[3]))
            instruction.set_metadata("alias.scope", _scopes(builder, [names[k]]))
            instruction.set_metadata("noalias", _scopes(builder, ["operands", *names[:k], *names[k + 1 :]]))
        return context.get_dummy_value()

    return types.void(array, row, slots, i, values), generate


@intrinsic(prefer_literal=True)
def prefetch(typing: Any, array: Any, row: Any, i: Any, write: Any) -> Any:
    """Ask for array[row, i], which may lie beyond the end of the row, to be brought into the first-level cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(
            _address(context, builder, array, arguments[0], row.literal_value, arguments[2]), byte
        )
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [byte, *[number] * 3]), name)
        builder.call(function, [address, *(number(k) for k in (write.literal_value, 3, 1))])  # all levels; data
        return context.get_dummy_value()

    return types.void(array, row, i, write), generate


@intrinsic
def pow2(typing: Any, k: Any) -> Any:
    """Return 2^k for a floating number k that is an integer, 0 and infinity beyond the range of exponents."""
    bits, mantissa, bias = (64, 52, 1023) if k == types.float64 else (32, 23, 127)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, whole = arguments[0].type, ir.IntType(bits)
        low, high = ir.Constant(kind, float(-bias)), ir.Constant(kind, float(bias + 1))
        value = builder.select(builder.fcmp_ordered("<", arguments[0], low), low, arguments[0])
        value = builder.select(builder.fcmp_ordered(">", value, high), high, value)
        shifted = builder.add(builder.fptosi(value, whole), ir.Constant(whole, bias))
        return builder.bitcast(builder.shl(shifted, ir.Constant(whole, mantissa)), kind)

    return k(k), generate
