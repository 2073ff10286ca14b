// Controls: mouse and keys.
"use strict";

class Controls {
  static KEYS = [["w  +  wheel", "zoom in"], ["s  -  wheel", "zoom out"], ["a  left", "move left"], ["d  right", "move right"], ["up  down  shift+wheel", "scroll"],
    ["drag", "move and scroll"], ["click", "details of a span"], ["f", "fit the step"], ["n", "go to the next stall"], ["g", "the graph, and back to the trace"], ["/", "search; Enter: next; Esc: end"],
    ["Esc", "nothing selected"], ["?", "this list"]];

  constructor(app) {
    this.app = app;
    this.#help();
    this.#mouse();
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  #help() {
    this.dialog = document.getElementById("help");
    const table = element("table", "");
    for (const [keys, does] of Controls.KEYS) {
      const names = keys.split("  ").flatMap((key) => [element("kbd", "", key), " "]);
      table.append(element("tr", "", element("td", "", ...names), element("td", "", does)));
    }
    const marks = element("p", "", ...[["taken", "a node had no processor: others ran"], ["waited", "it waited"]]
      .flatMap(([mark, means]) => [element("span", `hatch ${mark}`), means, element("br", "")]));
    this.dialog.append(element("b", "", "Keys"), table, marks);
    this.dialog.addEventListener("click", () => this.dialog.close());
    document.getElementById("ask").addEventListener("click", () => this.dialog.showModal());
    document.getElementById("turn").addEventListener("click", () => this.app.graphView.turn());
    document.getElementById("fit").addEventListener("click", () => this.app.fit());
  }

  #mouse() {
    const {app} = this, {canvas, view} = app;
    let drag = null;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const by = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      if (event.shiftKey) {
        app.scrollTo(view.scroll + (by || event.deltaX));
        return;
      }
      if (Math.abs(event.deltaX) > Math.abs(by)) view.move(event.deltaX / 1000);
      else view.zoom(Math.exp(-by / 300), app.timeAt(point(event)[0]));
    }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      const [x, y] = point(event);
      drag = {x, y, far: 0};
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = point(event);
      if (!event.buttons) drag = null;  // it ended where nobody saw it
      if (!drag) {
        app.details.hover(x, y);
        return;
      }
      drag.far += Math.abs(x - drag.x) + Math.abs(y - drag.y);
      if (drag.far > 4) {
        view.move((drag.x - x) / (canvas.clientWidth - Marks.GUTTER));
        app.scrollTo(view.scroll + drag.y - y);
      }
      drag.x = x;
      drag.y = y;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && drag.far <= 4) app.click(...point(event));
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { app.details.tooltip.hidden = true; });
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select") || this.dialog.open) return;
    const {app} = this, {view} = app;
    if (app.graphView.is_shown && app.graphView.key(event.key)) {
      event.preventDefault();
      return;
    }
    const acts = {
      "w": () => view.zoom(1.4), "+": () => view.zoom(1.4), "=": () => view.zoom(1.4), "s": () => view.zoom(1 / 1.4), "-": () => view.zoom(1 / 1.4),
      "a": () => view.move(-0.2), "ArrowLeft": () => view.move(-0.2), "d": () => view.move(0.2), "ArrowRight": () => view.move(0.2),
      "ArrowUp": () => app.scrollTo(view.scroll - 60), "ArrowDown": () => app.scrollTo(view.scroll + 60),
      "f": () => app.fit(), "n": () => app.nextStall(), "g": () => app.graphView.turn(), "/": () => app.search.input.focus(), "?": () => this.dialog.showModal(),
      "Escape": () => app.clear(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
