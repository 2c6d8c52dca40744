"""Good calls of geometric algebra: algebras, multivectors, linear maps, blades, functions of multivectors."""

from collections.abc import Hashable

import numpy as np

import clifford_rand as cr
from support.bad_input.good import *
from support.bad_input.names import of_one, of_two

RNG = np.random.default_rng(7)
ALG, PLANE, PGA = cr.Algebra(3), cr.Algebra(2), cr.Algebra.pga(3)
A = ALG.multivector(RNG.standard_normal(8))
SCENE = cr.draw.scene(ALG.e1)
B = ALG.multivector(RNG.standard_normal(8))
V, W = ALG.vector(RNG.standard_normal(3)), ALG.vector(RNG.standard_normal(3))
BIVECTOR = ALG.bivector(RNG.standard_normal(3))
SMALL = 0.1 * A  # where arcsin and the like are real
ROTOR, OTHER_ROTOR = (0.3 * BIVECTOR).exp(), (0.2 * ALG.e12 + 0.1 * ALG.e23).exp()
BATCH = ALG.vector(RNG.standard_normal((4, 3)))
MATRIX = RNG.standard_normal((3, 3))
R23, R24, R34 = RNG.standard_normal((2, 3)), RNG.standard_normal((2, 4)), RNG.standard_normal((3, 4))
S24 = RNG.standard_normal((2, 4))
X = RNG.standard_normal((6, 3))
SYMBOLS = Made(lambda: ALG.symbols("x", 1))
MAP = cr.LinearMap(ALG, MATRIX)
BLADE, OTHER_BLADE, LINE = cr.Blade(R24), cr.Blade(S24), cr.Blade(RNG.standard_normal((1, 4)))
CHANCE = cr.PrincipalAngleDistribution(2, 2, 9)
VERSOR, SEVERAL = cr.LargeVersor(R34), np.stack([R24, S24 + 3 * R24])
LARGE, OTHER_LARGE = cr.LargeBlade(R24), cr.LargeBlade(S24)
POLAR = Made(lambda: cr.Coordinates.named("polar"))
FIELD = Made(lambda: cr.Coordinates.named("polar").symbols[0])
RADIAL = Made(lambda: cr.Coordinates.named("polar").algebra.er)
AXIAL = Made(lambda: cr.Coordinates.named("cylindrical").algebra.ephi)
SQUARE = cr.SimplicialChain.box(PLANE, [0, 0], [1, 1])
GRAD = Made(lambda: cr.gradient(ALG.symbols("x", 1)))
TURNS = Made(lambda: (PLANE.scalar([0.0, 0.2, 0.6]) * PLANE.e12).exp())
SPLINE = cr.RotorSpline([0, 1, 3], TURNS.make())
TOL = tolerance(1e-9)


def _file():
    cr.save(V, "good.json")
    return "good.json"


# any number >= 0 will do
_ANY_SIZE = dict.fromkeys(["infinity", "beyond_float", "beyond_printing", "1e150", "1e300", "an_integer"], "right")

# steps without end are the user's wish: what ends is tried
_ENDLESS = ["beyond_float", "beyond_printing", "a_million_millions", "2_to_the_31", "2_to_the_63"]
PATIENT = dict.fromkeys([*_ENDLESS, "unsigned,_the_largest"], "left out")

# norms and components beyond float64 are infinite, with NumPy's warning; `log_norm` has them
_HUGE = dict.fromkeys(["scale_1e150", "scale_1e300", "mixed_scales"], "other")

_REAL = {"arccos": SMALL, "arcsin": SMALL}  # where others than `A` are real
_AXIS = {"minus_one": "right", "one": "refused", "missing": "right"}
_TIMES = {"every": "right", "NaN": "refused", "infinity": "refused"}
_OUT = thing(np.zeros((2, 4)), missing="right", an_array="right")
_GRADES = dict.fromkeys(["missing", "zero", "empty_list", "a_list_of_it", "an_array_of_it", "one"], "right")


