"""Second checker of proofs, in FLINT's arithmetic: exact rationals, and balls with rigorous logarithms and roots.

It is written from the mathematics (docs of the proof format), shares no code with the first and takes other ways: the
value of a dual point is the minimum over predictions of loss + theta f at its minimizer, normals of hyperplanes are
null spaces, columns of all neurons are one product of integer matrices, and every number is rounded once, at the end.
"""

import functools
import itertools
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mat, fmpz, fmpz_mat

_PRECISION = 700  # bits
_BATCH = 2048  # hyperplanes in one product
_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_LOSSES = ("squared", "squared_hinge", "huber", "logistic", "softmax", "log_cosh")


class RefusedError(Exception):
    """The proof does not hold; the message says where."""


def claim(holds, words):
    """Refuse the proof unless something holds."""
    if not holds:
        raise RefusedError(words)


@dataclass
class Proof:
    """A proof in FLINT's types; matrices have a row for each sample."""

    loss: str
    delta: Any
    penalty: str
    bias: str
    constant: Any
    intercept: bool
    beta: Any
    X: fmpq_mat
    y: fmpq_mat
    weights: list
    theta: fmpq_mat
    network: dict
    family: dict

    @property
    def n(self):
        return self.X.nrows()

    @property
    def total(self):
        return sum(self.weights, fmpq(0))

    @property
    def inputs(self):
        """Rows whose weights the norm charges."""
        return beside(self.X, self.constant) if self.bias == "penalized" else self.X

    @property
    def limit(self):
        """Square of the largest correlation with a neuron of norm one."""
        return (self.total * self.beta) ** 2


@dataclass
class Values:
    """Enclosure of the network's objective, and a lower bound of the family's."""

    objective_below: Fraction
    objective: Fraction
    bound: Fraction
    bound_above: Fraction


def values(stated):
    """Return what network and dual point of a proof are worth, whatever objective and bound it states."""
    before, flint.ctx.prec = flint.ctx.prec, _PRECISION
    try:
        proof = read(stated)
        kind = proof.family["kind"]
        claim(kind in FAMILIES, "no such family")
        f, penalty, error = network(proof)
        targets = [entries(proof.y, i) for i in range(proof.n)]
        losses = [w * loss(proof, *pair) for w, *pair in zip(proof.weights, f, targets, strict=True)]
        # no loss has a slope of more than 2 + |f| + |y| within 1 of f
        slopes = [w * (2 + sum(map(abs, a + b), fmpq(0))) for w, a, b in zip(proof.weights, f, targets, strict=True)]
        missed = ball(len(targets[0]) * error * sum(slopes, fmpq(0))) * arb(0, 1)
        objective = (ball(sum(losses, fmpq(0))) + missed) / ball(proof.total) + ball(proof.beta) * penalty
        gains = [w * gain(proof, entries(proof.theta, i), w, entries(proof.y, i)) for i, w in enumerate(proof.weights)]
        conjugate = FAMILIES[kind](proof)
        bound = (ball(sum(gains, fmpq(0))) - conjugate) / ball(proof.total)
        ends = [rational(objective.lower()), rational(objective.upper()), rational(bound.lower())]
        return Values(ends[0], ends[1], max(ends[2], Fraction(0)), max(rational(bound.upper()), Fraction(0)))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    finally:
        flint.ctx.prec = before


def confirm(stated):
    """Refuse a proof whose stated numbers are not true; return the values."""
    own = values(stated)
    try:
        objective, bound = (Fraction(str(number(stated[name]))) for name in ("objective", "bound"))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RefusedError("no numbers are stated") from error
    claim(own.objective_below <= objective, "the network's objective is larger")
    claim(bound <= own.bound_above, "the dual value is smaller")
    claim(bound <= objective, "the bound is above the objective")
    return own


# ---- reading


def whole(text):
    claim(type(text) is str and _DECIMAL.fullmatch(text) is not None, "not an integer in decimals")
    return fmpz(text) if len(text) < 4000 else fmpz(Fraction(text).numerator)


def number(pair):
    claim(type(pair) is list and len(pair) == 2, "not a pair")
    p, q = map(whole, pair)
    claim(q != 0, "a denominator of zero")
    return fmpq(p, q)


