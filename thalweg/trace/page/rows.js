// Rows: what is drawn below what: a head for each task, a row of utilization for each device, its lanes, then its memory.
"use strict";

class Rows {
  static HEIGHTS = {task: 20, device: 26, lane: 15, receives: 13, memory: 48};

  constructor(trace) {
    this.list = [];
    this.ofLane = new Map();
    const add = (kind, text, more) => {
      const height = Rows.HEIGHTS[kind];
      this.list.push({kind, text, top: this.height ?? 0, height, ...more});
      this.height = (this.height ?? 0) + height;
    };
    for (const task of trace.tasks) {
      if (trace.tasks.length > 1) add("task", shortDevice(task.task), {});
      trace.devices.forEach((device, number) => {
        if (device.task !== task.task) return;
        const lanes = trace.rows.filter((row) => row.device === number);
        if (lanes.length === 0) return;
        add("device", shortDevice(device.device), {device: number, lanes: []});
        const head = this.list.at(-1);
        for (const lane of lanes) {
          add(lane.receives ? "receives" : "lane", lane.receives ? "receives" : `lane ${lane.lane}`, {lane, device: number});
          this.ofLane.set(lane, this.list.at(-1));
          head.lanes.push(this.list.at(-1));
        }
        const uses = trace.memory?.usesOf(number) ?? [];
        if (uses.length > 0) add("memory", "memory", {device: number, uses, most: Math.max(...uses.map((use) => use.most), 1)});
        this.height += 4;
      });
    }
  }

  of(lane) { return this.ofLane.get(lane); }

  at(y) { return this.list.find((row) => y >= row.top && y < row.top + row.height); }
}
