"use strict";
/* The exact training of a two-layer ReLU network on points of the plane, with the l1 norm:

     minimize over z and t   1/(2n) sum_i (sum_j z_j (v_j . (x_i, c))_+ + t - y_i)^2 + beta sum_j |z_j|.

   The constant feature c is the root mean square of the coordinates. The neurons v_j are the cross products of any two
   linearly independent rows of [X c; I], scaled to length 1 in the l1 norm, with both signs: for these the Lasso is
   equivalent to the training of networks of any width. The path of its solutions in beta is followed exactly, from
   breakpoint to breakpoint; where several columns tie, a least-squares problem with signs finds the direction. */

const Lasso = (() => {
  const DEPENDENT = 1e-10; // share of a column's squared length below which it lies in the span of the active ones
  const FRESH = 16; // breakpoints after which correlations are computed anew: until then their changes are added up
  const TIE = 1e-11; // of the correlation at the start: differences below it are rounding

  /* Neurons of the points (n, 2): v (P, 3), the two rows that span each, and their columns on the points, (P, n). */
  function dictionary(points) {
    const n = points.length;
    const c = Math.sqrt(points.reduce((s, p) => s + p[0] * p[0] + p[1] * p[1], 0) / (2 * n)) || 1;
    const rows = points.map((p) => [p[0], p[1], c]);
    rows.push([1, 0, 0], [0, 1, 0], [0, 0, 1]);
    const most = ((n + 3) * (n + 2)) / 2;
    const v = new Float64Array(3 * most), columns = new Float64Array(most * n), spanning = [];
    let count = 0;
    for (let a = 0; a < rows.length; a++) {
      for (let b = a + 1; b < rows.length; b++) {
        const [p, q] = [rows[a], rows[b]];
        const w = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
        const size = Math.abs(w[0]) + Math.abs(w[1]) + Math.abs(w[2]);
        if (size <= 1e-13 * (Math.abs(p[0]) + Math.abs(p[1]) + c) * (Math.abs(q[0]) + Math.abs(q[1]) + c)) continue;
        for (let k = 0; k < 3; k++) v[3 * count + k] = w[k] / size;
        for (let i = 0; i < n; i++) {
          const x = v[3 * count] * rows[i][0] + v[3 * count + 1] * rows[i][1] + v[3 * count + 2] * c;
          columns[count * n + i] = i === a || i === b ? 0 : Math.max(x, 0); // the spanning points lie on the line
        }
        spanning.push([a, b]);
        count++;
      }
    }
    return { n, c, rows: rows.slice(0, n), count, v: v.slice(0, 3 * count), columns: columns.slice(0, count * n), spanning };
  }

  /* Products of all 2P columns with a vector of sum 0. The column of -v is that of v less Xv, so one pass serves both. */
  function products(D, u) {
    const { n, count, columns, v, rows } = D, out = new Float64Array(2 * count);
    let s0 = 0, s1 = 0, s2 = 0;
    for (let i = 0; i < n; i++) { s0 += u[i] * rows[i][0]; s1 += u[i] * rows[i][1]; s2 += u[i] * D.c; }
    for (let j = 0, at = 0; j < count; j++) {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += columns[at++] * u[i];
      out[j] = sum;
      out[count + j] = sum - (v[3 * j] * s0 + v[3 * j + 1] * s1 + v[3 * j + 2] * s2);
    }
    return out;
  }

  function weights(D, j) {
    const k = j % D.count, sign = j < D.count ? 1 : -1;
    return [sign * D.v[3 * k], sign * D.v[3 * k + 1], sign * D.v[3 * k + 2]];
  }

  /* The column of a neuron, less its mean. */
  function centered(D, j) {
    const { n, rows } = D, k = j % D.count, [a, b] = D.spanning[k], w = weights(D, j), out = new Float64Array(n);
    let mean = 0;
    for (let i = 0; i < n; i++) {
      out[i] = i === a || i === b ? 0 : Math.max(w[0] * rows[i][0] + w[1] * rows[i][1] + w[2] * D.c, 0);
      mean += out[i] / n;
    }
    for (let i = 0; i < n; i++) out[i] -= mean;
    return { values: out, mean };
  }

  const dot = (a, b) => { let s = 0; for (let i = 0; i < a.length; i++) s += a[i] * b[i]; return s; };

  /* Solve L L^T x = b for the rows of a Cholesky factor. */
  function solve(L, b) {
    const k = L.length, x = Float64Array.from(b);
    for (let i = 0; i < k; i++) { for (let j = 0; j < i; j++) x[i] -= L[i][j] * x[j]; x[i] /= L[i][i]; }
    for (let i = k - 1; i >= 0; i--) { for (let j = i + 1; j < k; j++) x[i] -= L[j][i] * x[j]; x[i] /= L[i][i]; }
    return x;
  }

  /* One more row of the factor for a column, or null where it depends on those before. */
  function newRow(L, active, column) {
    const k = L.length, row = new Float64Array(k + 1), square = dot(column, column);
    let rest = square;
    for (let i = 0; i < k; i++) {
      let sum = dot(active[i].values, column);
      for (let j = 0; j < i; j++) sum -= L[i][j] * row[j];
      row[i] = sum / L[i][i];
      rest -= row[i] * row[i];
    }
    if (!(rest > DEPENDENT * square)) return null;
    row[k] = Math.sqrt(rest);
    return row;
  }

  /* The path from the largest beta down; `extend(beta)` follows it as far as that. */
  class Path {
    constructor(points, labels) {
      this.D = dictionary(points);
      this.n = points.length;
      this.mean = labels.reduce((a, b) => a + b, 0) / this.n;
      this.y = Float64Array.from(labels, (t) => t - this.mean);
      this.r = this.y.slice();
      this.active = []; // neurons j with sign, coefficient z, and centered column: values, mean
      this.c = products(this.D, this.y); // correlations of all columns with the residual
      this.lambda = this.c.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
      this.first = this.lambda;
      this.breakpoints = [];
      this.L = []; // Cholesky factor of the active columns' products
      this.ended = !(this.lambda > 0);
      this.remember();
    }
    get betaMax() { return this.first / this.n; }
    remember() {
      this.breakpoints.push({ lambda: this.lambda, neurons: this.active.map(({ j, z }) => ({ j, z })) });
    }
    extend(beta) {
      const target = Math.max(beta * this.n, this.first * 1e-7);
      while (!this.ended && this.lambda > target) this.step(target);
    }
    /* Slopes of the coefficients as lambda falls: minimize |K w|^2 / 2 - s'w over the columns whose correlation is
       +-lambda, where s_j w_j >= 0 for those whose coefficient is still 0 (Lawson and Hanson's method). */
    direction() {
      const tie = TIE * this.first, isIn = new Set(this.active.map((a) => a.j)), tied = [];
      for (let j = 0; j < this.c.length; j++) {
        if (Math.abs(this.c[j]) < this.lambda - tie || isIn.has(j)) continue;
        tied.push({ j, sign: Math.sign(this.c[j]), z: 0, ...centered(this.D, j) });
      }
      let inside = this.active.slice(), outside = tied, L = this.L.slice();
      const factorize = () => { L = []; inside.forEach((a) => L.push(newRow(L, inside, a.values))); };
      let w = [...solve(L, inside.map((a) => a.sign))], u;
      for (;;) {
        u = new Float64Array(this.n);
        inside.forEach((a, k) => { for (let i = 0; i < this.n; i++) u[i] += w[k] * a.values[i]; });
        let best = null, most = 1e-9;
        for (const a of outside) {
          const excess = 1 - a.sign * dot(a.values, u);
          if (excess > most && !a.dependent) [best, most] = [a, excess];
        }
        if (!best) break;
        const row = newRow(L, inside, best.values);
        if (row === null) { best.dependent = true; continue; }
        inside.push(best); L.push(row); w.push(0);
        outside = outside.filter((a) => a !== best);
        for (;;) { // back to where the signs are right
          const goal = solve(L, inside.map((a) => a.sign));
          let share = 1, first = -1;
          inside.forEach((a, k) => {
            if (a.z !== 0 || a.sign * goal[k] > 0) return;
            const part = w[k] === goal[k] ? 0 : w[k] / (w[k] - goal[k]);
            if (part < share) [share, first] = [part, k];
          });
          w = w.map((x, k) => x + share * (goal[k] - x));
          if (first < 0) break;
          if (inside[first] === best) best.dependent = true; // it came in by rounding alone
          outside.push(inside[first]);
          inside.splice(first, 1);
          w.splice(first, 1);
          factorize();
        }
      }
      return { inside, w, u, tied: new Set([...isIn, ...tied.map((a) => a.j)]) };
    }
    step(target) {
      const { inside, w, u, tied } = this.direction();
      if (!inside.length) { this.ended = true; return; }
      let length = this.lambda - target, leaving = -1;
      inside.forEach((a, k) => { // a coefficient reaches zero
        const move = -a.z / w[k];
        if (a.z !== 0 && move > 0 && move < length) { length = move; leaving = k; }
      });
      const slopes = products(this.D, u), { c, lambda } = this;
      for (let j = 0; j < slopes.length; j++) { // a correlation reaches lambda
        if (lambda - c[j] < length * (1 - slopes[j]) && !tied.has(j)) { length = (lambda - c[j]) / (1 - slopes[j]); leaving = -1; }
        if (lambda + c[j] < length * (1 + slopes[j]) && !tied.has(j)) { length = (lambda + c[j]) / (1 + slopes[j]); leaving = -1; }
      }
      this.lambda -= length;
      this.active = inside.filter((_, k) => k !== leaving);
      this.polish();
      if (this.breakpoints.length % FRESH === 0) this.c = products(this.D, this.r);
      else for (let j = 0; j < c.length; j++) c[j] -= length * slopes[j];
      this.remember();
    }
    /* Coefficients and residual from the equations of the active set, so that rounding does not add up. */
    polish() {
      this.L = [];
      this.active.forEach((a) => this.L.push(newRow(this.L, this.active, a.values)));
      const z = solve(this.L, this.active.map((a) => dot(a.values, this.y) - this.lambda * a.sign));
      this.active.forEach((a, k) => { a.z = z[k]; });
      this.r = this.y.slice();
      for (const a of this.active) for (let i = 0; i < this.n; i++) this.r[i] -= a.z * a.values[i];
    }
    /* The network of a beta: neurons, intercept, objective, and a lower bound by the residual as dual point. */
    at(beta) {
      const lambda = beta * this.n;
      this.extend(beta);
      const b = this.breakpoints;
      let k = b.length - 1;
      for (let i = 0; i < b.length; i++) if (b[i].lambda <= lambda) { k = i; break; }
      const low = b[k], high = b[Math.max(k - 1, 0)];
      const share = high.lambda > low.lambda ? Math.min(1, Math.max(0, (high.lambda - lambda) / (high.lambda - low.lambda))) : 1;
      const size = new Map();
      for (const a of low.neurons) size.set(a.j, share * a.z);
      for (const a of high.neurons) size.set(a.j, (size.get(a.j) || 0) + (1 - share) * a.z);
      return this.network([...size].filter(([, z]) => z !== 0).map(([j, z]) => ({ j, z })), lambda);
    }
    network(neurons, lambda) {
      const { D, n, y } = this, r = y.slice();
      let intercept = this.mean, norm = 0;
      for (const a of neurons) {
        const column = centered(D, a.j);
        for (let i = 0; i < n; i++) r[i] -= a.z * column.values[i];
        intercept -= a.z * column.mean;
        norm += Math.abs(a.z);
        a.v = weights(D, a.j);
        a.spanning = D.spanning[a.j % D.count];
      }
      const primal = (dot(r, r) / 2 + lambda * norm) / n;
      const largest = products(D, r).reduce((m, x) => Math.max(m, Math.abs(x)), 0);
      const square = dot(r, r);
      const scale = square > 0 ? Math.min(dot(r, y) / square, largest > 0 ? lambda / largest : Infinity) : 0;
      const dual = (scale * dot(r, y) - (scale * scale * square) / 2) / n;
      return { neurons, intercept, c: D.c, primal, dual, gap: primal > 0 ? Math.max(primal - dual, 0) / primal : 0, beta: lambda / n };
    }
  }

  function predict(network, x, y) {
    let f = network.intercept;
    for (const a of network.neurons) f += a.z * Math.max(a.v[0] * x + a.v[1] * y + a.v[2] * network.c, 0);
    return f;
  }

  return { Path, dictionary, predict };
})();
if (typeof module !== "undefined") module.exports = Lasso;
