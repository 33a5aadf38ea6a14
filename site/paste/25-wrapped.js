// A message that a terminal, a mail or a form broke at its width → the message in one line.
const MOST_LINES = 6, MOST_TEXT = 1200;
const NARROWEST = 40; // characters; a shorter line was ended by its writer
const OTHER_LINE = new RegExp(
  "^(?:\\s|$|Traceback |The above exception|During handling|\\[(?:\\d|rank|default|[A-Z]{4,8}\\]|[EWIF] ?\\d)|"
  + "\\(\\w+ pid=|\\d{4}-\\d\\d-\\d\\d|\\d\\d:\\d\\d:\\d\\d|(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|File)\\b|"
  + "[=\\-*#─╭╰│+~]{3}|[A-Za-z_][\\w.]{0,160}(?:Error|Exception|Warning|Interrupt)\\b|[A-Z]\\d{4} \\d\\d:)",
);

function wrappedParts(first, following) {
  const parts = [first.trimEnd()];
  let size = first.length;
  if (parts[0].length < NARROWEST && !parts[0].endsWith(":")) return parts; // a long word begins a line of its own
  for (const text of following) {
    size += text.length + 1;
    if (OTHER_LINE.test(text) || size > MOST_TEXT) break;
    parts.push(text.trimEnd());
    if (parts.length > MOST_LINES || parts.at(-1).length < NARROWEST) break;
  }
  return parts;
}

// The lines of a message in one, and where they meet; once as words are wrapped, once as a terminal cuts.
function* joinedParts(parts) {
  const join = (spaced) => {
    let text = parts[0];
    const seams = [];
    parts.slice(1).forEach((part, index) => {
      seams.push(text.length);
      text += spaced(parts[index]) ? ` ${part}` : part;
    });
    return [text, seams];
  };
  yield join((part) => !/[-/]$/.test(part));
  const widths = new Set(parts.slice(1, -1).map((part) => part.length));
  // the first one may have lost a prefix that the others do not have
  if (!widths.size || (widths.size === 1 && parts[0].length <= Math.max(...widths))) yield join(() => false);
}
