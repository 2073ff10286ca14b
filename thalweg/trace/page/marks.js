// Marks: what is drawn over the rows: the axis of time, stalls, the critical path, arrows of transfers, what is selected.
"use strict";

class Marks {
  static AXIS = 22;
  static STALLS = 20;
  static PATH = 16;
  static TOP = 60;
  static GUTTER = 150;

  constructor(app) { this.app = app; }

  // `context` counts in pixels of the page; `width` and `height` are the canvas'.
  draw(context, width, height) {
    this.context = context;
    this.right = width;
    this.bottom = height;
    this.#axis();
    this.#stallStrip();
    this.#pathStrip();
    context.save();
    context.beginPath();
    context.rect(Marks.GUTTER, Marks.TOP, width - Marks.GUTTER, height - Marks.TOP);
    context.clip();
    this.#path();
    this.#stallBands();
    this.#peaks();
    this.#selection();
    context.restore();
  }

  x(time) {
    const {view} = this.app;
    return Marks.GUTTER + (time - view.begin) / view.time * (this.right - Marks.GUTTER);
  }

  // The middle of a span's row; null: it has none.
  y(place) {
    const row = place < 0 ? null : this.app.rows.of(this.app.trace.rowOf(place));
    return row ? Marks.TOP + row.top + row.height / 2 - this.app.view.scroll : null;
  }

