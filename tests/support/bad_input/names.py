"""What is public: every function, class and method of both packages that a user can name, and every command."""

import ast
import inspect
from pathlib import Path

import clifford_rand as cr
import clifford_rand_nn as nn
from clifford_rand.calculus.operators import DifferentialOperator
from clifford_rand.multivector.base import INTERNAL, BladeAttributes
from clifford_rand.presets import cga, pga, sta

ROOT = Path(cr.__file__).parent
_OWNERS = [cr.Algebra, cr.Multivector, cr.LinearMap, cr.Coordinates, cr.SimplicialChain, DifferentialOperator, cr.Blade]
_OWNERS += [cr.LargeBlade, cr.LargeVersor, cr.RotorSpline, cga.ConformalObject, cga.VersorParts, pga.Screw]
_OWNERS += [pga.Robot, cr.GaussianSketch, cr.SJLT, cr.SRHT, cr.SparseSign, cr.LeverageSampling]
_OWNERS += [cr.PrincipalAngleDistribution]

_MADE = "takes what only the library makes and has checked"
_LEARN = "scikit-learn's own"

# Names without rows of their own, each with why.
EXEMPT = {
    "cr.ArgumentError": "an exception: its arguments are words",
    "cr.MissingDependencyError": "an exception: its arguments are words",
    "cr.FusionWarning": "a warning: its arguments are words",
    "cr.ConvergenceWarning": "a warning: its arguments are words",
    "cr.MissingCompilerWarning": "a warning: its arguments are words",
    "cr.get_printoptions": "takes nothing",
    "cr.set_printoptions": "is called by cr.printoptions, and would hold for the calls after it",
    "cr.Sketch": "the base of sketches, whose subclasses are in the table",
    **dict.fromkeys(
        [f"cr.{name}" for name in ("CrossChunk", "EveryCross", "Facets", "NearestToSpan", "SketchedInner")]
        + [f"cr.{name}" for name in ("SketchedStar", "SketchedVolume", "SubspacePCA", "SubspaceTest")],
        _MADE,
    ),
    "cr.compat": "answers as the packages whose names it has, in their errors too",
    "cr.draw": "a module, whose names are in the table",
    "cr.layers": "a module, whose names are in the table",
    "cr.presets": "a module, whose names are in the table",
    "draw.Shape": _MADE,
    "nn.CsvTable": "a record of names, which nn.Certificate.export looks up in the file",
    "nn.Status": "an enumeration of words",
    "nn.TableWarning": "a warning: its arguments are words",
    "nn.TableWarning.add_note": "a warning: its arguments are words",
    "nn.TableWarning.with_traceback": "a warning: its arguments are words",
    **dict.fromkeys(("nn.BetaScore", "nn.Candidate", "nn.NeuronScore"), _MADE),
    "nn.PolishedNetwork": _MADE,
    "nn.Verdict": _MADE,
    "nn.CalibrationDisplay.from_estimator": _LEARN,
    "nn.CalibrationDisplay.from_predictions": _LEARN,
    "nn.CalibrationDisplay.plot": _LEARN,
    "nn.LearningCurveDisplay.from_estimator": _LEARN,
    "nn.LearningCurveDisplay.plot": _LEARN,
}
# Methods that scikit-learn gives its estimators and displays: parameters of their own are those of the estimator.
_OF_SCIKIT_LEARN = {"get_params", "set_params", "get_metadata_routing", "set_output"}


def public_names():
    """Return the sorted names: cr.f, Class.method, pga.f, nn.f, nn.Class.method."""
    found = {f"cr.{name}" for name in cr.__all__}
    for preset in (pga, cga, sta):
        short = preset.__name__.rpartition(".")[2]
        found |= {f"{short}.{k}" for k, v in vars(preset).items() if k[0] != "_" and not inspect.ismodule(v)}
    for owner in _OWNERS:
        found |= {f"{owner.__name__}.{name}" for name in _methods(owner, properties=True)}
    for module, file in (("draw", "draw.py"), ("layers", "layers/equivariant.py")):  # read, as layers import torch
        found |= {f"{module}.{name}" for name in _defined(ROOT / file)}
    for name in nn.__all__:
        found.add(f"nn.{name}")
        held = getattr(nn, name)
        if inspect.isclass(held) and name != "Status":
            found |= {f"nn.{name}.{method}" for method in _methods(held, properties=False)}
    return sorted(found)


def commands():
    from clifford_rand_nn.cli.app import EXAMPLES

    return sorted(EXAMPLES)


def resolve(name):
    """Return what a public name calls; a method takes its object first."""
    owner, *rest = name.split(".")
    places = {"cr": cr, "nn": nn, "pga": pga, "cga": cga, "sta": sta} | {o.__name__: o for o in _OWNERS}
    if owner in ("draw", "layers"):
        import importlib

        held = importlib.import_module(f"clifford_rand.{owner}")
    else:
        held = places[owner]
    for part in rest:
        held = getattr(held, part)
    return held


def _methods(owner, properties):
    fields = {"count", "index", *getattr(owner, "_fields", ())}  # of named tuples
    for name in dir(owner):
        if name[0] == "_" or name in fields | INTERNAL or name in _OF_SCIKIT_LEARN or name.endswith("_request"):
            continue
        if owner is cr.Multivector and name in vars(BladeAttributes):
            continue
        held = inspect.getattr_static(owner, name)
        if inspect.isroutine(held) or (properties and (isinstance(held, property) or hasattr(held, "__set_name__"))):
            yield name


def of_one(owner):
    """Return the properties of a class and its methods without parameters."""
    return [name for name, parameters in _parameters(owner) if not parameters]


def of_two(owner):
    """Return the methods of a class whose first parameter is another object, and all that must be given."""
    return [name for name, parameters in _parameters(owner) if parameters in (["other"], ["other", "more"])]


def _parameters(owner):
    for name in _methods(owner, properties=True):
        if not isinstance(inspect.getattr_static(owner, name), classmethod | staticmethod):
            method = getattr(owner, name)
            yield name, list(inspect.signature(method).parameters)[1:] if callable(method) else []


def _defined(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"]
