// The page: what is looked at, and the parts that show it.
"use strict";

class App {
  constructor() {
    this.trace = new Trace();
    this.palette = new Palette(this.trace);
    this.rows = new Rows(this.trace);
    this.view = new View(this.trace.whole.begin, this.trace.whole.end);
    this.canvas = document.getElementById("canvas");
    this.found = [];
    this.pathPlaces = [];
    this.selected = -1;
    this.stall = null;
    this.painter = new Painter(this, this.canvas);
    this.panel = new Panel(this, document.getElementById("panel"));
    this.details = new Details(this, document.getElementById("tooltip"), document.getElementById("details"));
    this.graphView = new GraphView(this, document.getElementById("graph"), document.getElementById("graph-bar"));
    this.search = new Search(this, document.getElementById("search"));
    this.controls = new Controls(this);
    this.view.changed = () => this.painter.ask();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.palette.read();
      this.panel.show(this.summary);
      this.painter.ask();
      this.graphView.ask();
    });
    this.#fillSteps();
    this.choose(this.trace.slowest);
    this.view.fit(this.trace.whole.begin, this.trace.whole.end);
    this.canvas.focus();
  }

  #fillSteps() {
    const select = document.getElementById("step");
    select.hidden = this.trace.steps.length < 2;
    this.trace.steps.forEach((step, i) => {
      const words = i === this.trace.slowest ? ", the slowest" : this.trace.summaries.has(i) ? "" : ", not analyzed";
      select.append(new Option(`step ${i}: ${timeWords(step.end - step.begin)}${words}`, i));
    });
    select.addEventListener("change", () => {
      this.choose(Number(select.value));
      this.fit();
      this.canvas.focus();
    });
  }

  choose(number) {
    this.summary = this.trace.summaries.get(number);
    this.step = this.trace.steps[number];
    this.stall = null;
    this.pathPlaces = (this.summary?.critical_path ?? []).map((part) => ({...part, place: this.trace.placeOf(part.at)}));
    document.getElementById("step").value = number;
    const headline = `step ${number} of ${countWords(this.trace.steps.length, "step")}: ${timeWords(this.step.end - this.step.begin)}, ` +
      `${countWords(this.step.nodes, "node")} on ${countWords(this.trace.devices.length, "device")}`;
    document.getElementById("headline").textContent = document.title = headline;
    this.panel.show(this.summary);
    this.painter.ask();
    if (this.graphView.is_shown) this.graphView.show(true);
  }

  timeAt(x) { return this.view.begin + (x - Marks.GUTTER) / (this.canvas.clientWidth - Marks.GUTTER) * this.view.time; }

  fit() {
    if (this.graphView.is_shown && this.graphView.graph) this.graphView.fit();
    else this.view.fit(this.step.begin, this.step.end);
  }

  scrollTo(y) { this.view.scrollTo(Math.min(y, this.rows.height - (this.canvas.clientHeight - Marks.TOP) + 40)); }

  select(place) {
    this.selected = place;
    this.details.show(place);
    this.painter.ask();
  }

  // Shows a time with what is around it, and the row of a span, which is selected; -1: none.
  goTo(begin, end, place) {
    if (this.graphView.is_shown) this.graphView.show(false);
    const around = Math.max((end - begin) * 0.4, 500);
    this.view.show(begin - around, end + around);
    this.select(place);
    const row = place < 0 ? null : this.rows.of(this.trace.rowOf(place));
    const room = this.canvas.clientHeight - Marks.TOP - (this.details.section.offsetHeight || 0);
    if (row && (row.top < this.view.scroll || row.top + row.height > this.view.scroll + room)) this.scrollTo(row.top - room / 2);
  }

  goToSpan(place) { this.goTo(this.trace.starts[place], this.trace.end(place), place); }

  goToStall(stall) {
    this.stall = stall;
    this.goTo(stall.begin_nanos, stall.end_nanos, this.trace.placeOf(stall.at));
  }

  nextStall() {
    const stalls = this.summary?.stalls ?? [];
    if (stalls.length > 0) this.goToStall(stalls[(stalls.indexOf(this.stall) + 1) % stalls.length]);
  }

  click(x, y) {
    const flag = this.painter.marks.flags.find((f) => x >= f.left && x <= f.right && y >= f.top && y <= f.bottom);
    if (flag) this.goToStall(flag.stall);
    else this.select(this.details.hit(x, y).place);
  }

  clear() {
    this.stall = null;
    this.search.clear();
    this.select(-1);
  }
}

let app;
try {
  app = new App();
} catch (error) {
  document.getElementById("headline").textContent = `This page cannot be shown: ${error.message}`;
  throw error;
}
