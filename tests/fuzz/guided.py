"""Inputs that are grown by coverage: Atheris (libFuzzer) in a child process that is started again when it dies.

    PYTHONPATH=.:tests python -m fuzz.guided TARGET FOLDER SECONDS SEED [INPUTS]

is the child. It takes the target's seeds and what is in FOLDER/corpus, changes them by the target's own mutations and
libFuzzer's, keeps what reaches code that nothing before reached, and tells of every trial that breaks the promise: an
error other than ArgumentError, one of several lines or none, Python's warnings of a text, more CPU time (2 s) or memory
than the target allows for that input when it is run again (first calls compile), another model than the undamaged one.
Without Atheris (it is for Linux) seeds are changed at random. With INPUTS, so many are tried, changed at random, in
whatever time: the same ones on every machine, which is what continuous integration needs. So are those that are to be
tried beyond the time: what was kept is changed without counting branches, which takes less time.
"""

import contextlib
import importlib
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

try:
    import atheris
except ImportError:
    atheris = None

HERE = Path(__file__).parent
_PACKAGES = ("clifford_rand", "clifford_rand_nn")
_STUCK = 600  # seconds of wall time after which libFuzzer ends the child; on a busy machine many pass without work
_HUNG = 300  # seconds of CPU time in all after which a child that tries a number of inputs is ended
_AT_RANDOM = 20_000  # inputs of a child that tries what is left to try
_SLOW_MACHINE = 3  # times as much CPU time as here is allowed there
# Of the child, above what it has at its start, where a C library allocates out of tracemalloc's sight.
_MOST_BYTES = 2**30
_MEASURED = 8  # one input of so many runs under tracemalloc, which takes as long again
_MUTATION = 3  # the status of a child whose own mutation has failed
_TOLD = 20  # faults of one kind that are printed


class Child:
    """The trials of one process: each runs the target on one input and judges what came of it."""

    def __init__(self, target, folder, seconds, seed, guided=True):
        self.target, self.folder, self.seed, self.guided = target, folder, seed, guided
        self.known = (None, None)  # the input that was made last, and what the target knows of it
        self.runs, self.outcomes, self.faults = 0, Counter(), Counter()
        self.began = self.told = time.monotonic()
        self.began_cpu = time.process_time()
        self.end = self.began + seconds

    def mutated(self, data, most, seed):
        """Return a mutation, and remember what the target says that must come of it.

        An error of the mutation itself, which is none of the library, ends the child: libFuzzer would wait for threads.
        """
        try:
            return self._mutated(data, most, seed)
        except BaseException as error:
            self._fault(data, error)
            self.leave(_MUTATION)

    def _mutated(self, data, most, seed):
        rng = np.random.default_rng([self.seed, seed])
        if rng.random() < self.target.random:
            return atheris.Mutate(data, most) if self.guided else self._damaged(data, rng)
        made, known = self.target.mutated(bytes(data), rng)
        made = made[:most]
        self.known = (made, known)
        return made

    @staticmethod
    def _damaged(data, rng):
        from support.damage import damaged_bytes  # which imports what is fuzzed

        return damaged_bytes(bytes(data) or b"\0", rng)

    def trial(self, data):
        """Run the target on one input; a fault is written down, and the next input is tried."""
        known = self.known[1] if data == self.known[0] else None
        self.runs += 1
        measured = zlib.crc32(data) % _MEASURED == 0
        outcome, seconds, most = self._once(data, known, measured)
        allowed, allowed_seconds = self.target.allowed(data), self.target.seconds * (3 if measured else 1)
        allowed_seconds *= 1 if self.guided else _SLOW_MACHINE
        if outcome != "fault" and (seconds > allowed_seconds or most > allowed):  # what it compiled is compiled now
            outcome, seconds, most = self._once(data, known, measured)
        if seconds > allowed_seconds:
            self._fault(data, TimeoutError(f"{outcome} took {seconds:.1f} s"))
        if most > allowed:
            told = f"{outcome} took {most:,} bytes of memory where {allowed:,.0f} are allowed"
            self._fault(data, MemoryError(told))
        self.outcomes[outcome] += 1
        now = time.monotonic()
        if now - self.told > 0.5 or now > self.end:
            self.told = now
            self._tell()
            if now > self.end:
                self.leave()
        return -1 if outcome == "no input" else 0

    def _once(self, data, known, measured):
        """Return the outcome of one run, its CPU seconds, and the bytes that Python took, if they are measured."""
        if measured:
            tracemalloc.start()
        began, most = time.process_time(), 0
        try:
            outcome = self._outcome(data, known)
            if measured:
                most = tracemalloc.get_traced_memory()[1]
        except Exception as error:
            outcome = "fault"
            self._fault(data, error)
        finally:
            tracemalloc.stop()
        return outcome, time.process_time() - began, most

    def _outcome(self, data, known):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in (SyntaxWarning, DeprecationWarning, ResourceWarning):  # of the input, not of its numbers
                warnings.simplefilter("error", one)
            try:
                return self.target.run(data, known)
            except self.target.refusals as error:
                said = str(error)
                if not said.strip() or "\n" in said.strip() or len(said) > 2000:
                    raise AssertionError(f"an error of no line, several, or {len(said)} characters: {said}") from error
                return "refused"

    def _fault(self, data, error):
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "clifford_rand" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        said = re.sub(r"0x[0-9a-f]+|/\S*|\d+", "#", str(error))[:60]
        kind = ascii(f"{type(error).__name__} at {place}: {said}")[1:-1]
        self.faults[kind] += 1
        if self.faults[kind] > 1 or len(self.faults) > _TOLD:
            return
        path = self.folder / f"fault-{zlib.crc32(data):08x}"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), errors="backslashreplace")
        with open(self.folder / "faults.txt", "a") as stream:
            stream.write(f"{kind}: {data[:200]!r} ({path})\n")  # the folder may be one that is removed

    def leave(self, status=0):
        """End this process, past libFuzzer."""
        self._tell()
        sys.stderr.flush()
        os._exit(status)

    def _tell(self):
        seconds, cpu = time.monotonic() - self.began, time.process_time() - self.began_cpu
        told = {"runs": self.runs, "outcomes": self.outcomes, "seconds": seconds, "cpu": cpu}
        new = self.folder / f"told-{os.getpid()}.new"
        new.write_text(json.dumps(told))
        new.replace(self.folder / f"told-{os.getpid()}.json")


