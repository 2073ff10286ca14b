// Graph: the partition graphs of a trace as a tree of name scopes, whose leaves are nodes. The page holds names and operations as JSON, and, by
// node, device, op, how many inputs it has; then the inputs of all: twice their node, and one more for those of control.
//
// What only keeps books (constants, identities, what orders, saves and summarizes) is set aside: an edge through an Identity goes from what
// it reads to who reads it, the others are counted where they are. Members of a scope that differ by a number alone are a series.
"use strict";

class GraphBlock {
  constructor(parent, name, path) {
    this.parent = parent;
    this.name = name;
    this.path = path;
    this.depth = parent ? parent.depth + 1 : 0;
    this.node = -1;      // of a leaf
    this.children = [];  // what is drawn
    this.edges = [];     // of its children: {from, to, count}
    this.nodes = 0;      // below it, or itself
    this.aside = 0;      // how many are set aside
    this.kind = 0;       // the same for those of the same structure
    this.time = 0;       // of the step that is looked at
    this.device = -1;    // -2: several
    this.between = null;  // edges while they are counted
    this.opened = false;
    if (parent) parent.children.push(this);
  }
}

class Graph {
  static ASIDE = new Set(["Const", "Identity", "NoOp", "SaveV2", "RestoreV2", "SaveSlices", "Save", "Restore", "RestoreSlice", "ShardedFilename",
    "MergeV2Checkpoints", "MergeSummary"]);
  static LEAST_SERIES = 4;
  static DEEPEST = 64;  // scopes; the rest of a name is one

  // null: the trace has no graphs.
  static read() { return document.getElementById("graph-nodes") ? new Graph() : null; }

  constructor() {
    const {names, ops} = readJson("graph-nodes");
    this.names = names;
    this.ops = ops;
    this.size = names.length;
    const column = (name, size = this.size) => {
      const values = new Uint32Array(size);
      readColumn(name, values);
      return values;
    };
    this.device = column("graph-device");
    this.op = column("graph-op");
    const counts = column("graph-inputs");
    this.firsts = new Uint32Array(this.size + 1);
    for (let i = 0; i < this.size; ++i) this.firsts[i + 1] = this.firsts[i] + counts[i];
    this.inputs = column("graph-input", this.firsts[this.size]);
    this.#growTree();
    const edges = this.#dataEdges();
    this.#lift(edges);
    this.#nameKinds(this.root, new Map());
    if (this.#groupSeries(this.root)) {
      this.#lift(edges);
      this.#nameKinds(this.root, new Map());
    }
    this.#count(this.root);
    this.root.opened = true;
  }

  opOf(node) { return this.ops[this.op[node]]; }

  // What a node reads: {node, isControl}.
  inputsOf(node) {
    return Array.from(this.inputs.subarray(this.firsts[node], this.firsts[node + 1]), (input) => ({node: input >> 1, isControl: (input & 1) === 1}));
  }

  readersOf(node, most) {
    const found = [];
    for (let reader = 0; reader < this.size && found.length < most; ++reader) {
      if (this.inputsOf(reader).some((input) => input.node === node && !input.isControl)) found.push(reader);
    }
    return found;
  }

