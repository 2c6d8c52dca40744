"""Run worked examples: their figures are printed, their pictures saved.

python -m examples.ga [NAME …] [--out FOLDER]
"""

import argparse
import importlib
import pkgutil
from pathlib import Path

import examples.ga


def names() -> list[str]:
    """Return the names of all examples."""
    return sorted(found.name for found in pkgutil.iter_modules(examples.ga.__path__) if not found.name.startswith("_"))


def main() -> None:
    """Run those that are named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m examples.ga", description="Worked examples of geometric algebra.")
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME", help=", ".join(names()))
    parser.add_argument("--out", type=Path, default=Path("ga_examples"), help="folder of the pictures (%(default)s)")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or names():
        module = importlib.import_module(f"examples.ga.{name}")
        print((module.__doc__ or name).splitlines()[0])
        for figure, value in module.main(given.out).items():
            print(f"    {figure}: {value:.6g}")
        print(f"    {given.out / name}.png")


if __name__ == "__main__":
    main()
