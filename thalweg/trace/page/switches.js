// Switches: when threads had no processor, by place of the span that ran then; of a span and a row in order. How long a row was without one
// before a moment is a sum that is there, so that a pixel is a difference, however many it stands for.
"use strict";

class Switches {
  static WALK = 16;

  // null: the page tells of none.
  static read(trace) {
    const places = [], gaps = [], times = [];
    if (!readColumn("switch-place", places)) return null;
    readColumn("switch-gap", gaps);
    readColumn("switch-time", times);
    return new Switches(trace, places, gaps, times);
  }

  // this.taken[i], this.waited[i]: the time of all before i of that kind.
  constructor(trace, places, gaps, times) {
    const count = places.length;
    this.place = new Uint32Array(count);
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    this.isTaken = new Uint8Array(count);
    this.taken = new Float64Array(count + 1);
    this.waited = new Float64Array(count + 1);
    let place = 0;
    for (let i = 0; i < count; ++i) {
      place += places[i];
      this.place[i] = place;
      const since = i > 0 && this.place[i - 1] === place ? this.end[i - 1] : trace.starts[place];
      const time = Math.floor(times[i] / 2);
      this.begin[i] = since + gaps[i];
      this.end[i] = this.begin[i] + time;
      this.isTaken[i] = times[i] % 2;
      this.taken[i + 1] = this.taken[i] + (this.isTaken[i] ? time : 0);
      this.waited[i + 1] = this.waited[i] + (this.isTaken[i] ? 0 : time);
    }
    for (const row of trace.rows) row.switches = [this.#firstOf(row.first), this.#firstOf(row.last)];
  }

  #firstOf(place) { return this.#search(this.place, place, 0, this.place.length); }

  // The first of numbers[low, high), which rise, that is not below `least`.
  #search(numbers, least, low, high) {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < least) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Of a span: {taken, waited, times_taken, times_waited}; null: it always had one, or nothing tells.
  of(place) {
    const from = this.#firstOf(place), to = this.#firstOf(place + 1);
    if (from === to) return null;
    let times = 0;
    for (let i = from; i < to; ++i) times += this.isTaken[i];
    return {taken: this.taken[to] - this.taken[from], waited: this.waited[to] - this.waited[from], times_taken: times, times_waited: to - from - times};
  }

  // Adds to each pixel the share of it in which the row's thread had none, as others ran or as it waited; whether there is any.
  paint(row, view, taken, waited) {
    const [first, last] = row.switches;
    if (first === last || this.begin[first] >= view.end || this.end[last - 1] <= view.begin) return false;
    const width = taken.length, time = view.time / width;
    let i = this.#search(this.end, view.begin, first, last), found = false;
    // Each one touches the pixels from where it begins; of many in one pixel, only the sum is looked at.
    while (i < last && this.begin[i] < view.end) {
      const begin = Math.max(this.begin[i], view.begin), x = Math.min(Math.floor((begin - view.begin) / time), width - 1);
      const edge = view.begin + (x + 1) * time;
      found = true;
      if (this.end[i] >= edge) {
        this.#spread(i, x, view, time, this.isTaken[i] ? taken : waited);
        ++i;
        continue;
      }
      let next = i + 1;
      while (next < last && next < i + Switches.WALK && this.end[next] < edge) ++next;
      if (next === i + Switches.WALK) next = this.#search(this.end, edge, next, last);
      taken[x] += (this.taken[next] - this.taken[i]) / time;
      waited[x] += (this.waited[next] - this.waited[i]) / time;
      i = next;
    }
    return found;
  }

  #spread(i, x, view, time, shares) {
    for (; x < shares.length; ++x) {
      const from = view.begin + x * time;
      if (from >= this.end[i]) break;
      shares[x] += (Math.min(this.end[i], from + time) - Math.max(this.begin[i], from)) / time;
    }
  }
}

// "had no processor for 3 ms of 10 ms in 4 pieces: 2 ms others ran, 1 ms it waited".
function noProcessorWords(lost, time) {
  const {taken, waited, times_taken, times_waited} = lost;
  const parts = [[taken, "others ran"], [waited, "it waited"]].filter(([nanos]) => nanos > 0).map(([nanos, what]) => `${timeWords(nanos)} ${what}`);
  return `had no processor for ${timeWords(taken + waited)} of ${timeWords(time)} in ${countWords(times_taken + times_waited, "piece")}: ${parts.join(", ")}`;
}
