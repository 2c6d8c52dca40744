"""Wheels of NumPy and SciPy on MKL: their OpenBLAS is replaced by a library of the same name that jumps to MKL's.

No NumPy built on MKL is on PyPI. The wheels call `scipy_dgemm_` of an OpenBLAS beside them; a small library has those
names instead and passes each call on to `libmkl_rt`, whose arguments are the same. (Functions that return a complex
number are the exception: what uses them is not for this.)
"""

import subprocess
from pathlib import Path


def onto_mkl(site):
    """Replace OpenBLAS below a folder of installed packages, `mkl` among them; return the files replaced."""
    site = Path(site)
    rt = next(iter(sorted(site.parents[2].glob("lib/libmkl_rt.so*"))), None)
    if rt is None:
        raise FileNotFoundError(f"no libmkl_rt beside {site}")
    known = _symbols(rt, "--defined-only")
    replaced = []
    for package in ("numpy", "scipy"):
        wanted = set()
        for library in (site / package).rglob("*.so"):
            wanted |= {name for name in _symbols(library, "--undefined-only") if name.startswith("scipy_")}
        for blas in (site / f"{package}.libs").glob("libscipy_openblas*.so"):
            lines = [_jump(name, known) for name in sorted(wanted)] + _own(blas.name)
            source = blas.with_suffix(".s")
            source.write_text("\n".join([".text", *lines, '.section .note.GNU-stack,"",@progbits', ""]))
            blas.unlink()
            command = ["cc", "-shared", "-o", str(blas), str(source), f"-Wl,-soname,{blas.name}", str(rt)]
            subprocess.run([*command, f"-Wl,-rpath,{rt.parent}"], check=True, capture_output=True)
            replaced.append(blas)
    return replaced


def _jump(name, known):
    """Return the code of an OpenBLAS name: a jump to MKL's, or, where it has none, what ends the process."""
    plain = name.removeprefix("scipy_")
    if plain.startswith("cblas_") and plain.endswith("64_"):
        plain = f"{plain.removesuffix('64_')}_64"
    code = f"jmp {plain}@PLT" if plain in known else "ud2"
    return f".globl {name}\n.type {name}, @function\n{name}: {code}"


def _own(name):
    """Return the code of what threadpoolctl asks a library with such a name for: its threads, and what it is."""
    end = "64_" if "openblas64_" in name else ""
    jumps = {"get_num_threads": "MKL_Get_Max_Threads", "set_num_threads": "MKL_Set_Num_Threads"}
    asked = {
        **{f"scipy_openblas_{one}{end}": f"jmp {other}@PLT" for one, other in jumps.items()},
        **{f"scipy_openblas_{one}{end}": "lea said(%rip), %rax; ret" for one in ("get_config", "get_corename")},
        f"scipy_openblas_get_parallel{end}": "mov $1, %eax; ret",
    }
    return [
        'said: .string "MKL"',
        *(f".globl {one}\n.type {one}, @function\n{one}: {code}" for one, code in asked.items()),
    ]


def _symbols(library, which):
    said = subprocess.run(["nm", "-D", which, str(library)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].partition("@")[0] for line in said.splitlines() if line.split()}
