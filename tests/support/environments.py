"""Virtual environments with chosen versions of what pyproject.toml names, made with pip in a folder of one's own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NAME = "clifford-rand"


def declared(root=ROOT):
    """Return the requirements of the project by extra, "" for those of every installation."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    parts = {"": project["dependencies"], **project["optional-dependencies"]}
    return {part: [Requirement(line) for line in lines] for part, lines in parts.items()}


def needed(extras, declared):
    """Return the requirements of an installation with extras, by name, those of extras that extras name among them."""
    found, waiting, seen = {}, ["", *extras], set()
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        for one in declared[part]:
            if canonicalize_name(one.name) == NAME:
                waiting += one.extras
            elif one.marker is None or one.marker.evaluate():
                found.setdefault(canonicalize_name(one.name), []).append(one)
    return found


def floor(requirement):
    """Return the lowest version that a requirement takes, None where it does not say."""
    said = [part.version for part in requirement.specifier if part.operator in (">=", "==", "~=")]
    return said[0] if said else None


def at_floors(extras, declared):
    """Return pip's arguments for every requirement of an installation with extras at exactly its lower bound."""
    lines = []
    for name, several in needed(extras, declared).items():
        lows = {floor(one) for one in several} - {None}
        extra = sorted(set().union(*(one.extras for one in several)))
        named = f"{name}[{','.join(extra)}]" if extra else name
        lines += [f"{named}=={low}" for low in sorted(lows)] or [named]
    return lines


class Environment:
    """A virtual environment: ``python`` is its interpreter."""

    def __init__(self, folder, base=sys.executable):
        self.folder = Path(folder)
        subprocess.run([base, "-m", "venv", str(self.folder)], check=True, capture_output=True)
        self.python = str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    def install(self, *arguments):
        """Run pip; return what it says where it fails, and its warnings of versions that were withdrawn."""
        command = [self.python, "-m", "pip", "install", "--quiet", "--prefer-binary", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        faults = [line for line in said.splitlines() if "yanked" in line]
        return faults if not done.returncode else [*faults, f"pip install: {said[-2000:]}"]
