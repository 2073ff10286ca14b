// Details: what a span is, what it waited for and who waited for it: a few words under the pointer, all of it for what is selected.
"use strict";

class Details {
  static KINDS = ["node", "Send", "Recv", "transfer"];
  static MOST_EFFECTS = 6;

  constructor(app, tooltip, section) {
    this.app = app;
    this.tooltip = tooltip;
    this.section = section;
  }

  // {row, place, count}: what is at a point of the canvas; place -1: no span, count: how many one pixel stands for.
  hit(x, y) {
    const {trace, view, rows} = this.app;
    const row = y < Marks.TOP ? null : rows.at(y - Marks.TOP + view.scroll);
    if (!row?.lane || x < Marks.GUTTER) return {row, place: -1, count: 0};
    const pixel = view.time / (this.app.canvas.clientWidth - Marks.GUTTER);
    const time = view.begin + (x - Marks.GUTTER) * pixel;
    const first = trace.firstAfter(row.lane, time - 1.5 * pixel);
    const last = trace.firstFrom(row.lane, time + 1.5 * pixel);
    const far = (i) => Math.max(trace.starts[i] - time, time - trace.end(i), 0);
    let best = -1;
    for (let i = first; i < Math.min(last, first + 100); ++i) {
      if (best < 0 || far(i) < far(best) || (far(i) === far(best) && trace.time(i) > trace.time(best))) best = i;
    }
    return {row, place: best, count: last - first};
  }

  hover(x, y) {
    const {trace} = this.app;
    const {row, place, count} = this.hit(x, y);
    if (place < 0) {
      this.#say(x, y, this.#linesOf(row, x));
      return;
    }
    const lines = [trace.name(place), `${trace.op(place) || Details.KINDS[trace.kind(place)]}, ${timeWords(trace.time(place))}`,
      shortDevice(trace.devices[row.device].device)];
    const lost = trace.switches?.of(place);
    if (lost) lines.push(noProcessorWords(lost, trace.time(place)));
    if (count > 2) lines.push(`${countWords(count, "span")} about here: zoom in (w)`);
    this.#say(x, y, lines);
  }

  #say(x, y, lines) {
    this.tooltip.hidden = lines.length === 0;
    if (lines.length === 0) return;
    this.tooltip.textContent = lines.join("\n");
    const {clientWidth, clientHeight} = this.app.canvas;
    this.tooltip.style.left = `${Math.max(0, Math.min(x + 14, clientWidth - this.tooltip.offsetWidth - 4))}px`;
    this.tooltip.style.top = `${Math.max(0, Math.min(y + 14, clientHeight - this.tooltip.offsetHeight - 4))}px`;
  }

  // Of a row without spans: how busy the device is about there, or what it holds.
  #linesOf(row, x) {
    const {trace, view, canvas} = this.app;
    if (!row || x < Marks.GUTTER || (row.kind !== "device" && row.kind !== "memory")) return [];
    const pixel = view.time / (canvas.clientWidth - Marks.GUTTER), begin = view.begin + (x - Marks.GUTTER) * pixel;
    if (row.kind === "device") {
      const lanes = row.lanes.filter((each) => each.kind === "lane"), use = new Float32Array(1);
      for (const each of lanes) Lane.paint(trace, each.lane, {begin, end: begin + pixel, time: pixel}, this.app.palette, null, use, null);
      return [shortDevice(trace.devices[row.device].device), `${(use[0] / Math.max(lanes.length, 1) * 100).toFixed(0)} % of ${countWords(lanes.length, "lane")} busy`];
    }
    return this.#heldWords(row, begin, begin + pixel);
  }

  #heldWords(row, begin, end) {
    const {memory, devices} = this.app.trace;
    const use = row.uses.find((each) => memory.pointOf(each, begin, end) >= 0);
    if (!use) return [];
    const point = memory.pointOf(use, begin, end);
    const moment = Math.min(Math.max(memory.at[use.first + point], begin), end);
    const holders = memory.holdersAt(use, moment);
    const lines = [`${shortDevice(devices[row.device].device)} holds ${byteWords(use.total[point])}; peak ${byteWords(use.peak_bytes)}` +
      (use.unexplained > 0 ? `, ${byteWords(use.unexplained)} of it told by no node` : "")];
    for (const [kind, bytes] of memory.kindsAt(use, point)) lines.push(`  ${byteWords(bytes)} ${memory.kinds[kind]}`);
    if (holders.length > 0) lines.push("most by:");
    for (const {size, kind, name, now} of holders) lines.push(`  ${byteWords(size)} ${name}${now === name ? "" : `, now of ${now}`} (${kind})`);
    return lines;
  }

  #link(place) {
    const {trace} = this.app;
    return pick("", () => this.app.goToSpan(place), `${trace.name(place)} (${timeWords(trace.time(place))})`);
  }

  #waited(place, cause) {
    const {trace} = this.app;
    const transfer = (trace.receivedBy.get(place) ?? [])[0];
    if (transfer && transfer.sent >= 0) {
      const unsent = Math.max(0, Math.min(transfer.sent, transfer.arrived) - trace.starts[place]);
      return `${timeWords(unsent)} until it was sent, ${timeWords(trace.time(place) - unsent)} until it was here`;
    }
    if (trace.waited && trace.waited[place] > 0) return `${timeWords(trace.waited[place])} since it was scheduled`;
    if (cause >= 0) return `${timeWords(Math.max(0, trace.starts[place] - trace.end(cause)))} since its last input was ready`;
    return "not recorded";
  }

  // place -1: nothing.
  show(place) {
    this.section.hidden = place < 0;
    if (place < 0) return;
    const {trace} = this.app;
    const row = trace.rowOf(place), device = trace.devices[row.device];
    const cause = trace.causeOf(place), effects = trace.effectsOf(place, Details.MOST_EFFECTS);
    const list = element("dl", "");
    const add = (what, ...children) => list.append(element("dt", "", what), element("dd", "", ...children));
    add("op", trace.op(place) || "not recorded", trace.kind(place) === 0 ? "" : `, ${Details.KINDS[trace.kind(place)]}`);
    if (device.task) add("task", device.task);
    add("device", `${device.device}, lane ${row.lane}`);
    const step = trace.stepAt(trace.starts[place]);
    add("start", `${timeWords(trace.starts[place] - trace.steps[step].begin)} in step ${step}`);
    add("duration", timeWords(trace.time(place)));
    add("waited", this.#waited(place, cause));
    const lost = trace.switches?.of(place);
    if (lost) add("processor", noProcessorWords(lost, trace.time(place)));
    if (trace.bytes && trace.bytes[place] > 0) add("bytes", byteWords(trace.bytes[place]));
    for (const transfer of trace.receivedBy.get(place) ?? []) {
      add("received", `${transfer.edge}, ${byteWords(transfer.bytes)}, from ${shortDevice(trace.devices[transfer.from].device)}`);
    }
    for (const transfer of (trace.sentBy.get(place) ?? []).slice(0, Details.MOST_EFFECTS)) {
      add("sent", `${transfer.edge}, ${byteWords(transfer.bytes)}, to ${shortDevice(trace.devices[transfer.to].device)}`);
    }
    // Whether it is in the graph shows there: large ones take a while to read.
    if (this.app.graphView.has_graph) add("graph", pick("", () => this.app.graphView.showNodeOf(place), "show in the graph (g)"));
    if (cause >= 0) add("after", this.#link(cause));
    if (effects.length > 0) add("then", ...effects.map((i) => this.#link(i)));
    this.section.replaceChildren(element("b", "", trace.name(place)), list);
  }
}
