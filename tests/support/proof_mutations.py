"""Mutated proofs: random changes of digits, signs, shapes, types, words and numbers, and the judgement of a checker."""

import copy
from fractions import Fraction

from clifford_rand_nn.proof_checker.check import InvalidProofError, check, evaluate
from support import second_checker

_WORDS = ["l1", "l2", "squared", "none", "free", "penalized", "squared_hinge", "huber", "logistic", "softmax", "all"]
_WORDS += ["log_cosh", "relu", "gated", "neurons", "dictionary", "cones", "plane", "simplices", "moments", "kernel", ""]
_ODD = [None, True, False, 0, 1, -1, 0.5, float("nan"), [], {}, "", "NaN", "inf", "0", "-1", ["1", "2"], "12", "1e9"]
_DIGITS = "٠١٢٣٤٥٦٧٨٩"
_ROUNDING = Fraction(1, 10**28)  # of an objective or a bound, by which enclosures may differ


def mutated(rng, proof):
    """Return a proof with one to three changes, and words for them; half of the proofs state what the checker finds."""
    proof, words = copy.deepcopy(proof), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.choice([_edit, _edit, _edit, _move])
        words.append(change(rng, proof))
    if isinstance(proof, dict) and rng.random() < 0.5:
        try:
            verdict = evaluate(proof)
            for name in ("objective", "bound"):
                proof[name] = [str(part) for part in getattr(verdict, name).as_integer_ratio()]
        except Exception:
            return proof, "; ".join(words)
        words.append("stated again")
    return proof, "; ".join(words)


