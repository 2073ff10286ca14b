// Lane: a row's spans as one line of pixels. Spans narrower than a pixel are merged into how busy the row is in it. From far, a pixel is several
// parts of the row's time (Trace), and spans are not looked at; from near, spans are taken one after the other, and where a pixel holds
// many of them, the first one behind it is searched. So a line takes as long as it is wide, however many spans there are.
"use strict";

class Lane {
  static WALK = 24;

  // line: Uint32Array of pixels; use: Float32Array to which the share of each pixel is added in which the row is busy; texts: gets
  // {place, left, right} of spans wide enough for their names; line and texts may be null.
  static paint(trace, row, view, palette, line, use, texts) {
    const far = view.time / use.length * row.perTime >= 4;
    (far ? Lane.#far : Lane.#near)(trace, row, view, palette, line, use, texts);
  }

  static #far(trace, row, view, palette, line, use, texts) {
    const width = use.length, scale = width / view.time;
    const {buckets, busy, tones} = row, last = buckets.length - 1;
    const parts = row.perTime / scale, from = (view.begin - row.begin) * row.perTime;  // in a pixel; before the first one
    const end = Math.min(width, Math.ceil((row.end - view.begin) * scale));
    let x = Math.max(0, Math.floor((row.begin - view.begin) * scale));
    let drawn = x;  // up to here by a span that is wide
    for (let k = Math.min(Math.max(Math.round(from + x * parts), 0), last); x < end; ++x) {
      const next = Math.min(Math.max(Math.round(from + (x + 1) * parts), 0), last);
      const share = Math.min(1, (busy[next] - busy[k]) * scale);
      const middle = Math.min((k + next) >> 1, last - 1);
      k = next;
      if (share <= 0) continue;
      use[x] += share;
      if (!line || x < drawn) continue;
      line[x] = Palette.mix(palette.ofLabel[tones[middle]], line[x], 0.35 + 0.65 * share);
      if (share < 0.99 || buckets[middle] !== buckets[middle + 1]) continue;
      const i = buckets[middle] - 1;  // it runs through the whole part
      const left = (trace.starts[i] - view.begin) * scale, right = left + trace.time(i) * scale;
      if (right - left < 2) continue;
      Lane.#fill(trace, i, Math.max(left, x), right, palette, line, width);
      if (texts && right - left > 30) texts.push({place: i, left: Math.max(left, 0), right: Math.min(right, width)});
      drawn = Math.floor(right);
    }
  }

  static #near(trace, row, view, palette, line, use, texts) {
    const width = use.length, scale = width / view.time;
    const {starts, work} = trace;
    for (let i = trace.firstAfter(row, view.begin); i < row.last;) {
      const left = (starts[i] - view.begin) * scale;
      if (left >= width) break;
      const right = left + (work[i + 1] - work[i]) * scale;
      if (right - left >= 1) {
        Lane.#wide(trace, i, left, right, palette, line, use, texts);
        ++i;
        continue;
      }
      const pixel = Math.max(0, Math.floor(left));
      const end = view.begin + (pixel + 1) / scale, most = Math.min(i + Lane.WALK, row.last);
      let next = i + 1;
      while (next < most && starts[next] < end) ++next;
      if (next === i + Lane.WALK) next = Math.max(next, trace.firstFrom(row, end));
      if (next > i + 1 && (work[next] - work[next - 1]) * scale >= 1) --next;  // wide by itself
      const busy = Math.min(1, (work[next] - work[i]) * scale);
      use[pixel] += busy;
      if (line) line[pixel] = Palette.mix(palette.ofLabel[trace.label[(i + next) >> 1]], line[pixel], 0.35 + 0.65 * busy);
      i = next;
    }
  }

  static #wide(trace, i, left, right, palette, line, use, texts) {
    const width = use.length;
    const first = Math.max(0, Math.floor(left)), last = Math.min(width, Math.ceil(right));
    for (let x = first; x < last; ++x) use[x] += Math.min(x + 1, right) - Math.max(x, left);
    if (!line) return;
    Lane.#fill(trace, i, left, right, palette, line, width);
    if (texts && right - left > 30) texts.push({place: i, left: Math.max(left, 0), right: Math.min(right, width)});
  }

  // A gap of a pixel between wide neighbors: where one ends is seen.
  static #fill(trace, i, left, right, palette, line, width) {
    const first = Math.max(0, Math.floor(left));
    const end = right - left > 4 ? Math.max(first + 1, Math.min(width, Math.round(right) - (right < width ? 1 : 0))) : Math.max(first + 1, Math.round(right));
    line.fill(palette.ofLabel[trace.label[i]], first, Math.min(end, width));
  }
}