def matrix(stated, rows, columns):
    numerators, q = stated["numerators"], whole(stated["denominator"])
    claim(q > 0 and type(numerators) is list and len(numerators) == rows, "not a table of so many rows")
    claim(all(type(row) is list and len(row) == columns for row in numerators), "not a table of so many columns")
    return fmpq_mat(fmpz_mat(rows, columns, [whole(text) for row in numerators for text in row])) * fmpq(1, q)


def read(stated):
    claim(stated["format"] == "clifford-rand proof" and stated["version"] == "1", "not a proof of this version")
    own = stated["problem"]
    n, d, outputs = (int(whole(own[name])) for name in ("n", "d", "outputs"))
    claim(n > 0 and d > 0 and outputs > 0, "nothing to train on")
    X, y = (matrix(stated["data"]["X"], n, d), matrix(stated["data"]["y"], n, outputs))
    weights = entries(matrix(own["weights"], 1, n), 0)
    delta, constant, beta = (number(own[name]) for name in ("delta", "constant", "beta"))
    claim(all(value > 0 for value in (delta, constant, beta, *weights)), "a size is not positive")
    claim(own["loss"] in _LOSSES, "no such loss")
    claim(own["penalty"] in ("l1", "l2", "squared") and own["bias"] in ("none", "free", "penalized"), "no such penalty")
    claim(type(own["intercept"]) is bool, "an intercept is there or not")
    theta = matrix(stated["dual"], n, outputs)
    if own["intercept"]:
        claim(all(entry == 0 for entry in (row_of_ones(n) * theta).entries()), "an intercept is not orthogonal")
    parts = own["penalty"], own["bias"], constant, own["intercept"], beta, X, y, weights, theta
    return Proof(own["loss"], delta, *parts, stated["network"], stated["family"])


def patterns(proof):
    """Return activation patterns as 0 and 1, (P, n)."""
    texts = proof.family["patterns"]
    claim(all(re.fullmatch(r"[0-9a-f]+", text, re.ASCII) for text in texts), "not hexadecimal")
    bits = [f"{int(text, 16):0{proof.n}b}"[::-1] for text in texts]
    claim(all(len(text) == proof.n for text in bits), "a pattern of other rows")
    return fmpq_mat(fmpz_mat(len(bits), proof.n, [int(bit) for text in bits for bit in text]))


# ---- small linear algebra


def entries(M, i):
    return [M[i, j] for j in range(M.ncols())]


def row_of_ones(n):
    return fmpq_mat(fmpz_mat(1, n, [1] * n))


def beside(M, value):
    """Return the matrix with a constant column behind it."""
    return stacked([[*entries(M, i), value] for i in range(M.nrows())], M.ncols() + 1)


def stacked(rows, columns):
    return fmpq_mat(len(rows), columns, [entry for row in rows for entry in row])


