// Search: nodes whose name or operation holds a text. The longest are framed; Enter goes from one to the next.
"use strict";

class Search {
  static MOST = 200;

  constructor(app, input) {
    this.app = app;
    this.input = input;
    this.next = 0;
    input.addEventListener("input", () => this.find(input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && app.found.length > 0) {
        const step = event.shiftKey ? -1 : 1;
        app.goToSpan(app.found[this.next]);
        this.next = (this.next + step + app.found.length) % app.found.length;
      } else if (event.key === "Escape") {
        this.clear();
        app.canvas.focus();
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  find(text) {
    const {trace} = this.app;
    const wanted = text.trim().toLowerCase();
    this.next = 0;
    const matches = wanted === "" ? [] : trace.labels.map(([name, op]) => name.toLowerCase().includes(wanted) || op.toLowerCase().includes(wanted));
    const found = [];
    let count = 0, least = 0;
    if (matches.includes(true)) {
      for (let i = 0; i < trace.size; ++i) {
        if (!matches[trace.label[i]]) continue;
        ++count;
        if (found.length >= 4 * Search.MOST) least = this.#cut(found);
        if (found.length < Search.MOST || trace.time(i) > least) found.push(i);
      }
      this.#cut(found);
    }
    this.app.found = found;
    this.#show(wanted, matches, count);
    this.app.painter.ask();
  }

  // Keeps the longest; how long the last of them is.
  #cut(found) {
    const {trace} = this.app;
    found.sort((a, b) => trace.time(b) - trace.time(a));
    found.length = Math.min(found.length, Search.MOST);
    return found.length > 0 ? trace.time(found[found.length - 1]) : 0;
  }

  #show(wanted, matches, count) {
    if (wanted === "") {
      this.app.panel.show(this.app.summary);
      return;
    }
    const {trace, panel} = this.app;
    const names = matches.filter(Boolean).length;
    panel.root.replaceChildren(element("h2", "", `Found: ${countWords(count, "span")}, ${countWords(names, "name")}`));
    for (const place of this.app.found.slice(0, 50)) {
      panel.root.append(pick("row", () => this.app.goToSpan(place), element("span", "time", timeWords(trace.time(place))),
        element("span", "what", trace.name(place), element("div", "faint", `${trace.op(place)}, ${shortDevice(trace.devices[trace.rowOf(place).device].device)}`))));
    }
  }

  clear() {
    this.input.value = "";
    this.find("");
  }
}