def _printed(precision, suppress, terms):
    with cr.printoptions(precision=precision, suppress=suppress, max_terms=terms):
        return repr(V)


def _blades(owner, other, **options):
    """Return a function of the name of a method of two blades: of their rows, of the other, and with options."""

    def calls(name):
        method = name.rpartition(".")[2]
        huge = _HUGE if name == "Blade.inner" else {}
        # beside the -0.0 of what is rounded the same blade may have other signs of its factors and itself
        rounded = {"integers": "right", "small_integers": "right"} if name == "Blade.span" else {}
        first, second = (BLADE, OTHER_BLADE) if owner is cr.Blade else (LARGE, OTHER_LARGE)
        found = [good(first, other(second)), *([good(first, second, **options)] if options else [])]
        rows_of = R34[:2] if owner is cr.Blade else S24
        if method == "wedge" and owner is cr.LargeBlade:  # rows are read where a number is asked
            run = lambda F, G: owner(F).wedge(owner(G)).log_norm()  # noqa: E731
        else:
            run = lambda F, G: getattr(owner(F), method)(owner(G))  # noqa: E731
        return [through(run, rows(R24, **huge), rows(rows_of, **huge, **rounded)), *found]

    return calls


def _large(value):
    return thing(value, an_array="right")


CALLS = catalogue({
    "cr.Algebra": [
        good(count(3), count(1), count(1)),
        good(signature=index(np.array([1, 1, -1, 0]), every="right", a_list="same")),
        good(
            metric=numbers(np.array([[0.0, -1.0], [-1.0, 0.0]]),
                           NaN="refused", infinity="refused", integers="right", small_integers="right"),
            names=names(["o", "inf"], missing="right"))],
    each("Algebra", "I I_inv metric signature p q r"): lambda name: through(lambda: get(ALG, name)),
    "Algebra.blades": through(lambda name: ALG.blades[name], text("e21")),
    "Algebra.basis_vectors": good(ALG),
    "Algebra.bivector": good(ALG, numbers(RNG.standard_normal(3))),
    "Algebra.vector": good(ALG, numbers(R23)),
    "Algebra.scalar": good(ALG, numbers(RNG.standard_normal(4))),
    "Algebra.multivector": [
        good(ALG, numbers(RNG.standard_normal((2, 3))), count(2, **_GRADES), dtype=dtype(np.float64)),
        through(lambda values: ALG.multivector({"e1": values, "e23": 2.0}),
                numbers(RNG.standard_normal(4), nested_lists="right")),
        through(lambda name: ALG.multivector(_dict_of(name)), text("e23"))],
    "Algebra.blade": good(ALG, text("e21")),
    "Algebra.__call__": through(
        lambda words: ALG(words), text("e1 + 2*e23", a_number="right", not_a_number="other", empty_list="right")),
    "Algebra.cga": good(count(2), null_basis=flag(True)),
    "Algebra.pga Algebra.vga": good(count(2)),
    "Algebra.sta": good(),
    "Algebra.convert": [
        good(PGA, element(ALG.e12 * 1.0), drop=flag(True)),
        good(PGA, ALG.e12, thing({"e1": "e2", "e2": "e3", "e3": "e1"}, missing="right", a_dict="refused"))],
    "Algebra.from_left_matrix": good(ALG, numbers(A.left_matrix()), rtol=TOL),
    "Algebra.from_right_matrix": good(ALG, numbers(A.right_matrix()), rtol=TOL),
    "Algebra.from_spinor_matrix": good(ALG, numbers(A.spinor_matrix(), every="other"), rtol=TOL),
    "Algebra.random_multivector": [
        good(ALG, rng=rng(0), shape=shape((2,)), grades=count(2, every="right", zero="right", minus_one="refused")),
        good(ALG, rng=0, dtype=dtype(np.float32))],
    "Algebra.reciprocal_frame": [
        through(lambda a, b: ALG.reciprocal_frame([a, b, ALG.e3]), element(V), element(W)),
        good(ALG, thing([V, W, ALG.e3]))],
    "Algebra.symbols": good(ALG, text("x", very_long="right"), count(1, every="right", minus_one="refused")),
    "cr.Multivector": good(thing(ALG), thing(A.keys), numbers(RNG.standard_normal(8))),
    each("Multivector", [*of_one(cr.Multivector), "exp", "outercos", "spinor_matrix", "to_numeric"]): lambda name:
        through(lambda A: get(A, name), owner(_REAL.get(name.rpartition(".")[2], A), every="other")),
    "Multivector.log Multivector.sqrt": good(owner(ROTOR, every="other")),
    each("Multivector", of_two(cr.Multivector)): lambda name: good(owner(A), element(B)),
    "+ Multivector.wedge": through(lambda A, B: A.wedge(B, B), owner(A), element(V)),
    "Multivector.astype": good(owner(A), dtype(np.float32)),
    "Multivector.bivector_split": good(owner(BIVECTOR), rtol=TOL),
    "Multivector.diff": through(
        lambda x, symbol, n: (x * x).diff(x["e1"] if symbol == "e1" else symbol, n), SYMBOLS, text("e1"), count(1)),
    each("Multivector", "expand factor symbols_used"): lambda name: through(lambda x: get(x * x, name), SYMBOLS),
    "Multivector.evalf": through(lambda x, n: (x * x).evalf(n), SYMBOLS, count(5, **PATIENT)),
    "Multivector.integrate": through(lambda x: (x * x).integrate(x["e1"]), SYMBOLS),
    "Multivector.args": through(lambda A: A.args, owner(V)),
    "Multivector.func": through(lambda A: A.func(1, 2, 3), owner(V)),
    "Multivector.simplify": through(lambda x, how: (x * x).simplify(how), SYMBOLS, function(None)),
    "Multivector.subs": [
        through(lambda x, value: x.subs({x["e1"]: value}), SYMBOLS, owner(2, every="other")),
        good(SYMBOLS, thing({"x1": 2}, a_dict="right", empty_list="right"))],
    "Multivector.lambdify": [
        through(lambda x, backend: (x * x).lambdify(*x.values.tolist(), backend=backend),
                SYMBOLS, backend=word("numpy")),
        through(lambda x, one: (x * x).lambdify(one, "x2", "x3"), SYMBOLS, text("x1"))],
    each("Multivector", "factorize_blade is_blade"): good(owner(V ^ W), rtol=TOL),
    "Multivector.factorize_versor": good(owner(V * W), rtol=tolerance(1e-12)),
    "Multivector.filter": good(owner(A), function(lambda x: abs(x) > 0.5, missing="right")),
    "Multivector.map": good(owner(A), function(lambda x: 2 * x)),
    "Multivector.grade": good(owner(A), count(1, one="right", zero="right", a_list_of_it="right", empty_list="right")),
    each("Multivector", "inv is_versor"): good(owner(ROTOR), rtol=TOL),
    "Multivector.isclose": good(
        owner(A), element(B), rtol=tolerance(1e-9, missing="refused", **_ANY_SIZE), atol=count(0, every="right")),
    each("Multivector", "intersection span"): good(owner(V ^ W), element(ALG.e12 * 1.0), rtol=TOL),
    each("Multivector", "mean sum"): good(owner(BATCH), count(0, **_AXIS), keepdims=flag(True)),
    "Multivector.prod": good(owner(BATCH), count(0, **_AXIS), rule=word("gp")),
    "Multivector.normalized": good(owner(A), rtol=TOL),
    "Multivector.outermorphism": good(owner(A), numbers(MATRIX), thing(ALG, missing="right")),
    each("Multivector", "project reject"): good(owner(A), element(V)),
    "Multivector.reflect": good(owner(A), element(V), inside=flag(False)),
    "Multivector.replace": [
        through(lambda A, value: A.replace({"e1": value}), owner(A), numbers(1.5, every="other")),
        good(BATCH, numbers(1.5, every="right", NaN="other", all_NaN="other"), index(1, every="right"))],
    "Multivector.reshape": [
        good(owner(BATCH, every="right", NaN="other"), count(2, every="right"), 2),
        good(BATCH, shape((2, 2), negative="right"))],
    "Multivector.sandwich": good(owner(ROTOR), element(A)),
    "Multivector.vector_matrix": good(owner(ROTOR)),
    "cr.LinearMap": good(thing(ALG), numbers(MATRIX), thing(ALG, missing="right")),
    each("LinearMap", of_one(cr.LinearMap)): lambda name:
        through(lambda F: get(cr.LinearMap(ALG, F), name), numbers(MATRIX, every="other")),
    "LinearMap.bivector": through(lambda: cr.LinearMap.from_function(ALG, lambda a: a << BIVECTOR).bivector()),
    "LinearMap.astype": good(MAP, dtype(np.float32)),
    "LinearMap.derivation": good(MAP, element(A)),
    "LinearMap.eigenblades": [
        good(cr.LinearMap(ALG, MATRIX + MATRIX.T), rtol=TOL),
        through(lambda F: cr.LinearMap(ALG, F).eigenblades(), numbers(MATRIX + MATRIX.T, every="other"))],
    "LinearMap.from_function": good(thing(ALG), function(lambda a: 2 * a)),
    "LinearMap.from_images": [
        good(thing(PLANE), thing([PLANE.e2, -PLANE.e1])),
        through(lambda a: cr.LinearMap.from_images(PLANE, [a, PLANE.e1]), element(PLANE.vector([1.5, 2.0])))],
    "LinearMap.from_symbols": good(thing(PLANE), text("f", very_long="right"), thing(PLANE, missing="right")),
    "LinearMap.from_versor": good(element(ROTOR)),
    "LinearMap.identity": good(thing(PLANE)),
    each("LinearMap", "is_isometry is_skew is_symmetric"): good(MAP, rtol=TOL),
    "LinearMap.isclose": good(MAP, thing(MAP), rtol=TOL),
    "LinearMap.simplify": good(MAP, function(None)),
    "LinearMap.subs": good(
        Made(lambda: cr.LinearMap.from_symbols(PLANE, "f")), thing({"f_11": 1}, a_dict="right", empty_list="right")),
    "LinearMap.__call__": through(lambda x: MAP(x), element(A)),
    "cr.Coordinates": [
        good(text("r theta", an_array="refused"),
             position=names(["r*cos(theta)", "r*sin(theta)"], twice_the_same="right")),
        good("x y", lengths=names([1, "x"], of_numbers="right", missing="right"), frame=word("unit", every="right"),
             names=names(["a", "b"], missing="right")),
        good("x y", metric=numbers(np.array([[2.0, 0.5], [0.5, 1.0]]), every="other"),
             signs=index([1, 1], every="right"), simplify=function(None))],
    "Coordinates.named": good(word("polar"), frame=word("coordinate", nested_lists_of_text="right")),
    each("Coordinates", of_one(cr.Coordinates)): lambda name: through(lambda chart: get(chart, name), POLAR),
    each("Coordinates", "curl divergence laplacian"): good(POLAR, element(FIELD, every="other")),
    "Coordinates.vector_curl": through(
        lambda F: cr.Coordinates.named("cylindrical").vector_curl(F), element(AXIAL, every="other")),
    "Coordinates.to_ambient": good(POLAR, element(RADIAL, every="other")),
    "Coordinates.from_ambient": through(
        lambda x: cr.Coordinates.named("polar").from_ambient(x, x),
        element(Made(lambda: PLANE.symbols("x", 1)), every="other")),
    "Coordinates.covariant": good(POLAR, element(RADIAL, every="other"), count(1, zero="right", minus_one="right")),
    "Coordinates.partial": good(POLAR, count(1, zero="right", minus_one="right")),
    "Coordinates.field": good(POLAR, text("f", very_long="right"), count(0, every="right", minus_one="refused")),
    "cr.SimplicialChain": good(
        thing(PLANE), rows(RNG.standard_normal((4, 2)), every="other", NaN="refused"),
        index(np.array([[0, 1, 2], [1, 2, 3]]), missing="right", equal="other"),
        weights=index(np.array([1, 2]), missing="right", every="right")),
    each("SimplicialChain", "boundary directed_measure k"): lambda name: through(lambda: get(SQUARE, name)),
    "SimplicialChain.box": good(
        thing(PLANE), vector(np.array([0.0, 0.5]), every="right"), vector(np.array([1.0, 2.0]), every="right"),
        n_cells=count(2, an_array_of_it="right")),
    "SimplicialChain.integrate": good(
        SQUARE, *(function(f, a_number="right", not_a_number="other", missing="refused") for f in (lambda x: x, 1)),
        degree=count(3), measure=word("volume")),
    "SimplicialChain.map": good(SQUARE, function(cr.LinearMap(PLANE, np.eye(2)))),
    each("DifferentialOperator", "is_zero leftward"): lambda name:
        through(lambda D: getattr(D, name.rpartition(".")[2]), GRAD),
    "DifferentialOperator.product": good(
        GRAD, word("wedge"), element(Made(lambda: ALG.symbols("x", 1)), every="other")),
    "DifferentialOperator.product_from_left": good(GRAD, word("wedge"), element(V, every="other")),
    "DifferentialOperator.simplify": good(GRAD, function(None)),
    "cr.printoptions": through(
        _printed,
        count(3, missing="right", zero="right", one="right"),
        flag(True, missing="right"),
        count(5, missing="right")),
    "cr.Blade": [good(rows(R24), **RTOL), good(RNG.standard_normal((2, 3)), thing(ALG, missing="right"))],
    each("Blade", of_one(cr.Blade)): lambda name: through(lambda F: get(cr.Blade(F), name), rows(R24, **_HUGE)),
    "Blade.from_multivector": good(element(V ^ W), rtol=TOL),
    each("Blade", "inner log log_inner principal_angles same_orientation vee wedge"): _blades(cr.Blade, thing),
    each("Blade", "isclose is_parallel project reject intersection span"): _blades(cr.Blade, thing, rtol=TOL),
    "+ Blade.isclose": good(BLADE, BLADE, rtol=TOL),
    each("Blade", "intersection span", "+ "): good(BLADE, LINE, rtol=TOL),
    each("Blade", "is_null normalized"): good(BLADE, rtol=TOL),
    "Blade.contains": good(BLADE, rows(R24), rtol=TOL),
    "Blade.distance": good(BLADE, OTHER_BLADE, kind=word("chordal")),
    each("Blade", "projection_of rejection_of"): good(BLADE, rows(RNG.standard_normal((3, 4))), rtol=TOL),
    "Blade.scaled": good(BLADE, numbers(1.5, **_TIMES), count(1, every="right")),
    "cr.LargeBlade": through(lambda F, **o: cr.LargeBlade(F, **o).log_norm(), rows(R34), **RTOL),
    each("LargeBlade", of_one(cr.LargeBlade)): lambda name: through(
        lambda F: (cr.LargeBlade(F).log_norm(), get(cr.LargeBlade(F), name)), rows(R34, **_HUGE)),
    "LargeBlade.log_norm": through(
        lambda F, **o: cr.LargeBlade(F).log_norm(**o), rows(R34, **_HUGE), max_memory=limit(2.0**20),
        scratch=path(".", missing="right", a_folder="right")),
    "LargeBlade.orthonormal_basis": through(lambda out: LARGE.orthonormal_basis(out=_fresh(out)), _OUT),
    each("LargeBlade", "contains intersection"): _blades(cr.LargeBlade, _large, rtol=TOL),
    each("LargeBlade", "inner log_inner principal_angles wedge"): _blades(cr.LargeBlade, _large),
    "LargeBlade.distance": _blades(cr.LargeBlade, _large, kind=word("chordal")),
    "LargeBlade.log": lambda name: [
        through(lambda F, G: cr.LargeBlade(F).log(cr.LargeBlade(G)), rows(R24), rows(S24)),
        through(lambda other, out: LARGE.log(other, out=_fresh(out)), _large(OTHER_LARGE), _OUT)],
    each("Blade", "exp"): good(BLADE, numbers(BLADE.log(OTHER_BLADE))),
    each("LargeBlade", "exp"): through(lambda T: LARGE.exp(T).log_norm(), rows(BLADE.log(OTHER_BLADE))),
    "LargeBlade.coordinates": good(LARGE, rows(R24)),
    each("LargeBlade", "projection_of rejection_of"): lambda name: through(
        lambda X, out: getattr(LARGE, name.rpartition(".")[2])(X, out=_fresh(out)), rows(R24), _OUT),
    "cr.subspace_distances": [
        through(lambda F: cr.subspace_distances(cr.Blade(F)), rows(SEVERAL)),
        good(thing([LARGE, OTHER_LARGE]), thing([OTHER_LARGE], missing="right"), kind=word("chordal"))],
    "cr.subspace_mean": [
        through(lambda F: cr.subspace_mean(cr.Blade(F)).factors, rows(SEVERAL)),
        through(
            lambda blades, weights, tol, steps: cr.subspace_mean(
                blades, weights=weights, tol=tol, max_iter=steps
            ).log_norm(),
            thing([LARGE, OTHER_LARGE]), weights(np.array([0.4, 0.6])),
            positive(1e-9, **_ANY_SIZE), count(50, **PATIENT))],
    "cr.subspace_pca": through(
        lambda blades, m, mean: cr.subspace_pca(blades, m, mean=mean).variances,
        thing([LARGE, OTHER_LARGE]), count(1), thing(LARGE, missing="right")),
    "cr.PrincipalAngleDistribution": through(
        lambda j, k, d: cr.PrincipalAngleDistribution(j, k, d).sample(2, rng=0), count(2), count(3), count(9)),
    "PrincipalAngleDistribution.sample": good(CHANCE, count(3), rng=rng(0)),
    "PrincipalAngleDistribution.cdf": good(
        CHANCE, numbers(np.array([0.1, 1.2])), which=word("smallest"), n_samples=count(99), rng=rng(0)),
    "PrincipalAngleDistribution.distance_pvalue": good(
        CHANCE, numbers(np.array([0.1, 1.2])), kind=word("chordal"), n_samples=count(99), rng=rng(0)),
    "cr.subspace_test": good(
        thing([LARGE, OTHER_LARGE]), thing([OTHER_LARGE]), kind=word("geodesic"), n_permutations=count(9), rng=rng(0),
        distances=numbers(np.array([[0, 1.0, 1], [1, 0, 0], [1, 0, 0]]), missing="right")),
    "cr.LargeVersor": through(lambda F: cr.LargeVersor(F).log_norm(), rows(R34)),
    each("LargeVersor", "is_even log_norm norm reverse inv"): lambda name: through(
        lambda F: (cr.LargeVersor(F).log_norm(), get(cr.LargeVersor(F), name)), rows(R34, **_HUGE)),
    "LargeVersor.sandwich": through(
        lambda X, out, twisted: VERSOR.sandwich(X, out=_fresh(out), twisted=twisted),
        rows(R24), _OUT, twisted=flag(False)),
    "LargeVersor.vector_matrix": through(
        lambda out, twisted: VERSOR.vector_matrix(out=_fresh(out), twisted=twisted),
        thing(np.zeros((4, 4)), missing="right", an_array="right"), twisted=flag(False)),
    "LargeVersor.from_vector_matrix": good(rows(np.eye(4)), rtol=TOL, twisted=flag(False)),
    "cr.RotorSpline": through(
        lambda times, rotors: cr.RotorSpline(times, rotors)([0.5, 1.5]),
        vector(np.array([0.0, 1.0, 3.0]), every="right"), element(TURNS)),
    each("RotorSpline", "__call__ velocity"): good(SPLINE, vector(np.array([0.5, 1.5]), **_TIMES)),
    "cr.RobustMotorResult": through(lambda X, Y: cr.robust_motor_from_points(PGA, X, Y), X, X + 0.1),
    "cr.concatenate": [
        good(thing([BATCH, BATCH]), count(0, **_AXIS)), through(lambda a: cr.concatenate([BATCH, a]), element(BATCH))],
    "cr.stack": [good(thing([V, W]), count(0, minus_one="right")), through(lambda a: cr.stack([V, a]), element(W))],
    "cr.fused": [
        through(lambda a, b: cr.fused(lambda a, b: a * b, backend="numpy")(a, b), owner(V), owner(W)),
        through(
            lambda how, backend, static_argnames: cr.fused(how, backend=backend, static_argnames=static_argnames)(V, W),
            function(lambda a, b: a * b, missing="left out"),
            backend=word("numpy"), static_argnames=names((), empty_list="right"))],
    "cr.geometric_derivative": [
        through(
            lambda F, x, rule, side: cr.geometric_derivative(x * x if F is None else F, x, rule=rule, side=side),
            element(None, every="other"), SYMBOLS, rule=word("gp"), side=word("left")),
        through(lambda x: cr.geometric_derivative(SYMBOLS.make() * SYMBOLS.make(), x), element(SYMBOLS, every="other")),
    ],
    "cr.gradient": good(element(SYMBOLS, every="other")),
    "cr.inner": [good(element(A), element(B)), good(thing(BLADE), thing(OTHER_BLADE))],
    "cr.wedge": [good(element(V), element(W)), good(thing(BLADE), thing(OTHER_BLADE))],
    "cr.star": [good(element(A)), good(thing(BLADE))],
    "cr.rotor_between": good(element(V), element(W)),
    "cr.rotor_from_matrix": good(thing(ALG), rows(ROTOR.vector_matrix()), **RTOL),
    "cr.rotor_from_points": good(thing(ALG), rows(X), rows(X @ ROTOR.vector_matrix().T), weights=weights(np.ones(6))),
    "cr.motor_from_points": good(thing(PGA), rows(X), rows(X + 0.5), weights=weights(np.ones(6)), scale=flag(False)),
    "cr.robust_motor_from_points": good(
        thing(PGA), rows(X), rows(X + 0.5), weights=weights(np.ones(6)), scale=flag(False), loss=word("geman-mcclure"),
        noise=numbers(None, every="right"), tol=tolerance(1e-6, missing="refused"), max_iter=count(20, **PATIENT)),
    "cr.slerp": good(
        element(ROTOR), element(OTHER_ROTOR),
        numbers(np.array([0.2, 0.5]), every="right", NaN="other", infinity="other"), shortest=flag(True)),
    "cr.save": good(element(V, a_number="refused"), path("multivector.npz")),
    "cr.load": good(path(Made(_file))),
    "draw.scene": good(
        thing([ALG.e1, ALG.e2], an_array="right"), colors=thing(["red", "blue"], missing="right", a_number="right"),
        labels=names(["a", "b"], missing="right", with_None="right"), extent=number(2.0, missing="right"),
        dual=flag(False), title=word("A title")),
    "draw.save": good(thing(SCENE), path("scene.html", no_regular_file="right")),
    "draw.Scene": [
        through(lambda where: SCENE.save(where), path("scene.html", no_regular_file="right")),
        through(lambda: SCENE.html()),
        through(lambda frame: SCENE.plot(frame=frame), count(0))],
})  # fmt: skip


def _dict_of(name):
    """Return {name: 2}; what cannot be the key of a dict by the same error as an unknown name."""
    return {name: 2.0} if isinstance(name, Hashable) else {str(name): 2.0}


def _fresh(out):
    return out.copy() if isinstance(out, np.ndarray) else out
