// Columns: the numbers that the page holds, in blocks of bits in base64, as typed arrays; its names, as JSON.
//
//   const starts = new Float64Array(n);
//   readColumn("gap", starts, true);
//
// Of spans, by place: gap (signed: from the end of the one before in its row, or from 0), time, label, waited, bytes, cause (signed:
// the place of the cause less its own; 0: not known). Of times without a processor: switch-place, switch-gap, switch-time (Switches).
// All times are nanoseconds. What was read leaves the page.
"use strict";

function readJson(id) {
  const element = document.getElementById(id);
  const value = JSON.parse(element.textContent);
  element.remove();
  return value;
}

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// The comments "column NAME BASE64" of the page, by name: of all that it may hold, they cost a browser least.
const columns = new Map();
for (const node of document.body.childNodes) {
  if (node.nodeType !== Node.COMMENT_NODE) continue;
  const name = node.substringData(0, 60).split(" ", 2)[1];
  if (!columns.has(name)) columns.set(name, []);
  columns.get(name).push(node);
}

// Whether the page has that column.
function readColumn(name, out, signed = false) {
  let i = 0;
  for (const comment of columns.get(name) ?? []) {
    const bytes = bytesOfBase64(comment.data.slice("column  ".length + name.length));
    comment.remove();
    i = readBlocks(new Uint32Array(bytes.buffer), out, i, signed);
  }
  columns.delete(name);
  return i > 0;
}

// The numbers of blocks (page_column.h) into out[i] and on; where the next one goes.
function readBlocks(words, out, i, signed) {
  for (let at = 0; at < words.length;) {
    const head = words[at++], width = head & 63, count = (head >>> 8 & 255) + 1, larger = head >>> 16;
    readLowBits(words, at, width, count, out, i);
    at += Math.ceil(count * width / 32);
    for (let k = 0; k < larger; ++k, at += 2) {
      out[i + (words[at] & 255)] += ((words[at] >>> 8) + words[at + 1] * 2 ** 24) * 2 ** width;
    }
    const end = i + count;
    if (!signed) i = end;
    for (; i < end; ++i) {
      const value = out[i];
      out[i] = value < 2 ** 31 ? (value >>> 1) ^ -(value & 1) : value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }
  return i;
}

function readLowBits(words, at, width, count, out, i) {
  const mask = width === 32 ? -1 : (1 << width) - 1, end = width === 0 ? i : i + count;
  for (let shift = 0; i < end; ++i) {
    let value = words[at] >>> shift;
    shift += width;
    if (shift >= 32) {
      ++at;
      shift -= 32;
      if (shift > 0) value |= words[at] << (width - shift);
    }
    out[i] = (value & mask) >>> 0;
  }
  if (width === 0) for (const last = i + count; i < last; ++i) out[i] = 0;
}
