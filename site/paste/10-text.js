// Bytes → clean lines, as the command line reads them.
const CLIP = 4000;
const ANSI = /\x1b(?:\[[0-?]{0,64}[ -/]{0,16}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

function cleanLine(text) {
  const cut = text.lastIndexOf("\r");
  const line = cut < 0 ? text : text.replace(/\r+$/, "").split("\r").pop();
  return line.replace(ANSI, "").replace(CONTROLS, "").slice(0, CLIP);
}

function printable(text) {
  return text.replaceAll("\t", " ").replace(UNSAFE, "\ufffd");
}

// A decoder for what the first bytes say: a byte order mark, the zeros of UTF-16, else UTF-8.
function encodingOf(head) {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  let odd = 0, even = 0;
  const size = Math.min(head.length, 512);
  for (let i = 0; i < size; i++) if (head[i] === 0) i % 2 ? odd++ : even++;
  if (size >= 8 && odd > 0.3 * size && even < 0.05 * size) return "utf-16le";
  if (size >= 8 && even > 0.3 * size && odd < 0.05 * size) return "utf-16be";
  return "utf-8";
}
