// Columns: the numbers that the page holds, varints in base64, as typed arrays; its names, as JSON.
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

// Whether the page has that column.
function readColumn(name, out, signed = false) {
  let i = 0;
  for (const element of document.querySelectorAll(`script[data-column="${name}"]`)) {
    const bytes = bytesOfBase64(element.textContent);
    element.remove();
    i = readVarints(bytes, out, i, signed);
  }
  return i > 0;
}

// The numbers of `bytes` into out[i] and on; where the next one goes.
function readVarints(bytes, out, i, signed) {
  for (let at = 0; at < bytes.length;) {
    let value = bytes[at++];
    if (value > 127) {
      value &= 127;
      let byte = 128, shift = 7;
      for (; byte > 127 && shift < 28; shift += 7) {
        byte = bytes[at++];
        value |= (byte & 127) << shift;
      }
      for (let scale = 2 ** 28; byte > 127; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
    }
    out[i++] = !signed ? value : value < 2 ** 31 ? (value >>> 1) ^ -(value & 1) : value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  return i;
}
