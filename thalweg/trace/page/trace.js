// Trace: spans in order of device, lane and start, which is their place; a row is a lane.
"use strict";

const KIND_SEND = 1, KIND_RECEIVE = 2, KIND_TRANSFER = 3;

class Trace {
  constructor() {
    const {spans, rows} = readJson("rows");
    this.size = spans;
    this.rows = rows;
    rows.forEach((row, i) => { row.last = i + 1 < rows.length ? rows[i + 1].first : spans; });
    this.#readTimes();
    this.labels = readJson("labels");  // [name, op, kind]
    this.label = new Uint32Array(spans);
    readColumn("label", this.label);
    for (const row of rows) this.#fillBuckets(row);
    this.waited = this.#optional("waited");
    this.bytes = this.#optional("bytes");
    const cause = new Int32Array(spans);
    this.cause = readColumn("cause", cause, true) ? cause : null;
    this.switches = Switches.read(this);
    this.#readTransfers();
    this.memory = Memory.read();
    const {slowest, analyzed} = readJson("summaries");
    this.slowest = slowest;
    this.summaries = new Map(analyzed.map((summary) => [summary.step, summary]));
    const any = analyzed[0];
    this.steps = any.steps.map((step) => ({begin: step.begin_nanos, end: step.begin_nanos + step.time_nanos, nodes: step.nodes}));
    this.devices = any.devices;
    this.tasks = any.tasks;
    this.notes = any.notes;
    this.whole = {begin: this.steps[0].begin, end: this.steps.reduce((end, step) => Math.max(end, step.end), -Infinity)};
  }

  // this.work[i]: the time of all spans before i, so that a difference is how busy a row was.
  #readTimes() {
    this.starts = new Float64Array(this.size);
    this.work = new Float64Array(this.size + 1);
    readColumn("gap", this.starts, true);
    readColumn("time", this.work.subarray(1));
    const {starts, work} = this;
    for (const row of this.rows) {
      let end = 0;
      for (let i = row.first; i < row.last; ++i) {
        starts[i] += end;
        end = starts[i] + work[i + 1];
        work[i + 1] += work[i];
      }
    }
  }

  // A row's time in equal parts, some eight spans each. Of the k-th part: row.buckets[k], the first span that starts in it or later, so that a
  // search goes through one part; row.busy[k], how long the row was busy before it; row.tones[k], the label of a span that runs in it. What
  // is seen from far is drawn of these, one after the other, without a look at the spans.
  #fillBuckets(row) {
    const {starts, work, label} = this;
    const count = Math.min(Math.max((row.last - row.first) >> 3, 1), 1 << 22);
    row.begin = starts[row.first];
    row.end = this.end(row.last - 1);
    row.perTime = count / (row.end - row.begin + 1);
    row.buckets = new Uint32Array(count + 1);
    row.busy = new Float64Array(count + 1);
    row.tones = new Uint32Array(count + 1);
    const time = 1 / row.perTime;
    let i = row.first;
    for (let k = 0; k <= count; ++k) {
      const moment = row.begin + k * time, from = i;
      while (i < row.last && Math.floor((starts[i] - row.begin) * row.perTime) < k) ++i;
      row.buckets[k] = i;
      const last = i > row.first ? starts[i - 1] + work[i] - work[i - 1] : 0;  // one span at most crosses the boundary
      row.busy[k] = work[i] - work[row.first] - Math.max(0, last - moment);
      if (k > 0) row.tones[k - 1] = label[from < i ? (from + i) >> 1 : Math.max(i - 1, row.first)];
    }
  }

  #optional(name) {
    const column = new Float64Array(this.size);
    return readColumn(name, column) ? column : null;
  }

  #readTransfers() {
    this.transfers = readJson("transfers").map(([sender, receiver, sent, arrived, bytes, from, to, edge]) =>
      ({sender, receiver, sent, arrived, bytes, from, to, edge}));
    this.sentBy = new Map();
    this.receivedBy = new Map();
    const add = (map, place, transfer) => {
      if (place < 0) return;
      if (!map.has(place)) map.set(place, []);
      map.get(place).push(transfer);
    };
    for (const transfer of this.transfers) {
      add(this.sentBy, transfer.sender, transfer);
      add(this.receivedBy, transfer.receiver, transfer);
    }
  }

  time(i) { return this.work[i + 1] - this.work[i]; }
  end(i) { return this.starts[i] + this.time(i); }
  name(i) { return this.labels[this.label[i]][0]; }
  op(i) { return this.labels[this.label[i]][1]; }
  kind(i) { return this.labels[this.label[i]][2]; }

  // The first span of a row that starts at `time` or later.
  firstFrom(row, time) {
    const {starts} = this, {buckets} = row;
    const bucket = Math.floor((time - row.begin) * row.perTime);
    if (bucket < 0) return row.first;
    if (bucket >= buckets.length - 1) return row.last;
    let first = buckets[bucket], end = buckets[bucket + 1];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (starts[middle] < time) first = middle + 1;
      else end = middle;
    }
    return first;
  }

  // The first span of a row that ends after `time`.
  firstAfter(row, time) {
    const i = this.firstFrom(row, time);
    return i > row.first && this.end(i - 1) > time ? i - 1 : i;
  }

  rowOf(place) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].first <= place) low = middle;
      else high = middle - 1;
    }
    return this.rows[low];
  }

  // The place of what a summary names as [device, lane, start, end]; -1: none.
  placeOf(at) {
    const row = at && this.rows.find((r) => r.device === at[0] && r.lane === at[1]);
    if (!row) return -1;
    for (let i = this.firstFrom(row, at[2]); i < row.last && this.starts[i] === at[2]; ++i) {
      if (this.end(i) === at[3]) return i;
    }
    return -1;
  }

  // What a span waited for last; -1: not known.
  causeOf(place) {
    for (const transfer of this.receivedBy.get(place) ?? []) {
      if (transfer.sender >= 0) return transfer.sender;
    }
    return this.cause && this.cause[place] !== 0 ? place + this.cause[place] : -1;
  }

  // Spans that waited for this one last, at most `most` of them.
  effectsOf(place, most) {
    const found = (this.sentBy.get(place) ?? []).map((transfer) => transfer.receiver).filter((receiver) => receiver >= 0);
    if (this.cause) {
      for (let i = 0; i < this.size && found.length < most; ++i) {
        if (this.cause[i] !== 0 && i + this.cause[i] === place && !found.includes(i)) found.push(i);
      }
    }
    return found.slice(0, most);
  }

  stepAt(time) {
    const found = this.steps.findIndex((step) => time >= step.begin && time <= step.end);
    return Math.max(found, 0);
  }
}
