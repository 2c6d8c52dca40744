"""LLVM instructions on one number, or on a vector register of samples, in the order in which they are appended."""

from collections.abc import Iterable
from typing import Any

import numpy as np


class Instructions:
    """Lines of LLVM code for numbers of one dtype; each result has a name. ``wide`` stands for a register of samples.

    A product and a sum may be one instruction where `fused` says so; nothing else of fast mathematics is allowed.
    """

    fused = True

    def __init__(self, dtype: np.dtype, register: int) -> None:
        """``register`` is the number of bytes of samples that are computed at once."""
        self.dtype = dtype
        self.size = dtype.itemsize
        self.kind, self._short = ("double", "f64") if self.size == 8 else ("float", "f32")
        self.lanes = register // self.size
        self.vector = f"<{self.lanes} x {self.kind}>"
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._count = 0

    def new(self, text: str, lines: list[str] | None = None) -> str:
        """Append an instruction, return its result."""
        self._count += 1
        (self.lines if lines is None else lines).append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def type_of(self, wide: bool) -> str:
        """Return the type of a number."""
        return self.vector if wide else self.kind

    def bits(self, wide: bool) -> str:
        """Return the type of a condition."""
        return f"<{self.lanes} x i1>" if wide else "i1"

    def integer(self, wide: bool) -> str:
        """Return the type of an integer of the numbers' size."""
        return f"<{self.lanes} x i{8 * self.size}>" if wide else f"i{8 * self.size}"

    def literal(self, number: Any, wide: bool) -> str:
        """Return a constant."""
        bits = int(np.float64(self.dtype.type(float(number))).view(np.uint64))  # LLVM writes floats as doubles
        return f"<{', '.join([f'{self.kind} 0x{bits:016X}'] * self.lanes)}>" if wide else f"0x{bits:016X}"

    def whole(self, number: int, wide: bool) -> str:
        """Return a constant integer of the numbers' size."""
        return f"<{', '.join([f'i{8 * self.size} {number}'] * self.lanes)}>" if wide else str(number)

    def binary(self, name: str, a: str, b: str, wide: bool = True) -> str:
        """Append a sum, difference or product."""
        return self.new(f"{name}{' contract' if self.fused else ''} {self.type_of(wide)} {a}, {b}")

    def call(self, name: str, text: str, wide: bool = True) -> str:
        """Append a call of one of LLVM's own functions."""
        suffix, kind = (f"v{self.lanes}{self._short}" if wide else self._short), self.type_of(wide)
        self.declared[f"{name}.{suffix}"] = f"declare {kind} @llvm.{name}.{suffix}({kind})"
        return self.new(f"call {kind} @llvm.{name}.{suffix}({kind} {text})")

    def compare(self, name: str, a: str, b: str, wide: bool = True) -> str:
        """Append a comparison."""
        return self.new(f"fcmp {name} {self.type_of(wide)} {a}, {b}")

    def all_of(self, conditions: Iterable[str], wide: bool) -> str | None:
        """Return the condition that all of these hold, None if there are none."""
        total = None
        for one in conditions:
            total = one if total is None else self.new(f"and {self.bits(wide)} {total}, {one}")
        return total

    def spread(self, text: str, condition: bool) -> str:
        """Return a number or condition in all lanes of a register."""
        kind, vector = ("i1", self.bits(True)) if condition else (self.kind, self.vector)
        one = self.new(f"insertelement {vector} undef, {kind} {text}, i32 0")
        return self.new(f"shufflevector {vector} {one}, {vector} undef, <{self.lanes} x i32> zeroinitializer")

    def pointer(self, address: str) -> str:
        """Return an address as a pointer."""
        return self.new(f"inttoptr i64 {address} to ptr")

    def word(self, address: str, offset: int) -> str:
        """Return the integer that is found so many bytes after an address."""
        return self.new(f"load i64, ptr {self.pointer(self.new(f'add i64 {address}, {offset}'))}")

    def load_at(self, address: str, wide: bool) -> str:
        """Append a load from an address."""
        return self.new(f"load {self.type_of(wide)}, ptr {self.pointer(address)}, align {self.size}")

    def store_at(self, address: str, text: str, wide: bool) -> None:
        """Append a store to an address."""
        pointer = self.pointer(address)
        self.lines.append(f"store {self.type_of(wide)} {text}, ptr {pointer}, align {self.size}")
