// Lane: a row's spans as one line of pixels. Spans narrower than a pixel are merged into how busy the row is in it, so that a line takes
// as long as it is wide, however many spans there are.
"use strict";

class Lane {
  // line: Uint32Array of pixels; use: Float32Array to which the share of each pixel is added in which the row is busy; texts: gets
  // {place, left, right} of spans wide enough for their names; line and texts may be null.
  static paint(trace, row, view, palette, line, use, texts) {
    const width = use.length;
    const scale = width / view.time;
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
      let next = trace.firstFrom(row, view.begin + (pixel + 1) / scale);
      if (next > i + 1 && (work[next] - work[next - 1]) * scale >= 1) --next;  // wide by itself
      if (next <= i) next = i + 1;
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
    // A gap of a pixel between wide neighbors: where one ends is seen.
    const end = right - left > 4 ? Math.max(first + 1, Math.min(width, Math.round(right) - (right < width ? 1 : 0))) : Math.max(first + 1, Math.round(right));
    line.fill(palette.ofLabel[trace.label[i]], first, Math.min(end, width));
    if (texts && right - left > 30) texts.push({place: i, left: Math.max(left, 0), right: Math.min(right, width)});
  }
}
