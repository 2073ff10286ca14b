// Panel: the answers in words: stalls, worst first, where the time went, the critical path, who waited for whom.
"use strict";

class Panel {
  static MOST_PARTS = 40;
  static KINDS = {node: "nodes that run", input: "waits for input", transfer: "values on their way", queue: "ready, without a thread",
    start: "before the first node"};

  constructor(app, root) {
    this.app = app;
    this.root = root;
  }

  show(summary) {
    this.root.replaceChildren();
    this.root.scrollTop = 0;
    if (!summary) {
      this.root.append(element("h2", "", "Stalls"),
        element("p", "faint", `This step is drawn, but not analyzed: the ${this.app.trace.summaries.size} slowest are.`));
      return;
    }
    const step = this.app.trace.steps[summary.step];
    this.#leftOut(summary);
    this.#stalls(summary);
    this.#where(summary, step);
    this.#path(summary, step);
    this.#waits(summary);
    this.#processors(summary);
    this.#ops(summary);
    this.#clocks(summary);
  }

  #head(text) { this.root.append(element("h2", "", text)); }

  #stalls(summary) {
    this.#head(summary.stalls.length > 0 ? "Stalls, worst first" : "No stalls found");
    const list = element("ol", "");
    summary.stalls.forEach((stall, i) => {
      list.append(element("li", "", pick("stall", () => this.app.goToStall(stall),
        element("b", "", `${i + 1}. ${stall.kind}, ${timeWords(stall.lost_nanos)}`), element("div", "", stall.sentence),
        element("div", "remedy", stall.remedy))));
    });
    this.root.append(list);
  }

  // Of a recording that keeps only the newest.
  #leftOut(summary) {
    for (const left of summary.left_out) {
      this.root.append(element("p", "left-out", `Not there: the first ${timeWords(left.nanos)}, ${countWords(left.executions, "execution")} of nodes of ${shortDevice(left.device)}.`));
    }
  }

  #where(summary, step) {
    this.#head("Where the time went");
    for (const [kind, nanos] of Object.entries(summary.where)) {
      if (nanos <= 0) continue;
      const share = nanos / Math.max(1, step.end - step.begin);
      const bar = element("span", "bar");
      bar.style.width = `${Math.round(share * 80)}px`;
      bar.style.background = Marks.pathColor(this.app.palette, kind);
      this.root.append(element("div", "row", element("span", "time", timeWords(nanos)),
        element("span", "what", bar, `${(share * 100).toFixed(0)} % ${Panel.KINDS[kind] ?? kind}`)));
    }
  }

  #path(summary, step) {
    const parts = summary.critical_path;
    const time = (part) => part.end_nanos - part.begin_nanos;
    const longest = new Set([...parts].sort((a, b) => time(b) - time(a)).slice(0, Panel.MOST_PARTS));
    const all = countWords(summary.critical_path_parts, "part");
    this.#head(`Critical path, ${all}${longest.size < parts.length ? `, the longest ${longest.size}` : ""}`);
    const list = element("ol", "");
    for (const part of parts.filter((p) => longest.has(p))) {
      const name = part.edge && part.node === "RecvTensor" ? part.edge : part.node ?? part.edge ?? Panel.KINDS[part.kind];
      const place = part.edge ? `${shortDevice(part.from)} to ${shortDevice(part.to)}` : part.device ? shortDevice(part.device) : "";
      list.append(element("li", "", pick("row", () => this.app.goTo(part.begin_nanos, part.end_nanos, this.app.trace.placeOf(part.at)),
        element("span", "time", timeWords(time(part))), element("span", "what", name,
          element("div", "faint", `${Panel.KINDS[part.kind] ?? part.kind}${part.op ? ", " + part.op : ""}${place ? ", " + place : ""}, at ` +
            timeWords(part.begin_nanos - step.begin))))));
    }
    this.root.append(list);
  }

  #waits(summary) {
    if (summary.waits.length === 0) return;
    this.#head("Who waited for whom");
    for (const wait of summary.waits.slice(0, 12)) {
      this.root.append(element("div", "row", element("span", "time", timeWords(wait.unsent_nanos + wait.on_way_nanos)),
        element("span", "what", `${shortDevice(wait.device)} for ${shortDevice(wait.for)}`, element("div", "faint",
          `not sent yet ${timeWords(wait.unsent_nanos)}, on its way ${timeWords(wait.on_way_nanos)}; ` +
          `${countWords(wait.values, "value")}, ${byteWords(wait.bytes)}`))));
    }
  }

  #processors(summary) {
    const without = summary.devices.filter((device) => device.no_processor);
    if (without.length === 0) return;
    this.#head("Nodes without a processor");
    const part = (nanos, times, mark, what) => (times === 0 ? "" : element("div", "", element("span", `hatch ${mark}`), `${timeWords(nanos)} ${what}, ${countWords(times, "piece")}`));
    for (const {device, work_nanos, no_processor: lost} of without) {
      this.root.append(element("div", "row", element("span", "time", timeWords(lost.taken_nanos + lost.waited_nanos)),
        element("span", "what", `${shortDevice(device)}, of ${timeWords(work_nanos)} of its nodes`,
          part(lost.taken_nanos, lost.times_taken, "taken", "others ran"), part(lost.waited_nanos, lost.times_waited, "waited", "they waited"))));
    }
  }

  #ops(summary) {
    this.#head("Operations, by time");
    for (const op of summary.ops.slice(0, 12)) {
      this.root.append(element("div", "row", element("span", "time", timeWords(op.work_nanos)),
        element("span", "what", `${op.op || "(not known)"}, ${countWords(op.calls, "call")}`)));
    }
  }

  #clocks(summary) {
    const said = summary.tasks.slice(1).map((task) => `${shortDevice(task.task)}: ` +
      (task.offset_nanos === 0 ? "not moved" : `moved by ${timeWords(task.offset_nanos)}`) + ", off by at most " +
      (task.error_nanos === null ? "what nothing tells" : timeWords(task.error_nanos)));
    if (said.length > 0) this.#head("Clocks");
    for (const text of said) this.root.append(element("div", "faint", text));
    if (summary.notes.length > 0) this.#head("Notes");
    for (const note of summary.notes) this.root.append(element("div", "", note));
    this.root.append(element("p", "faint", summary.files.join(", ")));
  }
}