  #axis() {
    const {context} = this, {view, palette} = this.app;
    const least = view.time / Math.max(1, (this.right - Marks.GUTTER) / 100);
    const power = 10 ** Math.floor(Math.log10(least));
    const stride = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
    const zero = this.app.step ? this.app.step.begin : view.whole.begin;
    context.fillStyle = palette.css.faint;
    context.strokeStyle = palette.css.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let k = Math.ceil((view.begin - zero) / stride); k * stride + zero <= view.end; ++k) {
      const x = Math.round(this.x(k * stride + zero)) + 0.5;
      context.moveTo(x, Marks.AXIS - 5);
      context.lineTo(x, Marks.AXIS);
      context.fillText(k === 0 ? "0" : momentWords(k * stride, stride), x + 3, Marks.AXIS - 8);
    }
    for (const step of this.app.trace.steps) {
      const x = Math.round(this.x(step.begin)) + 0.5;
      if (this.app.trace.steps.length > 1 && x >= Marks.GUTTER && x <= this.right) {
        context.moveTo(x, Marks.AXIS);
        context.lineTo(x, this.bottom);
      }
    }
    context.moveTo(0, Marks.AXIS + 0.5);
    context.lineTo(this.right, Marks.AXIS + 0.5);
    context.stroke();
  }

  #clamped(begin, end, least) {
    const left = this.x(begin), right = Math.max(this.x(end), left + least);
    return right < Marks.GUTTER || left > this.right ? null : [Math.max(left, Marks.GUTTER), Math.min(right, this.right)];
  }

  // Flags with the numbers of the list; the worst is drawn last.
  #stallStrip() {
    const {context} = this, {palette, summary} = this.app;
    const top = Marks.AXIS + 2;
    context.fillStyle = palette.css.faint;
    context.fillText("stalls", 8, top + 12);
    this.flags = [];
    for (let i = (summary?.stalls.length ?? 0) - 1; i >= 0; --i) {
      const stall = summary.stalls[i];
      const at = this.#clamped(stall.begin_nanos, stall.end_nanos, 15);
      if (!at) continue;
      context.globalAlpha = stall === this.app.stall || i === 0 ? 1 : 0.75;
      context.fillStyle = palette.css.stall;
      context.fillRect(at[0], top, at[1] - at[0], Marks.STALLS - 5);
      context.globalAlpha = 1;
      context.strokeStyle = palette.css.back;
      context.strokeRect(at[0], top, at[1] - at[0], Marks.STALLS - 5);
      context.fillStyle = palette.css.back;
      const room = at[1] - at[0] - 6;
      context.fillText(this.#fitted(`${i + 1} ${stall.kind} ${timeWords(stall.lost_nanos)}`, room) || String(i + 1), at[0] + 4, top + 11);
      this.flags.unshift({stall, left: at[0], right: at[1], top, bottom: top + Marks.STALLS - 5});
    }
  }

  #fitted(text, room) {
    return this.context.measureText(text).width <= room ? text : "";
  }

  static pathColor(palette, kind) {
    return {node: palette.css.path, transfer: palette.css.stall, queue: palette.css.accent, input: palette.css.use}[kind] ?? palette.css.faint;
  }

  #pathStrip() {
    const {context} = this, {palette, summary} = this.app;
    const top = Marks.AXIS + Marks.STALLS;
    context.fillStyle = palette.css.faint;
    context.fillText("critical path", 8, top + 11);
    let drawn = -1;
    for (const part of summary?.critical_path ?? []) {
      const at = this.#clamped(part.begin_nanos, part.end_nanos, 1);
      if (!at || at[1] <= drawn) continue;
      drawn = at[1];
      context.fillStyle = Marks.pathColor(palette, part.kind);
      context.fillRect(at[0], top + 1, at[1] - at[0] - (at[1] - at[0] > 3 ? 1 : 0), Marks.PATH - 5);
    }
  }

  // Within the rows: a line below each span of the path, from each to the next, and arrows where a value crossed.
  #path() {
    const {context, app} = this;
    let last = null, seen = -1e9;
    context.lineWidth = 2;
    for (const part of app.pathPlaces) {
      const y = this.y(part.place);
      if (y === null) continue;
      const left = this.x(part.begin_nanos), right = this.x(part.end_nanos);
      if (right >= Marks.GUTTER && left <= this.right && right > seen + 0.5) {
        seen = right;
        context.strokeStyle = app.palette.css.path;
        context.beginPath();
        if (last && last.y !== y) {
          context.moveTo(last.x, last.y + 6);
          context.lineTo(left, y + 6);
        }
        context.moveTo(left, y + 6);
        context.lineTo(Math.max(right, left + 1), y + 6);
        context.stroke();
        if (part.kind === "transfer") this.#transfers(part.place, app.palette.css.path);
      }
      last = {x: right, y};
    }
  }

  #transfers(place, color) {
    for (const transfer of this.app.trace.receivedBy.get(place) ?? []) this.#arrow(transfer, color);
    for (const transfer of this.app.trace.sentBy.get(place) ?? []) this.#arrow(transfer, color);
  }

  #arrow(transfer, color) {
    const from = this.y(transfer.sender), to = this.y(transfer.receiver);
    if (from === null || to === null) return;
    const {context} = this;
    const left = this.x(transfer.sent), right = this.x(transfer.arrived);
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left, from);
    context.bezierCurveTo(left + 20, from, right - 20, to, right, to);
    context.stroke();
    context.beginPath();
    context.moveTo(right, to);
    context.lineTo(right - 8, to - 4);
    context.lineTo(right - 8, to + 4);
    context.fill();
  }

  #stallBands() {
    const {context, app} = this;
    if (!app.stall) return;
    const at = this.#clamped(app.stall.begin_nanos, app.stall.end_nanos, 2);
    if (!at) return;
    context.globalAlpha = 0.12;
    context.fillStyle = app.palette.css.stall;
    context.fillRect(at[0], Marks.TOP, at[1] - at[0], this.bottom - Marks.TOP);
    context.globalAlpha = 1;
  }

  // Of memory, in each step: a line up to how much was held, and the words where there is room.
  #peaks() {
    const {context, app} = this;
    for (const row of app.rows.list.filter((r) => r.kind === "memory")) {
      const bottom = Marks.TOP + row.top + row.height - 2 - app.view.scroll;
      for (const use of row.uses) {
        const x = Math.round(this.x(use.peak_at)) + 0.5;
        if (x < Marks.GUTTER || x > this.right || bottom < Marks.TOP || bottom - row.height > this.bottom) continue;
        const top = bottom - use.most / row.most * (row.height - 4);
        context.strokeStyle = context.fillStyle = app.palette.css.text;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, bottom);
        context.lineTo(x, top);
        context.stroke();
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x - 4, top - 4);
        context.lineTo(x + 4, top - 4);
        context.fill();
        const words = `peak ${byteWords(use.peak_bytes)}`, room = context.measureText(words).width;
        if (app.view.time < 20 * (use.end - app.trace.memory.at[use.first])) {
          context.fillText(words, x + 6 + room < this.right ? x + 6 : x - 6 - room, Math.max(top + 8, bottom - row.height + 10));
        }
      }
    }
  }

  #box(place, color, thick) {
    const y = this.y(place);
    if (y === null) return;
    const left = Math.max(this.x(this.app.trace.starts[place]), Marks.GUTTER - 4);
    const right = Math.min(this.x(this.app.trace.end(place)), this.right + 4);
    if (right < Marks.GUTTER || left > this.right) return;
    this.context.strokeStyle = color;
    this.context.lineWidth = thick;
    this.context.strokeRect(left - 1, y - 8, Math.max(right - left, 2) + 2, 15);
  }

  #selection() {
    const {app} = this;
    for (const place of app.found) this.#box(place, app.palette.css.accent, 1.5);
    if (app.selected < 0) return;
    this.#transfers(app.selected, app.palette.css.accent);
    const cause = app.trace.causeOf(app.selected);
    if (cause >= 0) this.#box(cause, app.palette.css.faint, 1.5);
    this.#box(app.selected, app.palette.css.text, 2);
  }
}
