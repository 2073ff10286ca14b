// GraphLayout: where blocks stand, in layers: what is read above what reads it. Only what is opened is laid out. A block's x and y count from
// its parent's corner; width and height are its own.
"use strict";

class GraphLayout {
  static LEAF = 26;
  static HEAD = 24;
  static GAP = 18;
  static LAYER_GAP = 34;
  static WIDEST = 3000;  // a layer goes on in another line

  static place(block) {
    if (!block.opened || block.children.length === 0) {
      block.width = Math.min(Math.max(block.name.length * 7 + 24, 70), 240);
      block.height = GraphLayout.LEAF + (block.node < 0 ? 14 : 0);
      return;
    }
    block.children.forEach(GraphLayout.place);
    const layers = GraphLayout.#layers(block.children, GraphLayout.#withoutCircles(block));
    GraphLayout.#order(layers, block.edges);
    GraphLayout.#spread(block, layers);
  }

  // Edges but those that lead back: loops are drawn, and do not count.
  static #withoutCircles(block) {
    const targets = new Map(block.children.map((child) => [child, []]));
    for (const edge of block.edges) targets.get(edge.from).push(edge);
    const forward = [], state = new Map();  // 1: on the way, 2: done
    for (const start of block.children) {
      if (state.has(start)) continue;
      const way = [[start, 0]];
      state.set(start, 1);
      while (way.length > 0) {
        const top = way.at(-1), edge = targets.get(top[0])[top[1]++];
        if (!edge) {
          state.set(top[0], 2);
          way.pop();
        } else if (state.get(edge.to) !== 1) {
          forward.push(edge);
          if (!state.has(edge.to)) {
            state.set(edge.to, 1);
            way.push([edge.to, 0]);
          }
        }
      }
    }
    return forward;
  }

  // Each block one below the last that it reads; one that reads nothing just above its first reader.
  static #layers(children, edges) {
    const waits = new Map(children.map((child) => [child, 0])), targets = new Map(children.map((child) => [child, []]));
    for (const {from, to} of edges) {
      targets.get(from).push(to);
      waits.set(to, waits.get(to) + 1);
    }
    const ready = children.filter((child) => waits.get(child) === 0), sources = new Set(ready);
    for (const child of children) child.layer = 0;
    for (let i = 0; i < ready.length; ++i) {
      for (const to of targets.get(ready[i])) {
        to.layer = Math.max(to.layer, ready[i].layer + 1);
        waits.set(to, waits.get(to) - 1);
        if (waits.get(to) === 0) ready.push(to);
      }
    }
    for (const source of sources) {
      const readers = targets.get(source);
      if (readers.length > 0) source.layer = readers.reduce((least, to) => Math.min(least, to.layer), Infinity) - 1;
    }
    const layers = [];
    for (const child of ready) (layers[child.layer] ??= []).push(child);
    return layers.filter(Boolean);
  }

  // Within layers by where what they read, then who reads them, stands: a few times down and up.
  static #order(layers, edges) {
    const sources = new Map(), targets = new Map();
    for (const {from, to} of edges) {
      (sources.get(to) ?? sources.set(to, []).get(to)).push(from);
      (targets.get(from) ?? targets.set(from, []).get(from)).push(to);
    }
    for (const layer of layers) layer.forEach((block, i) => { block.rank = i / layer.length; });
    const sort = (layer, others) => {
      for (const block of layer) {
        const near = others.get(block);
        block.wish = near ? near.reduce((sum, other) => sum + other.rank, 0) / near.length : block.rank;
      }
      layer.sort((a, b) => a.wish - b.wish);
      layer.forEach((block, i) => { block.rank = (i + 0.5) / layer.length; });
    };
    for (let sweep = 0; sweep < 4; ++sweep) {
      for (const layer of layers) sort(layer, sources);
      for (const layer of [...layers].reverse()) sort(layer, targets);
    }
  }

  static #spread(block, layers) {
    const lines = [];
    for (const layer of layers) {
      let line = null;
      for (const child of layer) {
        if (!line || line.width + child.width > GraphLayout.WIDEST) lines.push(line = {width: 0, height: 0, blocks: []});
        line.blocks.push(child);
        line.width += child.width + GraphLayout.GAP;
        line.height = Math.max(line.height, child.height);
      }
      line.gap = GraphLayout.LAYER_GAP;
    }
    const width = lines.reduce((most, line) => Math.max(most, line.width - GraphLayout.GAP), Math.min(block.name.length, 60) * 7 + 40);
    let y = GraphLayout.HEAD + GraphLayout.GAP;
    for (const line of lines) {
      let x = GraphLayout.GAP + (width - (line.width - GraphLayout.GAP)) / 2;
      for (const child of line.blocks) {
        child.x = x;
        child.y = y + (line.height - child.height) / 2;
        x += child.width + GraphLayout.GAP;
      }
      y += line.height + (line.gap ?? GraphLayout.GAP / 2);
    }
    block.width = width + 2 * GraphLayout.GAP;
    block.height = y - GraphLayout.LAYER_GAP + GraphLayout.GAP;
  }
}
