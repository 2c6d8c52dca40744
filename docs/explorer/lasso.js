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
  const HALF_TURN = Math.round(Math.PI * 1e13);
  const TIE = 1e-11; // of the correlation at the start: differences below it are rounding

  /* Neurons of the points (n, 2): v (P, 3) and the two rows that span each. Every line but three turns about a point, its
     pivot. With the other points sorted by their angle about the pivot, those on one side are a range [from, to). */
  function dictionary(points) {
    const n = points.length;
    const c = Math.sqrt(points.reduce((s, p) => s + p[0] * p[0] + p[1] * p[1], 0) / (2 * n)) || 1;
    const rows = points.map((p) => [p[0], p[1], c]);
    rows.push([1, 0, 0], [0, 1, 0], [0, 0, 1]);
    const most = ((n + 3) * (n + 2)) / 2, v = new Float64Array(3 * most), spanning = [], first = [], orders = [];
    const from = new Int32Array(most), to = new Int32Array(most), outside = new Uint8Array(most);
    const add = (a, b) => {
      const p = rows[a], q = rows[b], count = spanning.length;
      const w = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
      const size = Math.abs(w[0]) + Math.abs(w[1]) + Math.abs(w[2]);
      for (let k = 0; k < 3; k++) v[3 * count + k] = w[k] / size;
      spanning.push([a, b]);
      return count;
    };
    for (let a = 0; a < n; a++) {
      first.push(spanning.length);
      const p = rows[a], turned = [], seen = new Set(), lines = [];
      let again = false; // a point that was a pivot before
      for (let b = 0; b < n + 3; b++) {
        const x = b === n ? 1 : b === n + 1 ? 0 : rows[b][0] - p[0], y = b === n ? 0 : b === n + 1 ? 1 : rows[b][1] - p[1];
        if (x === 0 && y === 0) { again = again || b < a; continue; }
        const angle = Math.atan2(y, x), key = Math.round((angle + (angle < 0 ? Math.PI : 0)) * 1e13) % HALF_TURN;
        if (b < n) turned.push([angle, b]);
        if (b > a && !seen.has(key)) lines.push([angle, b]); // a line through many points counts once
        seen.add(key);
      }
      turned.sort((s, t) => s[0] - t[0]);
      orders.push(Int32Array.from(turned, (t) => t[1]));
      const before = (angle) => { // points of a smaller angle
        let low = 0, high = turned.length;
        while (low < high) { const k = (low + high) >> 1; if (turned[k][0] < angle) low = k + 1; else high = k; }
        return low;
      };
      for (const [angle, b] of again ? [] : lines) {
        const j = add(a, b);
        // to the left of the line are the angles of a half turn from that of the line; the range does not pass -pi
        outside[j] = angle > 0;
        from[j] = before(angle > 0 ? angle - Math.PI : angle);
        to[j] = before(angle > 0 ? angle : angle + Math.PI);
      }
    }
    first.push(spanning.length);
    for (const [a, b] of [[n, n + 1], [n, n + 2], [n + 1, n + 2]]) add(a, b);
    const count = spanning.length;
    return { n, c, rows, count, v, spanning, first, orders, from, to, outside };
  }

  /* Products of all 2P columns with u: (v . x_i)_+ sums to v . s, with s the sum of u_i x_i over the points on one side, a
     difference of partial sums about the pivot: O(n^2) operations for O(n^2) columns. The column of -v is that of v less
     Xv. Points on the line are on either side by rounding, and count for nothing. */
  function products(D, u) {
    const { n, count, v, rows, first, orders, from, to, outside } = D, out = new Float64Array(2 * count);
    let s0 = 0, s1 = 0, s2 = 0;
    for (let i = 0; i < n; i++) { s0 += u[i] * rows[i][0]; s1 += u[i] * rows[i][1]; s2 += u[i] * D.c; }
    const p0 = new Float64Array(n + 1), p1 = new Float64Array(n + 1), p2 = new Float64Array(n + 1);
    for (let a = 0; a < n; a++) {
      const order = orders[a];
      for (let k = 0; k < order.length; k++) {
        const i = order[k];
        p0[k + 1] = p0[k] + u[i] * rows[i][0]; p1[k + 1] = p1[k] + u[i] * rows[i][1]; p2[k + 1] = p2[k] + u[i] * D.c;
      }
      for (let j = first[a]; j < first[a + 1]; j++) {
        const whole = v[3 * j] * s0 + v[3 * j + 1] * s1 + v[3 * j + 2] * s2, f = from[j], t = to[j];
        const part = v[3 * j] * (p0[t] - p0[f]) + v[3 * j + 1] * (p1[t] - p1[f]) + v[3 * j + 2] * (p2[t] - p2[f]);
        out[j] = outside[j] ? whole - part : part;
        out[count + j] = out[j] - whole;
      }
    }
    for (let j = first[n]; j < count; j++) { // the constant and the two axes
      for (let i = 0; i < n; i++) {
        const x = v[3 * j] * rows[i][0] + v[3 * j + 1] * rows[i][1] + v[3 * j + 2] * D.c;
        out[j] += u[i] * Math.max(x, 0);
        out[count + j] += u[i] * Math.max(-x, 0);
      }
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

  const subtract = (a, share, b) => { for (let j = 0; j < a.length; j++) a[j] -= share * b[j]; };

  /* How far lambda can fall, at most by `length`, until the correlation of a new column is as large as it. */
  function firstEntry(c, slopes, lambda, length, tied) {
    for (let j = 0; j < c.length; j++) {
      if (lambda - c[j] < length * (1 - slopes[j]) && !tied.has(j)) length = (lambda - c[j]) / (1 - slopes[j]);
      if (lambda + c[j] < length * (1 + slopes[j]) && !tied.has(j)) length = (lambda + c[j]) / (1 + slopes[j]);
    }
    return length;
  }

  /* The factor of the columns' products, whose first rows are there. */
  function factor(active, L) {
    for (let k = L.length; k < active.length; k++) L.push(newRow(L, active, active[k].values));
    return L;
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
      const { c } = this, least = this.lambda - TIE * this.first, isIn = new Set(this.active.map((a) => a.j)), tied = [];
      for (let j = 0; j < c.length; j++) {
        if ((c[j] < least && -c[j] < least) || isIn.has(j)) continue;
        tied.push({ j, sign: Math.sign(c[j]), z: 0, ...centered(this.D, j) });
      }
      let inside = this.active.slice(), outside = tied, L = this.L.slice();
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
          L = factor(inside, L.slice(0, first));
        }
      }
      return { inside, w, u, L, tied: new Set([...isIn, ...tied.map((a) => a.j)]) };
    }
    step(target) {
      const { inside, w, u, L, tied } = this.direction();
      if (!inside.length) { this.ended = true; return; }
      let length = this.lambda - target, leaving = -1;
      inside.forEach((a, k) => { // a coefficient reaches zero
        const move = -a.z / w[k];
        if (a.z !== 0 && move > 0 && move < length) { length = move; leaving = k; }
      });
      const slopes = products(this.D, u), { c, lambda } = this, entering = firstEntry(c, slopes, lambda, length, tied);
      if (entering < length) [length, leaving] = [entering, -1];
      this.lambda -= length;
      this.active = inside.filter((_, k) => k !== leaving);
      this.L = leaving < 0 ? L : factor(this.active, L.slice(0, leaving));
      this.polish();
      if (this.breakpoints.length % FRESH === 0) this.c = products(this.D, this.r);
      else subtract(c, length, slopes);
      this.remember();
    }
    /* Coefficients and residual from the equations of the active set, so that rounding does not add up. */
    polish() {
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
