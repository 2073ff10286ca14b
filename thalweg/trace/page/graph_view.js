// GraphView: the graph of the step: blocks that open with a click, nodes that lead to their spans and back.
"use strict";

class GraphView {
  static COLORS = {structure: "identical structures have one color", time: "redder: more of the step's time", device: "a color each device"};
  static MOST_LISTED = 8;

  constructor(app, canvas, bar) {
    this.app = app;
    this.canvas = canvas;
    this.bar = bar;
    this.context = canvas.getContext("2d", {alpha: false});
    this.graph = null;  // not read yet; undefined: the trace has none
    this.is_fitted = false;
    this.color = "structure";
    this.selected = null;
    this.x = this.y = 0;  // of the view's corner, in the graph
    this.scale = 1;
    this.frames = 0;
    for (const [color, does] of Object.entries(GraphView.COLORS)) {
      const button = element("button", "", color);
      button.title = does;
      button.dataset.color = color;
      button.addEventListener("click", () => this.colorBy(color));
      bar.append(button);
    }
    this.note = element("span", "faint", "");
    bar.append(this.note);
    this.#mouse();
    new ResizeObserver(() => this.ask()).observe(canvas);
  }

  get is_shown() { return !this.canvas.hidden; }

  get has_graph() { return document.getElementById("graph-nodes") !== null; }

