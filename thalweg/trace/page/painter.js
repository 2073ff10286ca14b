// Painter: draws what the view sees, once a frame and only where something changed. Rows are written as pixels, a line each; text and marks
// are drawn over them.
"use strict";

class Painter {
  static HATCH = 4;  // pixels from one stroke to the next

  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    // Most of a frame are pixels that this thread has made: a canvas in its own memory takes them as they are, where one of the graphics
    // process would be sent them all with each frame, faster than that draws them where it has no card.
    this.context = canvas.getContext("2d", {alpha: false, willReadFrequently: true});
    this.marks = new Marks(app);
    this.frames = 0;
    new ResizeObserver(() => this.ask()).observe(canvas);
  }

  // Draws before the next frame is shown.
  ask() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
      ++this.frames;
    });
  }

  draw() {
    const {canvas, context} = this;
    const ratio = devicePixelRatio;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (width <= Marks.GUTTER || height <= Marks.TOP) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.image = null;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.app.palette.css.back;
    context.fillRect(0, 0, canvas.width, canvas.height);
    this.texts = [];
    this.#paintRows(ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    this.#drawTexts(ratio);
    this.#drawGutter(height);
    this.marks.draw(context, width, height);
  }

  #paintRows(ratio) {
    const left = Math.round(Marks.GUTTER * ratio), top = Math.round(Marks.TOP * ratio);
    const width = this.canvas.width - left, height = this.canvas.height - top;
    if (!this.image) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.line = new Uint32Array(width);
      this.use = new Float32Array(width);
      this.unused = new Float32Array(width);
      this.taken = new Float32Array(width);
      this.waited = new Float32Array(width);
      this.hatched = Array.from({length: Painter.HATCH}, () => new Uint32Array(width));
    }
    const {palette, rows, view} = this.app;
    this.pixels.fill(palette.back);
    for (const row of rows.list) {
      if (row.kind === "device") this.#paintDevice(row, view.scroll, ratio, width, height);
      if (row.kind === "memory") this.#paintMemory(row, view, ratio, width, height);
    }
    this.context.putImageData(this.image, left, top);
  }

  // The lanes of a device that are seen, and, as a column for each pixel, how many of them are busy.
  #paintDevice(head, scroll, ratio, width, height) {
    const edges = (row) => [Math.round((row.top - scroll) * ratio), Math.round((row.top + row.height - scroll) * ratio)];
    const is_seen = ([first, last]) => last > 0 && first < height;
    const shows_use = is_seen(edges(head));
    this.use.fill(0);
    for (const row of head.lanes) {
      const [first, last] = edges(row), is_lane_seen = is_seen([first, last]), is_lane = row.kind === "lane";
      if (!is_lane_seen && !(shows_use && is_lane)) continue;
      this.#paintLane(row, is_lane ? this.use : this.unused, is_lane_seen);
      if (!is_lane_seen) continue;
      const end = Math.min(last - Math.round(ratio), height), is_hatched = this.#hatch(row.lane);
      for (let y = Math.max(first, 0); y < end; ++y) this.pixels.set(is_hatched ? this.hatched[(y - first) % Painter.HATCH] : this.line, y * width);
    }
    if (shows_use) this.#paintUse(head, width, height, edges(head)[1]);
  }

  #paintLane(row, use, is_seen) {
    const {trace, view, palette} = this.app;
    const from = this.texts.length;
    if (is_seen) this.line.fill(palette.lane);
    Lane.paint(trace, row.lane, view, palette, is_seen ? this.line : null, use, is_seen ? this.texts : null);
    for (let i = from; i < this.texts.length; ++i) this.texts[i].y = Marks.TOP + row.top + row.height - 4 - view.scroll;
  }

  // The line of a lane as strokes, where its spans had no processor: dark where others ran, light where they waited. Also where it was
  // for much less than a pixel a stroke is seen. Whether there is any.
  #hatch(lane) {
    const {trace, view, palette} = this.app, {line, taken, waited} = this;
    if (!trace.switches) return false;
    taken.fill(0);
    waited.fill(0);
    if (!trace.switches.paint(lane, view, taken, waited)) return false;
    for (let k = 0; k < Painter.HATCH; ++k) {
      const hatched = this.hatched[k];
      hatched.set(line);
      for (let x = 0; x < line.length; ++x) {
        if (taken[x] + waited[x] <= 0 || (x + k) % Painter.HATCH > 1) continue;
        const stroke = taken[x] >= waited[x] ? palette.taken : palette.waited;
        hatched[x] = Palette.mix(stroke, line[x], 0.35 + 0.5 * Math.min(1, taken[x] + waited[x]));
      }
    }
    return true;
  }

  #paintUse(head, width, height, last) {
    const lanes = Math.max(1, head.lanes.filter((row) => row.kind === "lane").length);
    const most = head.height * devicePixelRatio - 4;
    for (let x = 0; x < width; ++x) {
      const share = Math.min(1, this.use[x] / lanes);
      const rise = share > 0 ? Math.max(1, Math.round(share * most)) : 0;
      for (let y = Math.max(last - 2 - rise, 0); y < Math.min(last - 2, height); ++y) this.pixels[y * width + x] = this.app.palette.use;
    }
  }

  // Kinds above each other, in each pixel where they are highest.
  #paintMemory(row, view, ratio, width, height) {
    const first = Math.round((row.top + 2 - view.scroll) * ratio), last = Math.round((row.top + row.height - 2 - view.scroll) * ratio);
    if (last <= 0 || first >= height) return;
    const {memory} = this.app.trace, {ofKind} = this.app.palette, time = view.time / width, scale = (last - first) / row.most;
    for (const use of row.uses) {
      const from = Math.max(Math.floor((memory.at[use.first] - view.begin) / time), 0);
      const end = Math.min(Math.ceil((use.end - view.begin) / time), width);
      for (let x = from; x < end; ++x) {
        const point = memory.pointOf(use, view.begin + x * time, view.begin + (x + 1) * time);
        if (point < 0) continue;
        let held = 0, y = last;
        for (let kind = 0; kind < ofKind.length; ++kind) {
          held += memory.bytes[kind][use.first + point];
          const top = last - Math.round(held * scale);
          for (; y > top; --y) if (y > 0 && y <= height) this.pixels[(y - 1) * width + x] = ofKind[kind];
        }
      }
    }
  }

  #drawTexts(ratio) {
    const {context} = this, {trace} = this.app;
    context.fillStyle = this.app.palette.dark ? "#ffffff" : "#101318";
    for (const {place, left, right, y} of this.texts) {
      const letters = Math.floor(((right - left) / ratio - 6) / 6);
      const name = trace.name(place);
      const text = name.length <= letters ? name : trace.op(place) || name;
      if (letters > 2) context.fillText(text.slice(0, letters), Marks.GUTTER + left / ratio + 3, y);
    }
  }

  #drawGutter(height) {
    const {context} = this, {palette, rows, view} = this.app;
    context.fillStyle = palette.css.back;
    context.fillRect(0, 0, Marks.GUTTER, height);
    context.fillRect(0, 0, this.canvas.clientWidth, Marks.TOP);
    for (const row of rows.list) {
      const top = Marks.TOP + row.top - view.scroll;
      if (top + row.height < Marks.TOP + 4 || top > height) continue;
      const is_head = row.kind === "task" || row.kind === "device";
      context.fillStyle = is_head ? palette.css.text : palette.css.faint;
      if (row.kind !== "receives" || row.text) context.fillText(row.text, is_head ? 8 : 20, top + row.height - 4, Marks.GUTTER - (is_head ? 12 : 24));
    }
    context.fillStyle = palette.css.back;
    context.fillRect(0, 0, Marks.GUTTER, Marks.TOP);
  }
}
