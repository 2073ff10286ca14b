// Words: times and sizes as people read them; elements whose text is text, whatever stands in it.
"use strict";

function scaled(value, unit) {
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${unit}`;
}

function timeWords(nanos) {
  if (nanos < 0) return "-" + timeWords(-nanos);
  if (nanos < 1e3) return `${Math.round(nanos)} ns`;
  if (nanos < 999950) return scaled(nanos / 1e3, "us");
  if (nanos < 999950000) return scaled(nanos / 1e6, "ms");
  return scaled(nanos / 1e9, "s");
}

// A moment between marks that are `stride` apart: as many digits as tell it from its neighbors.
function momentWords(nanos, stride) {
  const size = Math.abs(nanos);
  const [unit, name] = size < 1e3 ? [1, "ns"] : size < 1e6 ? [1e3, "us"] : size < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${(nanos / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / stride) - 1e-9)))} ${name}`;
}

function byteWords(bytes) {
  if (bytes < 1e3) return `${bytes} B`;
  if (bytes < 1e6) return scaled(bytes / 1e3, "kB");
  if (bytes < 1e9) return scaled(bytes / 1e6, "MB");
  return scaled(bytes / 1e9, "GB");
}

function countWords(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

// "/job:worker/replica:0/task:0/device:CPU:0" as "worker/0 CPU:0".
function shortDevice(name) {
  const parts = /^(?:\/job:([^/]*))?(?:\/replica:(\d+))?(?:\/task:(\d+))?\/?(?:device:)?(.*)$/.exec(name);
  if (!parts || parts[1] === undefined) return name || "this process";
  const replica = parts[2] && parts[2] !== "0" ? `replica ${parts[2]} ` : "";
  return `${replica}${parts[1]}/${parts[3] ?? "?"}${parts[4] ? " " + parts[4] : ""}`;
}

// element("p", "faint", "3 nodes", other): children are elements or texts.
function element(tag, style, ...children) {
  const made = document.createElement(tag);
  if (style) made.className = style;
  made.append(...children);
  return made;
}

function pick(style, act, ...children) {
  const made = element("button", ("pick " + style).trim(), ...children);
  made.addEventListener("click", act);
  return made;
}