  #isAside(node) {
    const op = this.opOf(node);
    return Graph.ASIDE.has(op) || op.includes("Summary") || /(^|\/)save(_\d+)?\//.test(this.names[node]);
  }

  // How long the scope of a name is.
  static #scopeLength(name) {
    let length = 0;
    for (let i = 0, cut = name.indexOf("/"); i < Graph.DEEPEST && cut >= 0; ++i, cut = name.indexOf("/", cut + 1)) length = cut;
    return length;
  }

  // A scope that is a node's name as well holds it, as "(name)".
  #growTree() {
    this.root = new GraphBlock(null, "", "");
    this.leaves = new Array(this.size).fill(null);  // null: set aside
    const scopes = new Map([["", this.root]]);
    const scopeOf = (path) => {
      let scope = scopes.get(path);
      if (!scope) {
        const cut = Graph.#scopeLength(path);
        scope = new GraphBlock(scopeOf(path.slice(0, cut)), path.slice(cut).replace(/^\//, ""), path);
        scopes.set(path, scope);
      }
      return scope;
    };
    const parents = new Set(), aside = Uint8Array.from(this.names, (_, node) => this.#isAside(node));
    this.names.forEach((name, node) => {
      if (aside[node]) return;
      for (let path = name.slice(0, Graph.#scopeLength(name)); path !== "" && !parents.has(path); path = path.slice(0, Graph.#scopeLength(path))) parents.add(path);
    });
    const scopeOfNode = this.names.map((name) => parents.has(name) ? name : name.slice(0, Graph.#scopeLength(name)));
    for (let i = 0; i < this.size; ++i) {
      if (aside[i]) continue;
      const path = scopeOfNode[i], name = this.names[i];
      const leaf = new GraphBlock(scopeOf(path), path === name ? `(${name.slice(Graph.#scopeLength(name)).replace(/^\//, "")})` :
        name.slice(path === "" ? 0 : path.length + 1), name);
      leaf.node = i;
      this.leaves[i] = leaf;
    }
    // What is set aside is no reason for a block: it is counted in the nearest that there is.
    this.asideOf = new Map();
    for (let i = 0; i < this.size; ++i) {
      if (this.leaves[i]) continue;
      let path = scopeOfNode[i];
      while (!scopes.has(path)) path = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
      this.asideOf.set(i, scopes.get(path));
      ++scopes.get(path).aside;
    }
  }

  // [from, to] of nodes that are drawn: data alone, through what is set aside and hands on what it reads.
  #dataEdges() {
    const edges = [];
    const source = (input) => {
      for (let hops = 0; hops < 64 && !this.leaves[input]; ++hops) {
        const first = this.opOf(input) === "Identity" ? this.inputsOf(input)[0] : undefined;
        if (!first || first.isControl) return -1;
        input = first.node;
      }
      return this.leaves[input] ? input : -1;
    };
    for (let node = 0; node < this.size; ++node) {
      if (!this.leaves[node]) continue;
      for (let i = this.firsts[node]; i < this.firsts[node + 1]; ++i) {
        const from = (this.inputs[i] & 1) === 0 ? source(this.inputs[i] >> 1) : -1;
        if (from >= 0 && from !== node) edges.push([from, node]);
      }
    }
    return edges;
  }

  // Each edge to the block within which it runs, between two of its children.
  #lift(edges) {
    const clear = (block) => {
      block.between = null;
      block.depth = block.parent ? block.parent.depth + 1 : 0;
      block.children.forEach(clear);
    };
    clear(this.root);
    for (const edge of edges) {
      let [from, to] = edge.map((node) => this.leaves[node]);
      while (from.depth > to.depth) from = from.parent;
      while (to.depth > from.depth) to = to.parent;
      while (from !== to && from.parent !== to.parent) [from, to] = [from.parent, to.parent];
      if (from === to) continue;
      const between = from.parent.between ??= new Map();
      if (!between.has(from)) between.set(from, new Map());
      between.get(from).set(to, (between.get(from).get(to) ?? 0) + 1);
    }
    const keep = (block) => {
      block.edges = [];
      for (const [from, targets] of block.between ?? []) {
        for (const [to, count] of targets) block.edges.push({from, to, count});
      }
      block.between = null;
      block.children.forEach(keep);
    };
    keep(this.root);
  }

  // Blocks of the same structure, operations and edges, get the same kind.
  #nameKinds(block, kinds) {
    block.children.forEach((child) => this.#nameKinds(child, kinds));
    const structure = block.node >= 0 ? this.opOf(block.node)
      : block.children.map((child) => child.kind).sort((a, b) => a - b).join() + "|" +
        block.edges.map(({from, to}) => `${from.kind}>${to.kind}`).sort().join();
    if (!kinds.has(structure)) kinds.set(structure, kinds.size + 1);
    block.kind = kinds.get(structure);
  }

  // Whether there are any.
  #groupSeries(block) {
    let any = false;
    if (block.children.length === 0) return any;
    for (const child of block.children) any = this.#groupSeries(child) || any;
    const groups = new Map();
    for (const child of block.children) {
      const base = child.name.replace(/\d+/g, "#").replace(/_#$/, "");
      const key = `${child.kind} ${base}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(child);
    }
    if (groups.size < 2) return any;  // it would be the block once more
    for (const members of groups.values()) {
      if (members.length < Graph.LEAST_SERIES) continue;
      const series = new GraphBlock(block, `${members[0].name} ... ${members.at(-1).name}`, `${members[0].path} ...`);
      series.children = members;
      for (const member of members) member.parent = series;
      any = true;
    }
    block.children = block.children.filter((child) => child.parent === block);
    return any;
  }

  #count(block) {
    block.nodes = block.node >= 0 ? 1 : 0;
    if (block.node >= 0) block.device = this.device[block.node];
    for (const child of block.children) {
      this.#count(child);
      block.nodes += child.nodes;
      block.aside += child.aside;
      block.device = block.device === -1 || block.device === child.device ? child.device : -2;
    }
  }

  // Times of a step into the blocks: all that the nodes below ran, and what is set aside in them.
  setTimes(timeOfNode) {
    const clear = (block) => {
      block.time = 0;
      block.children.forEach(clear);
    };
    clear(this.root);
    for (let node = 0; node < this.size; ++node) {
      for (let block = this.leaves[node] ?? this.asideOf.get(node); block; block = block.parent) block.time += timeOfNode[node];
    }
  }

  // How many blocks have a structure, of those with more than one node.
  kindCounts() {
    const counts = new Map();
    const add = (block) => {
      if (block.nodes > 1 && block.node < 0) counts.set(block.kind, (counts.get(block.kind) ?? 0) + 1);
      block.children.forEach(add);
    };
    add(this.root);
    return counts;
  }
}