def load_target(name, guided):
    """Return the target ``fuzz.targets.NAME``; what it fuzzes is imported with its branches counted, if they guide."""
    with _counting(name) if guided else contextlib.nullcontext():
        return importlib.import_module(f"fuzz.targets.{name}").TARGET


def _counting(name):
    """Count the branches of the modules that the target names in COUNTED; compiled ones could not be compiled so."""
    source = (HERE / "targets" / f"{name}.py").read_text()
    wanted = tuple(re.findall(r'"(\S+)"', re.search(r"^COUNTED = \((.*?)\)$", source, re.M | re.S)[1]))
    root = HERE.parents[1]
    files = [path.relative_to(root) for package in _PACKAGES for path in (root / package).rglob("*.py")]
    every = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    others = [one for one in every if not any(one == part or one.startswith(f"{part}.") for part in wanted)]
    packages = sorted({one.partition(".")[0] for one in wanted})
    return atheris.instrument_imports(include=packages, exclude=others, enable_loader_override=False)


def fuzz(name, folder, seconds, seed, inputs=None):
    """Try until the time is over, or so many inputs; never returns."""
    guided = atheris is not None and inputs is None
    if inputs is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (_HUNG, resource.RLIM_INFINITY))
    target = load_target(name, guided)
    target.prepare(folder / "scratch")
    child = Child(target, folder, seconds if inputs is None else np.inf, seed, guided)
    corpus = folder / "corpus"
    seeds, kept = list(target.seeds()), _kept(name)
    for data in seeds:
        with contextlib.suppress(Exception):
            target.run(data, None)  # imports and first calls are no part of what an input takes
    for data in [*seeds, *kept]:
        (corpus / f"seed-{zlib.crc32(data):08x}").write_bytes(data)
    if not guided:
        found = [path.read_bytes() for path in sorted(corpus.iterdir()) if not path.name.startswith("seed-")]
        return _at_random(child, [*seeds, *kept, *found], inputs)
    rss = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # what libFuzzer asks; a parent's size is in it
    most = 2 * max(map(len, target.seeds())) + 2**13
    options = [f"-seed={seed % 2**31 + 1}", f"-timeout={_STUCK}", f"-rss_limit_mb={(rss + _MOST_BYTES) >> 20}"]
    options += [f"-max_len={most}", f"-artifact_prefix={folder}/died-", "-len_control=0", "-mutate_depth=3"]
    options.append("-report_slow_units=1000")  # of wall time: CPU time is judged by `Child.trial`
    atheris.Setup([name, *options, str(corpus)], child.trial, custom_mutator=child.mutated)
    try:
        atheris.Fuzz()
    finally:  # an error of Atheris: its way out waits for threads until an alarm
        traceback.print_exc()
        child.leave(_MUTATION)