def over_integers(M):
    """Return an integer matrix and the denominator over which it is M."""
    q = fmpz(1)
    for entry in M.entries():
        q = q.lcm(entry.q)
    return fmpz_mat(M.nrows(), M.ncols(), [entry.p * (q // entry.q) for entry in M.entries()]), q


def ball(value):
    return value if isinstance(value, arb) else arb(value)


def rational(point):
    """Return an exact ball as a fraction."""
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exact(balls):
    """Return the midpoints of balls."""
    if isinstance(balls, flint.arb_mat):
        return fmpq_mat(balls.nrows(), balls.ncols(), list(map(exact, balls.entries())))
    return fmpq(*rational(balls.mid()).as_integer_ratio())


def squares(values):
    return sum((value * value for value in values), fmpq(0))


def size(values, p):
    """Return the p-norm as a ball."""
    return ball(sum((abs(value) for value in values), fmpq(0))) if p == 1 else ball(squares(values)).sqrt()


# ---- losses


def loss(proof, f, y):
    residuals = [a - b for a, b in zip(f, y, strict=True)]
    match proof.loss:
        case "squared":
            return squares(residuals) / 2
        case "squared_hinge":
            return squares([1 - a * b for a, b in zip(f, y, strict=True) if a * b < 1]) / 2
        case "huber":
            line = [r for r in map(abs, residuals) if r > proof.delta]
            inside = squares([r for r in residuals if abs(r) <= proof.delta]) / 2
            return inside + sum((proof.delta * r - proof.delta**2 / 2 for r in line), fmpq(0))
        case "logistic":
            margins = [a * b for a, b in zip(f, y, strict=True)]
            return sum((ball(max(-z, fmpq(0))) + (-ball(abs(z))).exp().log1p() for z in margins), arb(0))
        case "log_cosh":
            return ball(proof.delta**2) * sum((log_cosh(abs(r / proof.delta)) for r in residuals), arb(0))
        case "softmax":
            top = max(range(len(f)), key=f.__getitem__)
            others = sum((ball(f[c] - f[top]).exp() for c in range(len(f)) if c != top), arb(0))
            return others.log1p() + ball(f[top] - sum((a * b for a, b in zip(f, y, strict=True)), fmpq(0)))


def log_cosh(u):
    if u > 1:
        return ball(u) + (-2 * ball(u)).exp().log1p() - arb(2).log()
    half = (ball(u) / 2).sinh()
    return (2 * half * half).log1p()


def gain(proof, theta, w, y):
    """Return the least value of loss(f) + theta f / w over f."""
    theta = [t / w for t in theta]
    pairs = list(zip(theta, y, strict=True))
    match proof.loss:
        case "squared_hinge":
            claim(all(b in (1, -1) and t * b >= 0 for t, b in pairs), "outside of the domain")
            best = [b - t for t, b in pairs]
        case "squared":
            best = [b - t for t, b in pairs]
        case "huber":
            claim(all(abs(t) <= proof.delta for t in theta), "outside of the domain")
            best = [b - t for t, b in pairs]
        case "logistic":
            claim(all(b in (1, -1) and 0 <= t * b <= 1 for t, b in pairs), "outside of the domain")
            return sum((entropy([t * b, 1 - t * b]) for t, b in pairs), arb(0))
        case "log_cosh":
            claim(all(abs(t) <= proof.delta for t in theta), "outside of the domain")
            bits = [entropy([(1 + t / proof.delta) / 2, (1 - t / proof.delta) / 2]) - arb(2).log() for t in theta]
            return ball(sum((t * b for t, b in pairs), fmpq(0))) + ball(proof.delta**2) * sum(bits, arb(0))
        case "softmax":
            shares = [b - t for t, b in pairs]
            claim(sorted(y) == [*[0] * (len(y) - 1), 1] and len(y) > 1, "a label is not one class")
            claim(min(shares) >= 0 and sum(shares, fmpq(0)) == 1, "outside of the domain")
            return entropy(shares)
    return loss(proof, best, y) + sum((t * f for t, f in zip(theta, best, strict=True)), fmpq(0))


def entropy(shares):
    return sum((-ball(p) * ball(p).log() for p in shares if p != 0), arb(0))


# ---- networks


def network(proof):
    """Return the predictions, a list for each row, the penalty as a ball, and what predictions miss at most."""
    stated, outputs = proof.network, proof.y.ncols()
    t = entries(matrix(stated["t"], 1, outputs), 0)
    claim(proof.intercept or not any(t), "an intercept that the problem has not")
    if stated["kind"] == "relu":
        f, penalty, error = *relu(proof, stated), fmpq(0)
    else:
        claim(stated["kind"] == proof.family["kind"] and stated["kind"] in NETWORKS, "no network of this family")
        f, penalty, error = NETWORKS[stated["kind"]](proof, stated)
        claim(error < 1, "predictions without digits")
    return [[a + b for a, b in zip(entries(f, i), t, strict=True)] for i in range(proof.n)], penalty, error


def charged(proof, weights):
    """Return what the norm charges of weights with a bias behind them."""
    *slopes, bias = weights
    claim(bias == 0 or proof.bias != "none", "a bias that the problem has not")
    return [*slopes, bias / proof.constant] if proof.bias == "penalized" else slopes


def relu(proof, stated):
    claim(proof.penalty in ("l1", "l2"), "a ReLU network is charged by norms")
    m = len(stated["W"]["numerators"])
    W, a = matrix(stated["W"], m, proof.X.ncols() + 1), matrix(stated["a"], m, proof.y.ncols())
    hidden = [[max(z, fmpq(0)) for z in entries(row, 0)] for row in rows_of(beside(proof.X, fmpq(1)) * W.transpose())]
    p = 1 if proof.penalty == "l1" else 2
    penalty = sum((size(charged(proof, entries(W, j)), p) * size(entries(a, j), 2) for j in range(m)), arb(0))
    return stacked(hidden, m) * a, penalty


def rows_of(M):
    return [stacked([entries(M, i)], M.ncols()) for i in range(M.nrows())]


def gated_network(proof, stated):
    on, outputs, X = patterns(proof), proof.y.ncols(), beside(proof.X, fmpq(1))
    U = matrix(stated["U"], on.nrows() * outputs, X.ncols())
    linear = X * U.transpose()  # (n, P C)
    sums = [
        [sum((linear[i, g * outputs + c] for g in range(on.nrows()) if on[g, i]), fmpq(0)) for c in range(outputs)]
        for i in range(proof.n)
    ]
    blocks = [
        squares(itertools.chain(*(charged(proof, entries(U, g * outputs + c)) for c in range(outputs))))
        for g in range(on.nrows())
    ]
    if proof.penalty == "squared":
        return stacked(sums, outputs), ball(sum(blocks, fmpq(0)) / 2), fmpq(0)
    return stacked(sums, outputs), sum((ball(block).sqrt() for block in blocks), arb(0)), fmpq(0)


def kernel_matrix(proof):
    rows = [entries(proof.inputs, i) for i in range(proof.n)]
    K = flint.arb_mat(proof.n, proof.n)
    for (i, z), (j, w) in itertools.product(enumerate(rows), repeat=2):
        s = sum((a * b for a, b in zip(z, w, strict=True)), fmpq(0))
        if s:
            angle = (ball(squares(z) * squares(w) - s * s).sqrt() / ball(s)).atan() / arb.pi()  # of its tangent
            K[i, j] = ball(s) * (1 - angle if s > 0 else -angle) / 2
    if "steps" not in proof.family:
        return K
    levels = matrix(proof.family["levels"], proof.n, len(proof.family["levels"]["numerators"][0]))
    columns = [[levels[i, c] for i in range(proof.n)] for c in range(levels.ncols())]
    boxes = proof.family.get("boxes", False)
    claim(isinstance(boxes, bool), "boxes is not true or false")
    spans = sum((max(column) - min(column) for column in columns), fmpq(0))
    claim(boxes or spans <= 1, "levels of more than one in all")
    weight = number(proof.family["steps"])
    claim(weight >= 0, "steps of a negative weight")
    for i, j in itertools.product(range(proof.n), repeat=2):
        apart = sum((abs(column[i] - column[j]) for column in columns), fmpq(0))
        K[i, j] += ball(weight) * (ball(-apart).exp() if boxes else ball(1 - apart))
    return K


def kernel_network(proof, stated):
    alpha = matrix(stated["alpha"], proof.n, proof.y.ncols())
    flint.ctx.prec += 4 * max(len(str(entry)) for entry in alpha.entries())
    f = kernel_matrix(proof) * flint.arb_mat(alpha)
    return exact(f), form(proof, alpha) / 2, max(exact(z.rad()) for z in f.entries())


def form(proof, a):
    a = flint.arb_mat(a)
    return sum((a.transpose() * kernel_matrix(proof) * a)[c, c] for c in range(a.ncols()))


# ---- families: the conjugate of the penalty, or a refusal


def gated(proof):
    claim(proof.penalty in ("l2", "squared"), "gates have l2 norms")
    on = patterns(proof)
    products = [[t * x for t in entries(proof.theta, i) for x in entries(proof.inputs, i)] for i in range(proof.n)]
    gradients = on * stacked(products, len(products[0])) if on.nrows() else fmpq_mat(0, 1, [])
    if proof.bias == "free":
        claim(all(total == 0 for total in (on * proof.theta).entries()), "a gate's bias is not orthogonal")
    lengths = [squares(entries(gradients, g)) for g in range(on.nrows())]
    if proof.penalty == "squared":
        return ball(sum(lengths, fmpq(0)) / (2 * proof.total * proof.beta))
    claim(all(length <= proof.limit for length in lengths), "a gate's gradient is too long")
    return arb(0)


def kernel(proof):
    claim(proof.penalty == "squared" and proof.bias != "free", "infinitely many gates have squared norms")
    return form(proof, proof.theta) / ball(2 * proof.total * proof.beta)


class Pricer:
    """Squared correlations of many neurons (v, b) with the dual point, compared with the limit."""

    def __init__(self, proof):
        self.proof = proof
        self.rows, q = over_integers(beside(proof.inputs, fmpq(1)))
        theta, r = over_integers(proof.theta)
        self.theta = theta.transpose()
        self.limit = proof.limit * fmpq(q * r) ** 2

    def refuse_long(self, planes, words):
        """Refuse if a plane, one a row of integers, has a correlation above the limit times its norm."""
        for start in range(0, len(planes), _BATCH):
            batch = planes[start : start + _BATCH]
            margins = self.rows * fmpz_mat(batch).transpose()
            active = fmpz_mat(margins.nrows(), margins.ncols(), [max(z, 0) for z in margins.entries()])
            sums = self.theta * active
            for j, (*v, _) in enumerate(batch):
                total = sum((sums[c, j] ** 2 for c in range(sums.nrows())), fmpz(0))
                norm = sum(map(abs, v)) ** 2 if self.proof.penalty == "l1" else sum(x * x for x in v)
                claim(total <= self.limit * norm, words)


def neurons(proof):
    claim(proof.penalty in ("l1", "l2"), "neurons are charged by norms")
    stated = proof.family["planes"]
    planes, _ = over_integers(matrix(stated, len(stated["numerators"]), proof.inputs.ncols() + 1))
    claim(proof.bias == "free" or not any(plane[-1] for plane in planes.tolist()), "a bias without a charge")
    Pricer(proof).refuse_long(planes.tolist(), "a listed neuron is correlated too much")
    return arb(0)


def normals(spanning, width):
    """Yield the normals, with both signs, of the hyperplanes that vectors of integers span."""
    for subset in itertools.combinations(spanning, width - 1):
        normal = [fmpz(1)]
        if subset:
            basis, nullity = fmpz_mat(subset).nullspace()
            if nullity != 1:
                continue
            normal = [row[0] for row in basis.tolist()]
        common = functools.reduce(lambda a, b: a.gcd(b), normal, fmpz(0))
        yield [entry // common for entry in normal]
        yield [-entry // common for entry in normal]


def units(D, width):
    return [[fmpz(j == k) for j in range(width)] for k in range(D)]


def dictionary(proof):
    claim(proof.penalty in ("l1", "l2"), "neurons are charged by norms")
    axes, free = proof.family["axes"], proof.bias == "free"
    claim(type(axes) is bool, "axes span hyperplanes or not")
    claim(not free or proof.intercept, "constant neurons need an intercept")
    D = proof.inputs.ncols()
    rows, _ = over_integers(beside(proof.inputs, fmpq(1)) if free else proof.inputs)
    spanning = rows.tolist() + units(D, D + free) * axes
    planes = ([*plane, *[fmpz(0)] * (not free)] for plane in normals(spanning, D + free))
    Pricer(proof).refuse_long([plane for plane in planes if any(plane[:D])], "a hyperplane is correlated too much")
    return arb(0)


def plane(proof):
    """All neurons of one or two inputs: the limit less the squared correlation is a quadratic polynomial on an arc."""
    claim(proof.penalty in ("l1", "l2"), "neurons are charged by norms")
    claim(proof.intercept or proof.bias != "free", "constant neurons need an intercept")
    rows, q = over_integers(proof.inputs)
    theta, r = over_integers(proof.theta)
    claim(rows.ncols() <= 2, "more than two inputs")
    points = [(row[0], row[1] if len(row) > 1 else fmpz(0)) for row in rows.tolist()]
    goals, limit = theta.tolist(), proof.limit * fmpq(q * r) ** 2
    for x, y in set(points) if proof.bias == "free" else [(0, 0)]:
        _arcs([(a - x, b - y) for a, b in points], goals, limit, proof.penalty)
    return arb(0)


def _arcs(points, goals, limit, penalty):
    normals = [(-y, x) for x, y in points if x or y] + [(fmpz(1), fmpz(0)), (fmpz(0), fmpz(1))]
    slopes = {fmpq(y, x) for x, y in normals if x}
    right = [(s.q, s.p) for s in sorted(slopes)]  # from -90 to 90 degrees
    circle = [(0, -1), *right, (0, 1), *((-x, -y) for x, y in right)]
    for a, b in zip(circle, [*circle[1:], circle[0]], strict=True):
        middle = a[0] + b[0], a[1] + b[1]
        active = [i for i, (x, y) in enumerate(points) if x * middle[0] + y * middle[1] > 0]

        def correlation(u, active=active):
            pre = [(i, points[i][0] * u[0] + points[i][1] * u[1]) for i in active]
            return [sum((goals[i][c] * z for i, z in pre), fmpz(0)) for c in range(len(goals[0]))]

        at_a, at_b = correlation(a), correlation(b)
        if penalty == "l1":
            ends = (at_a, a), (at_b, b)
            rest = [limit * (abs(x) + abs(y)) ** 2 - sum((z * z for z in k), fmpz(0)) for k, (x, y) in ends]
        else:
            forms = (a, a, at_a, at_a), (a, b, at_a, at_b), (b, b, at_b, at_b)
            aa, ab, bb = (
                limit * (u[0] * v[0] + u[1] * v[1]) - sum((s * t for s, t in zip(k, m, strict=True)), fmpz(0))
                for u, v, k, m in forms
            )
            rest, curvature = [aa, bb], aa - 2 * ab + bb
            if curvature > 0 and 0 < aa - ab < curvature:  # least at s = (aa - ab) / curvature
                rest.append(aa - (aa - ab) ** 2 / curvature)
        claim(all(value >= 0 for value in rest), "a direction is correlated too much")


def cones(proof):
    """Neurons of given patterns: no point of their cones that may be the best one has a correlation above the limit."""
    claim(proof.penalty in ("l1", "l2"), "neurons are charged by norms")
    on = patterns(proof)
    for g in range(on.nrows()):
        _cone(proof, [bool(bit) for bit in entries(on, g)])
    return arb(0)


def simplices(proof):
    """All neurons without free biases: those of the patterns around every hyperplane that rows span."""
    claim(proof.penalty in ("l1", "l2") and proof.bias != "free", "neurons are charged by norms")
    rows, _ = over_integers(proof.inputs)
    D, every = rows.ncols(), set()
    for normal in normals(rows.tolist(), D):
        margins = (rows * fmpz_mat(D, 1, normal)).entries()
        every |= set(itertools.product(*([z > 0] if z else [False, True] for z in margins)))
    for pattern in every or set(itertools.product([False, True], repeat=proof.n)):
        _cone(proof, pattern)
    return arb(0)


def _cone(proof, pattern):
    if not any(pattern):
        return
    rows, q = over_integers(proof.inputs)
    theta, r = over_integers(proof.theta)
    limit, free, rows = proof.limit * fmpq(q * r) ** 2, proof.bias == "free", rows.tolist()
    goals = [goal for goal, bit in zip(theta.tolist(), pattern, strict=True) if bit]
    if free and all(pattern):
        claim(not any(map(sum, zip(*goals, strict=True))), "a free bias is not orthogonal")
    for origin in {tuple(row) for row in rows} if free else [(0,) * len(rows[0])]:
        moved = [[a - b for a, b in zip(row, origin, strict=True)] for row in rows]
        signed = [[z if bit else -z for z in row] for row, bit in zip(moved, pattern, strict=True)]
        active = [row for row, bit in zip(moved, pattern, strict=True) if bit]
        G = fmpz_mat(goals).transpose() * fmpz_mat(active)  # (C, D)
        for u in _rays(moved, G) if proof.penalty == "l1" else _stationary(signed, G):
            if all(sum(a * b for a, b in zip(row, u, strict=True)) >= 0 for row in signed):
                norm = sum(map(abs, u)) ** 2 if proof.penalty == "l1" else squares(u)
                outputs = (fmpq_mat(G) * stacked([[x] for x in u], 1)).entries()
                claim(squares(outputs) <= limit * norm, "a neuron of a cone is correlated too much")


def _rays(rows, G):
    return normals(rows + units(G.ncols(), G.ncols()), G.ncols())


def _stationary(rows, G):
    """Yield gradients of outputs, and of sums of them, projected on all faces: those in the cone may be the best."""
    C, D = G.nrows(), G.ncols()
    for a in itertools.product((-1, 0, 1), repeat=C):
        g = fmpq_mat(fmpz_mat(1, C, a) * G).transpose()
        for k in range(D if any(a) else 0):
            for face in itertools.combinations(rows, k):
                A = fmpq_mat(fmpz_mat(k, D, [entry for row in face for entry in row]))
                if k and (A * A.transpose()).rank() < k:
                    continue
                yield (g - A.transpose() * (A * A.transpose()).solve(A * g) if k else g).entries()


def moments(proof):
    """All neurons, without a look at the witness: in the plane with free biases, else as branch and bound states."""
    return plane(proof) if proof.bias == "free" else simplices(proof)


FAMILIES = {
    "plane": plane,
    "moments": moments,
    "cones": cones,
    "simplices": simplices,
    "gated": gated,
    "kernel": kernel,
    "neurons": neurons,
    "dictionary": dictionary,
}
NETWORKS = {"gated": gated_network, "kernel": kernel_network}