  #read() {
    if (this.graph === null) this.graph = Graph.read() ?? undefined;
  }

  show(is_shown) {
    this.canvas.hidden = this.bar.hidden = !is_shown;
    this.app.canvas.hidden = is_shown;
    this.app.details.tooltip.hidden = true;
    this.app.details.show(is_shown ? -1 : this.app.selected);
    if (!is_shown) {
      this.app.painter.ask();
      return;
    }
    this.#read();
    this.note.textContent = this.graph ? this.#said() : "This trace has no partition graphs: record it with RunOptions.output_partition_graphs.";
    if (!this.graph) return;
    this.kinds = this.graph.kindCounts();
    this.#readTimes();
    GraphLayout.place(this.graph.root);
    if (!this.is_fitted) this.fit();
    this.colorBy(this.color);
    if (this.selected) this.#tell();
  }

  #said() {
    const {root, size} = this.graph;
    return `${countWords(size, "node")}, ${countWords(root.aside, "node")} set aside (constants, identities, savers, summaries, control inputs). ` +
      "Click opens and closes, wheel zooms, g goes back to the trace.";
  }

  colorBy(color) {
    this.color = color;
    for (const button of this.bar.querySelectorAll("button")) button.classList.toggle("chosen", button.dataset.color === color);
    this.ask();
  }

  // The time of each node in the step that is looked at; its longest span.
  #readTimes() {
    const {trace, step} = this.app, {graph} = this;
    if (this.timesOf === step) return;
    this.timesOf = step;
    const numbers = new Map();
    for (let node = 0; node < graph.size; ++node) numbers.set(`${graph.device[node]} ${graph.names[node]}`, node);
    this.times = new Float64Array(graph.size);
    this.calls = new Uint32Array(graph.size);
    this.spans = new Int32Array(graph.size).fill(-1);
    const ofLabel = trace.devices.map((_, device) => Int32Array.from(trace.labels, ([name]) => numbers.get(`${device} ${name}`) ?? -1));
    for (const row of trace.rows) {
      const nodes = ofLabel[row.device];
      for (let i = trace.firstFrom(row, step.begin); i < row.last && trace.starts[i] <= step.end; ++i) {
        const node = nodes[trace.label[i]];
        if (node < 0) continue;
        const time = trace.time(i);
        this.times[node] += time;
        ++this.calls[node];
        if (this.spans[node] < 0 || time > trace.time(this.spans[node])) this.spans[node] = i;
      }
    }
    this.numbers = numbers;
    graph.setTimes(this.times);
  }

  ask() {
    if (this.asked || !this.is_shown || !this.graph) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
      ++this.frames;
    });
  }

  // Corners of a block in the graph.
  cornerOf(block) {
    let x = 0, y = 0;
    for (let up = block; up.parent; up = up.parent) {
      x += up.x;
      y += up.y;
    }
    return {x, y};
  }

  fit() {
    const {root} = this.graph, {clientWidth, clientHeight} = this.canvas;
    this.scale = Math.min(1.2, clientWidth / root.width, clientHeight / root.height);
    this.x = (root.width - clientWidth / this.scale) / 2;
    this.y = (root.height - clientHeight / this.scale) / 2;
    this.is_fitted = true;
    this.ask();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, 0.005), 4);
    this.x += x / this.scale - x / scale;
    this.y += y / this.scale - y / scale;
    this.scale = scale;
    this.ask();
  }

  move(x, y) {
    this.x += x / this.scale;
    this.y += y / this.scale;
    this.ask();
  }

  draw() {
    const {canvas, context, graph} = this, {css} = this.app.palette;
    const ratio = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = css.back;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const scale = ratio * this.scale;
    context.setTransform(scale, 0, 0, scale, -this.x * scale, -this.y * scale);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    this.seen = {left: this.x, top: this.y, right: this.x + width / this.scale, bottom: this.y + height / this.scale};
    this.drawn = 0;
    this.most = graph.root.children.length > 0 ? this.#mostTime(graph.root) : 0;
    this.#drawInside(graph.root, 0, 0);
  }

  #mostTime(block) {
    return block.opened ? block.children.reduce((most, child) => Math.max(most, this.#mostTime(child)), 0) : block.time;
  }

  #drawInside(block, x, y) {
    const {seen} = this;
    for (const child of block.children) {
      const left = x + child.x, top = y + child.y;
      if (left > seen.right || top > seen.bottom || left + child.width < seen.left || top + child.height < seen.top) continue;
      this.#drawBlock(child, left, top);
      if (child.opened && child.children.length > 0) this.#drawInside(child, left, top);
    }
    this.#drawEdges(block, x, y);
  }

  #drawBlock(block, x, y) {
    const {context} = this, {css} = this.app.palette;
    ++this.drawn;
    const is_open = block.opened && block.children.length > 0;
    context.fillStyle = is_open ? css.raised : this.#colorOf(block);
    context.strokeStyle = block === this.selected ? css.text : css.faint;
    context.lineWidth = block === this.selected ? 3 : 1;
    context.beginPath();
    context.roundRect(x, y, block.width, block.height, block.node < 0 ? 6 : 13);
    context.fill();
    context.stroke();
    if (this.scale < 0.35) return;
    context.fillStyle = css.text;
    const room = Math.floor((block.width - 16) / 7);
    context.fillText(block.name.length > room ? block.name.slice(0, room - 1) + "…" : block.name, x + 8, y + 17, block.width - 12);
    if (block.node >= 0 || is_open) return;
    context.fillStyle = css.faint;
    context.fillText(`${block.nodes}${block.aside > 0 ? " + " + block.aside : ""}${block.time > 0 ? ", " + timeWords(block.time) : ""}`, x + 8, y + 33,
      block.width - 12);
  }

  #colorOf(block) {
    const {palette} = this.app;
    const hue = (number, share = 0.5) => `hsl(${(number * 137.5) % 360} ${share * 100}% ${palette.dark ? 32 : 82}%)`;
    if (this.color === "device") return block.device < 0 ? palette.css.lane : hue(block.device);
    if (this.color === "time") {
      const share = this.most > 0 ? Math.sqrt(block.time / this.most) : 0;
      return `hsl(${20 - 20 * share} ${20 + 70 * share}% ${palette.dark ? 20 + 25 * share : 96 - 34 * share}%)`;
    }
    return block.node < 0 && this.kinds.get(block.kind) > 1 ? hue(block.kind) : palette.css.lane;
  }

  #drawEdges(block, x, y) {
    const {context, seen} = this, {css} = this.app.palette;
    context.lineWidth = Math.max(1, 0.6 / this.scale);
    for (const color of [css.faint, css.accent]) {
      context.strokeStyle = color;
      context.beginPath();
      for (const {from, to} of block.edges) {
        if ((color === css.accent) !== (from === this.selected || to === this.selected)) continue;
        const left = x + from.x + from.width / 2, top = y + from.y + from.height, right = x + to.x + to.width / 2, bottom = y + to.y;
        if (Math.max(left, right) < seen.left || Math.min(left, right) > seen.right || Math.max(top, bottom) < seen.top || Math.min(top, bottom) > seen.bottom) continue;
        const bend = Math.max(Math.abs(bottom - top) / 2, 12);
        context.moveTo(left, top);
        context.bezierCurveTo(left, top + bend, right, bottom - bend, right, bottom);
      }
      context.stroke();
    }
  }

  // The innermost block at a point of the canvas; null: none.
  at(x, y) {
    let block = null, children = this.graph.root.children, left = this.x + x / this.scale, top = this.y + y / this.scale;
    for (;;) {
      const found = children.find((child) => left >= child.x && left < child.x + child.width && top >= child.y && top < child.y + child.height);
      if (!found) return block;
      block = found;
      if (!found.opened) return block;
      left -= found.x;
      top -= found.y;
      children = found.children;
    }
  }

  click(x, y) {
    const block = this.at(x, y);
    this.select(block);
    if (block && block.node < 0) this.toggle(block);
  }

  // What is clicked stays where it is.
  toggle(block) {
    const before = this.cornerOf(block);
    block.opened = !block.opened;
    GraphLayout.place(this.graph.root);
    const after = this.cornerOf(block);
    this.x += after.x - before.x;
    this.y += after.y - before.y;
    this.ask();
  }

  select(block) {
    this.selected = block;
    this.#tell();
    this.ask();
  }

  // The node of a span of the trace; -1: none. Reads the graph.
  nodeOf(place) {
    this.#read();
    if (!this.graph) return -1;
    const {trace} = this.app;
    this.#readTimes();
    return this.numbers.get(`${trace.rowOf(place).device} ${trace.name(place)}`) ?? -1;
  }

  goTo(node) {
    if (!this.is_shown) this.show(true);
    const block = this.graph.leaves[node] ?? this.graph.asideOf.get(node);
    for (let up = block.parent; up; up = up.parent) up.opened = true;
    GraphLayout.place(this.graph.root);
    const {x, y} = this.cornerOf(block), {clientWidth, clientHeight} = this.canvas;
    this.scale = Math.max(this.scale, 0.8);
    this.x = x + block.width / 2 - clientWidth / this.scale / 2;
    this.y = y + block.height / 2 - clientHeight / this.scale / 2.6;
    this.select(block);
    if (!this.graph.leaves[node]) this.#tellNode(node);
  }

  #link(node) {
    return pick("", () => this.goTo(node), `${this.graph.names[node]} (${this.graph.opOf(node)})`);
  }

  #tell() {
    const {selected} = this, {section} = this.app.details;
    section.hidden = !selected;
    if (!selected) return;
    if (selected.node >= 0) {
      this.#tellNode(selected.node);
      return;
    }
    const list = element("dl", "");
    const add = (what, ...children) => list.append(element("dt", "", what), element("dd", "", ...children));
    add("nodes", `${selected.nodes}, and ${selected.aside} set aside`);
    add("time", `${timeWords(selected.time)} in this step, of all nodes together`);
    if (selected.device >= 0) add("device", shortDevice(this.app.trace.devices[selected.device].device));
    const same = this.kinds.get(selected.kind) ?? 1;
    if (same > 1) add("structure", `${countWords(same, "block")} like this one`);
    section.replaceChildren(element("b", "", selected.path), list);
  }

  #tellNode(node) {
    const {graph} = this, {section} = this.app.details;
    const list = element("dl", "");
    const add = (what, ...children) => list.append(element("dt", "", what), element("dd", "", ...children));
    add("op", graph.opOf(node) + (graph.leaves[node] ? "" : ", set aside"));
    add("device", shortDevice(this.app.trace.devices[graph.device[node]].device));
    const span = this.spans[node];
    add("time", span < 0 ? "not in this step of the trace" : `${timeWords(this.times[node])} in ${countWords(this.calls[node], "call")}`);
    if (span >= 0) add("trace", pick("", () => this.goToSpan(span), "show in the trace (g)"));
    const inputs = graph.inputsOf(node), data = inputs.filter((input) => !input.isControl), readers = graph.readersOf(node, GraphView.MOST_LISTED);
    if (data.length > 0) add("reads", ...data.slice(0, GraphView.MOST_LISTED).map((input) => this.#link(input.node)));
    if (inputs.length > data.length) add("after", `${countWords(inputs.length - data.length, "control input")}`);
    if (readers.length > 0) add("read by", ...readers.map((reader) => this.#link(reader)));
    section.hidden = false;
    section.replaceChildren(element("b", "", graph.names[node]), list);
  }

  goToSpan(place) {
    this.show(false);
    this.app.goToSpan(place);
  }

  // g: to the graph, to the node of what is selected; and back, to the span of the node.
  turn() {
    if (this.is_shown) {
      const span = this.graph && this.selected?.node >= 0 ? this.spans[this.selected.node] : -1;
      if (span >= 0) this.goToSpan(span);
      else this.show(false);
      return;
    }
    this.showNodeOf(this.app.selected);
  }

  // The graph, at the node of a span where it has one.
  showNodeOf(place) {
    const node = place >= 0 ? this.nodeOf(place) : -1;
    this.show(true);
    if (node >= 0) this.goTo(node);
  }

  key(key) {
    const acts = {
      "w": () => this.zoom(1.3), "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "s": () => this.zoom(1 / 1.3), "-": () => this.zoom(1 / 1.3),
      "a": () => this.move(-80, 0), "ArrowLeft": () => this.move(-80, 0), "d": () => this.move(80, 0), "ArrowRight": () => this.move(80, 0),
      "ArrowUp": () => this.move(0, -80), "ArrowDown": () => this.move(0, 80), "f": () => this.fit(), "Escape": () => this.select(null),
    };
    if (!this.graph || !acts[key]) return false;
    acts[key]();
    return true;
  }

  #mouse() {
    const {canvas} = this;
    let drag = null;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (this.graph) this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) / 300), ...point(event));
    }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.graph) return;
      canvas.setPointerCapture(event.pointerId);
      const [x, y] = point(event);
      drag = {x, y, far: 0};
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) drag = null;
      if (!drag) return;
      const [x, y] = point(event);
      drag.far += Math.abs(x - drag.x) + Math.abs(y - drag.y);
      if (drag.far > 4) this.move(drag.x - x, drag.y - y);
      drag.x = x;
      drag.y = y;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && drag.far <= 4) this.click(...point(event));
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
  }
}