def _kept(name):
    """Return what earlier runs found: inputs that were faults, then the smallest of those that reach each branch."""
    path = HERE / "corpus" / f"{name}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(one) for one in archive.namelist()]


def _at_random(child, seeds, inputs):
    for data in seeds:
        child.trial(data)
    for trial in itertools.count() if inputs is None else range(inputs):
        data = seeds[trial % len(seeds)]
        child.trial(child.mutated(data, 2**30, trial))
    child.leave()


def hold(name, seconds, seed=0, folder=None, least=0, inputs=None):
    """Fuzz a target for so many seconds, and until ``least`` inputs were tried; return its figures and its faults.

    Or try so many ``inputs`` beside those that are kept, the same ones each time. Where there are faults, the folder
    with their inputs, which their lines name, is left.
    """
    within = "/dev/shm" if os.path.isdir("/dev/shm") else None
    place = Path(tempfile.mkdtemp(dir=within) if folder is None else folder)
    figure, faults = _held(name, place, seconds, seed, least, inputs)
    if folder is None and not faults:  # inputs that were faults stay, to be looked at
        shutil.rmtree(place, ignore_errors=True)
    return figure, faults


def _held(name, place, seconds, seed, least, inputs):
    for part in ("corpus", "scratch"):
        (place / part).mkdir(parents=True, exist_ok=True)
    log, begun, died = place / "log.txt", time.monotonic(), []
    environment = os.environ | {"PYTHONPATH": f"{HERE.parents[1]}:{HERE.parent}", "PYTHONHASHSEED": "0"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": str(place / "scratch")}
    start = 0
    while (left := seconds - _tried(place, "seconds")) > 0 or _tried(place, "runs") < least:
        if time.monotonic() - begun > 3 * seconds + 300:
            break
        some = min(_AT_RANDOM, least - _tried(place, "runs")) if inputs is None and left <= 0 else inputs
        numbers = [left, seed + start] if some is None else [left, seed + start, some]
        command = [sys.executable, "-m", "fuzz.guided", name, str(place), *map(str, numbers)]
        with open(log, "ab") as stream:
            ended = subprocess.run(command, env=environment, cwd=place, stdout=stream, stderr=stream)
        start += 1
        if ended.returncode:
            died.append(f"a child left with {ended.returncode}: {_last_line(log)}")
            if len(died) > 5 and not _tried(place, "runs"):
                break
        if inputs is not None:
            break
    runs, outcomes = _tried(place, "runs"), Counter()
    for path in place.glob("told-*.json"):
        outcomes.update(json.loads(path.read_text())["outcomes"])
    found = place / "faults.txt"
    faults = sorted(set(found.read_text().splitlines())) if found.exists() else []
    for path in place.glob("died-*"):
        died.append(f"{path.name.split('-')[1]}: {path}")
    counted = re.findall(r"cov: (\d+) .* corp: (\d+)", log.read_text(errors="replace"))
    shown = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    reached = f"{int(counted[-1][0]):,} branches, {counted[-1][1]} inputs kept" if counted else "without coverage"
    tried = f"{runs:,} inputs in {_tried(place, 'seconds'):,.0f} s, {_tried(place, 'cpu'):,.0f} of CPU"
    return f"{tried}: {shown}; {reached}; {len(faults) + len(died)} faults", faults + died


def _tried(place, what):
    return sum(json.loads(path.read_text()).get(what, 0) for path in place.glob("told-*.json"))


def _last_line(log):
    lines = re.findall(r"^(?:==|Fatal|SUMMARY).*", log.read_text(errors="replace"), re.M)
    return lines[-1][:200] if lines else ""


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:]))
