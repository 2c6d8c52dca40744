"""Generated Python code, compiled by Numba: a file with the code, and beside it its machine code."""

import hashlib
from typing import Any

from clifford_rand.machine import folder


def compile_loop(source: str) -> Any:
    """Return the function ``kernel`` of the code, compiled by Numba at its first call or taken from the disk."""
    from clifford_rand.fusion import access
    from clifford_rand.machine.numba_code import compiled

    name = f"fused_{hashlib.blake2b(source.encode(), digest_size=16).hexdigest()}"
    file = folder.write(f"{name}.py", source.encode())
    namespace: dict[str, Any] = {"__name__": access.__name__}  # Numba imports the module of what it takes from the disk
    exec(compile(source, str(file or "<fused>"), "exec"), namespace)  # generated here, from names made here
    kernel = namespace["kernel"]
    kernel.__name__ = kernel.__qualname__ = name  # the name of the machine code, of which a process has one of each
    # a division by zero gives inf or NaN as in NumPy; a product and a sum may be one instruction
    return compiled(error_model="numpy", fastmath={"contract"})(kernel)
