"use strict";
/* The geometric algebra of space: multivectors as eight coefficients by bit masks (e1 = 1, e2 = 2, e3 = 4), and expressions
   with the operators and the precedence that they have in Python. */

const GA = (() => {
  const NAMES = ["1", "e1", "e2", "e12", "e3", "e13", "e23", "e123"];
  const ORDER = [0, 1, 2, 4, 3, 5, 6, 7]; // by grade
  const grade = (m) => (m & 1) + ((m >> 1) & 1) + ((m >> 2) & 1);

  /* The sign of e_a e_b: the parity of the exchanges that sort its vectors. */
  function sign(a, b) {
    let n = 0;
    for (a >>= 1; a; a >>= 1) n += grade(a & b);
    return n & 1 ? -1 : 1;
  }
  const zero = () => new Float64Array(8);
  const scalar = (x) => { const M = zero(); M[0] = x; return M; };

  /* A product that keeps e_a e_b for some grades alone. */
  const product = (keep) => (A, B) => {
    const M = zero();
    for (let a = 0; a < 8; a++) for (let b = 0; b < 8; b++) {
      if (keep(grade(a), grade(b), grade(a ^ b))) M[a ^ b] += sign(a, b) * A[a] * B[b];
    }
    return M;
  };
  const gp = product(() => true), wedge = product((r, s, t) => t === r + s), dot = product((r, s, t) => t === Math.abs(r - s));
  const lc = product((r, s, t) => t === s - r);
  const map = (f) => (A) => A.map((x, m) => x * f(grade(m)));
  const reverse = map((k) => (k & 2 ? -1 : 1)), involute = map((k) => (k & 1 ? -1 : 1));
  const add = (A, B) => A.map((x, m) => x + B[m]), scale = (A, x) => A.map((a) => a * x), minus = (A) => scale(A, -1);
  const pseudo = (() => { const I = zero(); I[7] = 1; return I; })();
  const star = (A) => gp(pseudo, reverse(A));
  /* Complements: LC(X) ^ X = I = X ^ RC(X) for basis blades. */
  const complement = (right) => (A) => {
    const M = zero();
    for (let m = 0; m < 8; m++) M[7 ^ m] = A[m] * (right ? sign(m, 7 ^ m) : sign(7 ^ m, m));
    return M;
  };
  const vee = (A, B) => complement(false)(wedge(complement(true)(A), complement(true)(B)));
  const normSquared = (A) => gp(A, reverse(A))[0], norm = (A) => Math.sqrt(Math.max(normSquared(A), 0));

  /* The inverse: solve A X = 1 by elimination with pivoting. */
  function inverse(A) {
    const rows = Array.from({ length: 8 }, (_, m) => { const row = new Float64Array(9); row[8] = m === 0 ? 1 : 0; return row; });
    for (let b = 0; b < 8; b++) for (let a = 0; a < 8; a++) rows[a ^ b][b] += sign(a, b) * A[a];
    const largest = Math.max(...A.map(Math.abs));
    for (let k = 0; k < 8; k++) {
      let best = k;
      for (let i = k; i < 8; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
      [rows[k], rows[best]] = [rows[best], rows[k]];
      if (!(Math.abs(rows[k][k]) > 1e-13 * largest)) throw new Error("there is no inverse");
      for (let i = 0; i < 8; i++) {
        if (i === k) continue;
        const factor = rows[i][k] / rows[k][k];
        for (let j = k; j < 9; j++) rows[i][j] -= factor * rows[k][j];
      }
    }
    return Float64Array.from(rows, (row, k) => row[8] / row[k]);
  }
  const sandwich = (R, X) => gp(gp(R, X), inverse(R));

  /* exp by a series of A / 2^k, squared k times. */
  function exp(A) {
    const size = A.reduce((s, x) => s + Math.abs(x), 0), k = size > 0.5 ? Math.ceil(Math.log2(size / 0.5)) : 0;
    const small = scale(A, 2 ** -k);
    let term = scalar(1), sum = scalar(1);
    for (let i = 1; i < 20; i++) { term = scale(gp(term, small), 1 / i); sum = add(sum, term); }
    for (let i = 0; i < k; i++) sum = gp(sum, sum);
    return sum;
  }
  /* log of a rotor s + B: the bivector with its angle. */
  function log(R) {
    const B = map((k) => (k === 2 ? 1 : 0))(R), size = norm(B), rest = norm(add(R, minus(add(B, scalar(R[0])))));
    if (rest > 1e-9 * norm(R) || !(norm(R) > 0)) throw new Error("log is for rotors: a number plus a bivector");
    if (!(size > 0)) { if (R[0] > 0) return scalar(Math.log(R[0])); throw new Error("-1 has a logarithm in every plane"); }
    const L = scale(B, Math.atan2(size, R[0]) / size);
    L[0] = Math.log(norm(R));
    return Math.abs(L[0]) < 1e-15 ? (L[0] = 0, L) : L;
  }
  function power(A, B) {
    const k = B[0];
    if (!Number.isInteger(k) || B.slice(1).some((x) => x)) throw new Error("powers are whole numbers");
    let M = scalar(1);
    for (let i = 0; i < Math.abs(k); i++) M = gp(M, A);
    return k < 0 ? inverse(M) : M;
  }
  const number = (f) => (A) => { if (A.slice(1).some((x) => x)) throw new Error("this function is for numbers"); return scalar(f(A[0])); };
  const FUNCTIONS = {
    exp, log, star, reverse, involute, inv: inverse, norm: (A) => scalar(norm(A)), normalized: (A) => scale(A, 1 / norm(A)),
    sqrt: number(Math.sqrt), sin: number(Math.sin), cos: number(Math.cos), tan: number(Math.tan), abs: number(Math.abs),
    grade: (A, k) => map((g) => (g === k[0] ? 1 : 0))(A), cross: (A, B) => star(wedge(A, B)),
    project: (A, B) => gp(lc(A, B), inverse(B)), reject: (A, B) => add(A, minus(gp(lc(A, B), inverse(B)))),
  };
  // from the weakest to the strongest, all from the left
  const BINARY = [
    { "|": dot }, { "^": wedge }, { "&": vee }, { "<<": lc, ">>": sandwich }, { "+": add, "-": (A, B) => add(A, minus(B)) },
    { "*": gp, "/": (A, B) => gp(A, inverse(B)) },
  ];

  function tokens(text) {
    const out = [], pattern = /\s*(?:(\d+\.?\d*(?:[eE][+-]\d+)?|\.\d+)|([A-Za-z_]\w*)|(\*\*|<<|>>|[-+*\/^|&~(),]))/y;
    let at = 0;
    text = text.trimEnd();
    while (at < text.length) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match) throw new Error(`"${text.slice(at).trim()[0]}" is not understood`);
      out.push(match[1] !== undefined ? { number: Number(match[1]) } : match[2] ? { name: match[2] } : { sign: match[3] });
      at = pattern.lastIndex;
    }
    return out;
  }

  /* The value of an expression; `known` has variables by name. */
  function evaluate(text, known = {}) {
    const list = tokens(text);
    let at = 0;
    const next = (sign) => list[at] && list[at].sign === sign && ++at;
    const need = (sign) => { if (!next(sign)) throw new Error(`"${sign}" is missing`); };
    function binary(level) {
      if (level === BINARY.length) return unary();
      let value = binary(level + 1);
      while (list[at] && BINARY[level][list[at].sign]) value = BINARY[level][list[at++].sign](value, binary(level + 1));
      return value;
    }
    function unary() {
      if (next("-")) return minus(unary());
      if (next("+")) return unary();
      if (next("~")) return reverse(unary());
      const base = atom();
      return next("**") ? power(base, unary()) : base;
    }
    function atom() {
      const token = list[at++];
      if (!token) throw new Error("the expression ends too early");
      if (token.number !== undefined) return scalar(token.number);
      if (token.sign === "(") { const value = binary(0); need(")"); return value; }
      if (token.sign) throw new Error(`"${token.sign}" stands where a value should`);
      if (next("(")) {
        const f = FUNCTIONS[token.name], values = [binary(0)];
        if (!Object.hasOwn(FUNCTIONS, token.name)) throw new Error(`there is no function ${token.name}`);
        while (next(",")) values.push(binary(0));
        need(")");
        if (values.length !== f.length) throw new Error(`${token.name} takes ${f.length} value${f.length > 1 ? "s" : ""}`);
        return f(...values);
      }
      if (Object.hasOwn(known, token.name)) return known[token.name];
      if (token.name === "pi") return scalar(Math.PI);
      if (token.name === "I") return pseudo;
      const match = /^e([123]+)$/.exec(token.name);
      if (match) return [...match[1]].map((d) => { const M = zero(); M[1 << (d - 1)] = 1; return M; }).reduce((A, B) => gp(A, B));
      throw new Error(`there is no ${token.name}`);
    }
    if (!list.length) return null;
    const value = binary(0);
    if (at < list.length) throw new Error("an operator is missing");
    return value;
  }

  /* Text of a multivector, to six digits; what is rounding beside the largest coefficient is left out. */
  function show(A) {
    const largest = Math.max(...A.map(Math.abs));
    const terms = ORDER.filter((m) => Math.abs(A[m]) > 1e-14 * largest).map((m) => [A[m], NAMES[m]]);
    if (!terms.length) return "0";
    return terms.map(([x, name], k) => {
      const size = String(Number(Math.abs(x).toPrecision(6))), lead = x < 0 ? (k ? " - " : "-") : k ? " + " : "";
      return lead + (name === "1" ? size : size === "1" ? name : `${size}*${name}`);
    }).join("");
  }
  return { evaluate, show, norm, star, grade, gp, wedge };
})();
if (typeof module !== "undefined") module.exports = GA;