def judged(proof):
    """Return whether the first checker accepts, and a fault: accepted and false, refused and true, or another error."""
    try:
        check(proof)
        accepted = True
    except InvalidProofError as error:
        accepted, reason = False, str(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return False, f"{type(error).__name__} leaves check: {error}"
    try:
        second_checker.confirm(proof)
    except second_checker.RefusedError as error:
        return accepted, f"accepted, and false: {error}" if accepted else ""
    return accepted, "" if accepted or _is_near(proof) else f"refused, and true: {reason}"


def _is_near(proof):
    """Tell whether stated numbers are within rounding of the enclosures."""
    own = second_checker.values(proof)
    # errors of a kernel are absolute, and sums of mutated coefficients cancel; a true bound may have a false witness
    if proof["family"]["kind"] in ("kernel", "cones", "simplices", "moments"):
        return True
    objective, bound = (Fraction(*map(int, proof[name])) for name in ("objective", "bound"))
    return own.objective * (1 + _ROUNDING) > objective or bound > own.bound * (1 - _ROUNDING)


def _paths(value, path=()):
    """Yield the paths of all parts of a proof, sections first."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _paths(part, (*path, key))


def _edit(rng, proof):
    """Change one place of a random section."""
    section = rng.choice(list(proof))
    paths = list(_paths(proof[section]))
    path = rng.choice([path for path in paths if len(path) < 2] if rng.random() < 0.4 else paths)
    *inner, key = (section, *path)
    place = proof
    for step in inner:
        place = place[step]
    value = place[key]
    if rng.random() < 0.06:
        place[key], words = rng.choice(_ODD), "odd value"
    elif isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 4000:
        place[key], words = _of_integer(rng, value)
    elif isinstance(value, str) and " " in value:  # integers in one text
        parts = value.split(" ")
        k = rng.randrange(len(parts))
        parts[k], words = _of_integer(rng, parts[k]) if parts[k].lstrip("-").isdecimal() else ("1", "one")
        place[key] = " ".join(map(str, parts))
    elif isinstance(value, str):
        place[key], words = (rng.choice(_WORDS), "word") if rng.random() < 0.6 else _of_pattern(rng, value)
    elif isinstance(value, bool):
        place[key], words = rng.choice([not value, int(value), int(not value), str(value), float(value)]), "bool"
    elif isinstance(value, list):
        words = _of_list(rng, place, key)
    elif isinstance(value, dict):
        words = _of_object(rng, value)
    else:
        place[key], words = rng.choice(_ODD), "odd value"
    return f"{'/'.join(map(str, (section, *path)))}: {words}"


def _of_integer(rng, text):
    value, k = int(text), rng.randrange(len(text))
    digit = text[:k] + rng.choice("0123456789") + text[k + 1 :]
    kinds = {
        "digit": digit,
        "sign": str(-value),
        "one more": str(value + 1),
        "one less": str(value - 1),
        "power of two": str(value * 2 ** rng.randrange(1, 80)),
        "half": str(value // 2),
        "zero": "0",
        "shorter": text[:k] + text[k + 1 :],
        "longer": text + rng.choice("0123456789"),
        "huge": rng.choice(["", "-"]) + "9" * rng.choice([30, 400, 4000, 5000]),
        "unicode": "".join(_DIGITS[int(c)] if c.isdigit() else c for c in text),
        "space": rng.choice([" ", "\n", "+", "0"]) + text,
        "underscore": "_".join(text),
        "real": text + rng.choice([".0", "e1", "/1"]),
        "number": value,
    }
    name = rng.choice(list(kinds))
    return kinds[name], name


def _of_pattern(rng, text):
    try:
        number = int(text, 16)
    except ValueError:
        return text.upper(), "upper case"
    return rng.choice([f"{number ^ 1 << rng.randrange(8):x}", f"0x{text}", f"-{text}", text + "0", "0" + text]), "bits"


def _of_list(rng, place, key):
    value = place[key]
    kinds = ["delete", "duplicate", "swap", "cut", "reverse", "empty", "join", "object", "nest"]
    name = rng.choice(kinds if value else ["object", "nest"])
    i, j = (rng.randrange(len(value)), rng.randrange(len(value))) if value else (0, 0)
    match name:
        case "delete":
            del value[i]
        case "duplicate":
            value.insert(j, copy.deepcopy(value[i]))
        case "swap":
            value[i], value[j] = value[j], value[i]
        case "cut":
            del value[i:]
        case "reverse":
            value.reverse()
        case "empty":
            value.clear()
        case "join":
            place[key] = "".join(map(str, value))
        case "object":
            place[key] = {str(part): i for i, part in enumerate(map(str, value))}
        case "nest":
            place[key] = [value]
    return name


def _of_object(rng, value):
    keys = list(value)
    if not keys:
        return "nothing"
    key = rng.choice(keys)
    if rng.random() < 0.3:
        del value[key]
        return f"no {key}"
    other = rng.choice(keys)
    value[key], value[other] = value[other], value[key]
    return f"{key} and {other} swapped"


def _move(rng, proof):
    """Change numbers with a meaning: stated values, beta, weights, the dual point, rows."""
    share = Fraction(rng.choice([-1, 1]), 10 ** rng.randrange(1, 40))
    name = rng.choice(["objective", "bound", "beta", "scale", "pair", "row", "column", "neuron", "weight", "plane"])
    try:
        if name in ("objective", "bound"):
            proof[name] = _scaled(proof[name], 1 + share)
        elif name == "beta":
            key = rng.choice(["beta", "delta", "constant"])
            proof["problem"][key] = _scaled(proof["problem"][key], 1 + share)
        elif name == "scale":  # a longer or shorter dual point
            table = rng.choice([proof["dual"], proof["problem"]["weights"], proof["data"]["X"], proof["data"]["y"]])
            _scale(table, 1 + share)
        elif name == "pair":  # a dual point that is balanced still
            numerators = proof["dual"]["numerators"]
            i, j, c = rng.randrange(len(numerators)), rng.randrange(len(numerators)), rng.randrange(len(numerators[0]))
            step = int(int(numerators[i][c]) * share)
            numerators[i][c], numerators[j][c] = (str(int(numerators[i][c]) + step), str(int(numerators[j][c]) - step))
        elif name in ("row", "column"):
            table = proof["data"][rng.choice("Xy")]["numerators"]
            (rng.shuffle(table) if name == "row" else [row.reverse() for row in table])
        elif name == "neuron":
            network = proof["network"]
            _scale(network[rng.choice([key for key in network if key != "kind"])], 1 + share)
        elif name == "weight":
            i = rng.randrange(len(proof["problem"]["weights"]["numerators"][0]))
            proof["problem"]["weights"]["numerators"][0][i] = rng.choice(["0", "-1", "1", "3"])
        else:
            family = proof["family"]
            values = next(part for part in family.values() if isinstance(part, list | dict))
            rows = values if isinstance(values, list) else values["numerators"]
            rows.insert(rng.randrange(len(rows)), copy.deepcopy(rng.choice(rows)))
    except (KeyError, IndexError, ValueError, TypeError, StopIteration, ArithmeticError, AttributeError):
        return f"{name}: nothing"
    return f"{name}: {float(share):.0e}"


def _scaled(pair, factor):
    return [str(part) for part in (Fraction(*map(int, pair)) * factor).as_integer_ratio()]


def _scale(table, factor):
    table["denominator"] = str(int(table["denominator"]) * factor.denominator)
    table["numerators"] = [[str(int(t) * factor.numerator) for t in row] for row in table["numerators"]]
