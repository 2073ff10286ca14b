// Palette: a color for each operation, light or dark as the system prefers; pixels are 0xAABBGGRR.
"use strict";

class Palette {
  // Of what holds memory: hue and saturation, in the order of HeldKind.
  static KINDS = [[212, 0.55], [190, 0.3], [262, 0.4], [28, 0.75], [350, 0.6], [90, 0.35], [45, 0.2]];

  constructor(trace) {
    this.trace = trace;
    this.read();
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue("--" + name).trim();
    this.css = Object.fromEntries(["back", "raised", "line", "text", "faint", "accent", "stall", "path", "lane", "use"]
      .map((name) => [name, value(name)]));
    this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.back = Palette.pixel(this.css.back);
    this.lane = Palette.pixel(this.css.lane);
    this.use = Palette.pixel(this.css.use);
    this.taken = Palette.pixel(this.dark ? "#000000" : "#1c1f24");
    this.waited = Palette.pixel(this.dark ? "#353a43" : "#ffffff");
    this.ofKind = Palette.KINDS.map(([hue, saturation]) => Palette.hsl(hue, saturation, this.dark ? 0.5 : 0.6));
    this.ofLabel = Uint32Array.from(this.trace.labels, ([name, op, kind]) => this.#color(op || name, kind));
  }

  #color(op, kind) {
    if (kind === KIND_SEND) return Palette.hsl(168, 0.6, this.dark ? 0.42 : 0.5);
    if (kind !== 0) return Palette.hsl(280, 0.3, this.dark ? 0.5 : 0.72);
    let hash = 0;
    for (let i = 0; i < op.length; ++i) hash = (Math.imul(hash, 31) + op.charCodeAt(i)) >>> 0;
    return Palette.hsl(Math.imul(hash, 2654435761) >>> 0, 0.52, (this.dark ? 0.5 : 0.62) + (hash % 5) * 0.025);
  }

  static pixel(hex) {
    const value = parseInt(hex.slice(1), 16);
    return (255 << 24 | (value & 255) << 16 | (value >> 8 & 255) << 8 | value >> 16) >>> 0;
  }

  static hsl(hue, saturation, lightness) {
    const reach = saturation * Math.min(lightness, 1 - lightness);
    const channel = (n) => {
      const k = (n + hue % 360 / 30) % 12;
      return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
    };
    return (255 << 24 | channel(4) << 16 | channel(8) << 8 | channel(0)) >>> 0;
  }

  // `share` of one pixel over another.
  static mix(over, under, share) {
    const more = Math.round(share * 256), less = 256 - more;
    const outer = ((over & 0xff00ff) * more + (under & 0xff00ff) * less) >>> 8 & 0xff00ff;
    const inner = ((over & 0xff00) * more + (under & 0xff00) * less) >>> 8 & 0xff00;
    return (0xff000000 | outer | inner) >>> 0;
  }
}
