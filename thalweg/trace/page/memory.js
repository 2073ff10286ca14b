// Memory: what a device holds over time, by kind, and who holds the most of it. `Trace` has one, or none where nodes told nothing.
//
// A use is a device in a step: its points hold from their moment until the next. The highest of many points is found in a pyramid, each level
// of which has the highest of 16 of the one below: so a pixel costs as much from far as from near.
"use strict";

class Memory {
  static GROUP = 16;
  static MOST_NAMED = 5;

  // null: the page tells of none.
  static read() {
    if (!document.getElementById("memory")) return null;
    const memory = new Memory(), {kinds, names, uses} = readJson("memory");
    Object.assign(memory, {kinds, names, uses});
    let points = 0, holders = 0;
    for (const use of uses) {
      use.first = points;
      use.last = points += use.points;
      use.firstHolder = holders;
      use.lastHolder = holders += use.holders;
    }
    const column = (name, size) => { const out = new Float64Array(size); readColumn(name, out, true); return out; };
    memory.at = column("memory-at", points);
    memory.bytes = kinds.map((_, kind) => column(`memory-${kind}`, points));
    for (const [field, name] of [["begin", "begin"], ["time", "time"], ["size", "bytes"], ["kind", "kind"], ["name", "name"], ["now", "now"]]) {
      memory["holder_" + field] = column("holder-" + name, holders);
    }
    for (const use of uses) memory.#finish(use);
    return memory;
  }

  // Differences become times and bytes; the pyramid.
  #finish(use) {
    const {at, bytes} = this;
    for (const numbers of [at, ...bytes]) {
      for (let i = use.first + 1; i < use.last; ++i) numbers[i] += numbers[i - 1];
    }
    use.total = new Float64Array(use.points);
    for (let i = 0; i < use.points; ++i) use.total[i] = bytes.reduce((sum, kind) => sum + kind[use.first + i], 0);
    use.most = use.total.reduce((most, total) => Math.max(most, total), 0);
    use.levels = [];
    for (let size = use.points; size > Memory.GROUP; size = use.levels.at(-1).length) {
      const below = use.levels.at(-1), level = new Uint32Array(Math.ceil(size / Memory.GROUP));
      for (let i = 0; i < size; ++i) {
        const point = below ? below[i] : i, group = Math.floor(i / Memory.GROUP);
        if (i % Memory.GROUP === 0 || use.total[point] > use.total[level[group]]) level[group] = point;
      }
      use.levels.push(level);
    }
  }

  usesOf(device) { return this.uses.filter((use) => use.device === device && use.points > 0); }

  // How many points of a use come at `time` or earlier.
  #pointsUntil(use, time) {
    let first = use.first, end = use.last;
    while (first < end) {
      const middle = (first + end) >> 1;
      if (this.at[middle] <= time) first = middle + 1;
      else end = middle;
    }
    return first - use.first;
  }

  // The highest of the points [first, last) of a use.
  #highest(use, first, last) {
    let best = first;
    const look = (point) => { if (use.total[point] > use.total[best]) best = point; };
    for (let level = -1; first < last; ++level) {
      const points = level < 0 ? null : use.levels[level], group = Memory.GROUP, is_top = level + 1 >= use.levels.length;
      while (first < last && (is_top || first % group !== 0)) look(points ? points[first++] : first++);
      while (first < last && last % group !== 0) look(points ? points[--last] : --last);
      first /= group;
      last /= group;
    }
    return best;
  }

  // The point that stands for [begin, end): where the most was held; -1: it is no time of this use.
  pointOf(use, begin, end) {
    if (use.points === 0 || begin > use.end || end <= this.at[use.first]) return -1;
    const last = Math.max(this.#pointsUntil(use, end), 1);
    return this.#highest(use, Math.min(Math.max(this.#pointsUntil(use, begin) - 1, 0), last - 1), last);
  }

  // Who holds the most at a moment: [{size, kind, name, now}].
  holdersAt(use, time) {
    const found = [];
    for (let i = use.firstHolder; i < use.lastHolder && this.holder_begin[i] <= time; ++i) {
      const end = this.holder_begin[i] + this.holder_time[i];
      if (end > time || end >= use.end) found.push(i);
    }
    return found.sort((a, b) => this.holder_size[b] - this.holder_size[a]).slice(0, Memory.MOST_NAMED).map((i) => ({size: this.holder_size[i],
      kind: this.kinds[this.holder_kind[i]], name: this.names[this.holder_name[i]], now: this.names[this.holder_now[i]]}));
  }

  // Bytes of each kind at a point, as [kind, bytes] of those that hold something.
  kindsAt(use, point) {
    return this.bytes.map((kind, number) => [number, kind[use.first + point]]).filter(([, bytes]) => bytes > 0);
  }
}
