// What began it: blocks of tracebacks, attempts, the first line of the strongest class.
const CLASSES = ["hardware", "kernel", "scheduler", "exception", "crash", "mismatch"];
const FOLLOWS = new Set(["collateral", "teardown", "summary"]);
const NOISE = /0x[0-9a-fA-F]+|\d+|'[^']{1,80}'|"[^"]{1,80}"|\/[\w./-]+/g;
const TOLD_TO_STOP = new Set(["0", "-15", "15", "143", "-2", "130"]);
const SAME_RESTART_LINES = 60;

function identity(line) {
  if (line.rank !== null) return `rank ${line.rank}`;
  if (line.pid !== null) return `pid ${line.host ?? line.ip ?? ""} ${line.pid}`;
  if (line.localRank !== null) return `local ${line.host ?? line.task ?? line.file} ${line.localRank}`;
  if (line.task !== null) return `task ${line.task}`;
  if (line.host !== null) return `host ${line.host}`;
  return "file";
}

function marksOf(seen, rules) {
  return new Set(seen.matches.map((match) => rules.patterns[match.pattern]).filter((pattern) => pattern.target === "mark").map((pattern) => pattern.name));
}

function markValues(seen, rules) {
  const values = {};
  for (const match of seen.matches) {
    const pattern = rules.patterns[match.pattern];
    if (pattern.target !== "mark") continue;
    pattern.gives.forEach((name, index) => {
      if (match.groups[index]) values[name] ??= match.groups[index];
    });
  }
  return values;
}

// Local ranks and tasks are global ones where all lines come from one node, which is what one file mostly holds.
function assignRanks(reading, rules) {
  const items = [...reading.seen, ...reading.progress];
  const hosts = new Set(items.map((item) => item.line.host).filter((host) => host !== null));
  const pids = new Map();
  for (const item of reading.seen) {
    const values = markValues(item, rules);
    const { line } = item;
    if (line.pid !== null && line.rank !== null && line.device !== null) pids.set(`${line.host} ${line.pid}`, line.rank);
    if ("nranks" in values) {
      const rank = Number(values.comm_rank);
      if (line.pid !== null && line.rank === null) pids.set(`${line.host} ${line.pid}`, rank);
      line.rank ??= rank;
    }
  }
  const tasks = items.filter((item) => item.line.task !== null);
  const ranked = tasks.filter((item) => item.line.rank !== null);
  const taskIsRank = ranked.length
    ? ranked.every((item) => item.line.task === item.line.rank)
    : tasks.every((item) => item.line.localRank === null || item.line.localRank === item.line.task);
  for (const { line } of items) {
    if (line.rank !== null) continue;
    if (line.pid !== null && pids.has(`${line.host} ${line.pid}`)) line.rank = pids.get(`${line.host} ${line.pid}`);
    else if (line.localRank !== null) line.rank = hosts.size <= 1 && (line.task === null || taskIsRank) ? line.localRank : null;
    else if (line.task !== null) line.rank = taskIsRank ? line.task : null;
    else line.rank = line.groupRank;
  }
}

function groupBlocks(reading, rules) {
  let number = 0, process = null, dump = false;
  let open = new Map();
  const closed = new Map(), joined = new Set();
  for (const seen of reading.seen) {
    const kinds = marksOf(seen, rules);
    if (kinds.has("stack")) {
      const pid = markValues(seen, rules).pid ?? "";
      dump = true;
      process = /^\d+$/.test(pid) ? Number(pid) : process;
      number++;
      open = new Map();
      seen.line.pid ??= process;
      open.set(identity(seen.line), number);
      seen.block = number;
      continue;
    }
    if (dump && process !== null) seen.line.pid ??= process;
    const who = identity(seen.line);
    // The parts of a chain are one block; a frame opens one where the head of its traceback was cut off.
    if (kinds.has("chained")) {
      const quotes = kinds.has("exception");
      if (!open.has(who)) open.set(who, !quotes && closed.has(who) ? closed.get(who) : ++number);
      if (!quotes) joined.add(who);
    } else if (kinds.has("traceback") && joined.has(who)) joined.delete(who);
    else if (kinds.has("traceback") || (kinds.has("frame") && !open.has(who))) {
      joined.delete(who);
      open.set(who, ++number);
    }
    seen.block = open.get(who) ?? -1;
    if (kinds.has("exception") && !kinds.has("chained") && !dump && open.has(who)) {
      closed.set(who, open.get(who));
      open.delete(who);
    }
  }
}

// Only the last attempt is diagnosed: what an earlier one died of was overcome or came again.
function lastAttempt(reading, rules) {
  const cuts = [];
  let previous = null;
  for (const seen of reading.seen) {
    if (!marksOf(seen, rules).has("restart")) continue;
    const number = seen.line.number;
    if (previous !== null && number - previous <= SAME_RESTART_LINES) cuts[cuts.length - 1] = number;
    else cuts.push(number);
    previous = number;
  }
  const cut = cuts.at(-1) ?? 0;
  const after = (item) => item.line.number > cut;
  return { seen: reading.seen.filter(after), progress: reading.progress.filter(after) };
}

function stepOf(item, rules) {
  for (const match of item.matches) {
    const { gives } = rules.patterns[match.pattern];
    const at = gives.indexOf("step");
    if (at >= 0) {
      const step = Number(match.groups[at].replaceAll(",", ""));
      return Number.isNaN(step) ? null : step;
    }
  }
  return null;
}

// Lines after which the run made progress are background.
function overtakenLines(seen, progress, rules) {
  const byProcess = new Map(), all = [];
  const note = (item, step) => {
    const who = identity(item.line);
    if (!byProcess.has(who)) byProcess.set(who, []);
    byProcess.get(who).push([item.line.number, step]);
    all.push([item.line.number, step]);
  };
  for (const item of progress) note(item, stepOf(item, rules));
  for (const item of seen) if (marksOf(item, rules).has("completion")) note(item, Infinity);
  const overtaken = new Set();
  for (const { line } of seen) {
    const own = byProcess.get(identity(line)) ?? (line.rank === null ? all : []);
    const before = own.filter(([number, step]) => number < line.number && step !== null).map(([, step]) => step);
    const after = own.filter(([number]) => number > line.number).map(([, step]) => step);
    const stated = after.filter((step) => step !== null);
    const advanced = stated.length ? Math.max(...stated) > Math.max(-1, ...before) : after.length > 1;
    if (advanced) overtaken.add(line.number);
  }
  return overtaken;
}

function classify(seen, rules) {
  const events = [];
  for (const item of seen) {
    const marks = item.matches.map((match) => rules.patterns[match.pattern]).filter((pattern) => pattern.target === "mark");
    const values = markValues(item, rules);
    const follows = marks.find((mark) => FOLLOWS.has(mark.name));
    if (follows) {
      events.push({ seen: item, kind: follows.name, name: follows.owner, values });
      continue;
    }
    const byEntry = item.matches.some((match) => {
      const pattern = rules.patterns[match.pattern];
      return pattern.target === "signature" && rules.collateral.has(pattern.owner);
    });
    const rank = (mark) => (CLASSES.includes(mark.name) ? CLASSES.indexOf(mark.name) : CLASSES.length);
    const chosen = marks.filter((mark) => CLASSES.includes(mark.name) || mark.name === "exit").sort((left, right) => rank(left) - rank(right))[0];
    if (chosen) {
      const kind = byEntry && (chosen.name === "exception" || chosen.name === "crash") ? "collateral" : chosen.name;
      events.push({ seen: item, kind, name: chosen.owner, values });
    }
  }
  return events;
}

function before(left, right) {
  const strength = CLASSES.indexOf(left.kind) - CLASSES.indexOf(right.kind);
  const order = left.seen.line.number - right.seen.line.number;
  const both = ["exception", "crash"];
  if (both.includes(left.kind) && both.includes(right.kind)) return order ? order < 0 : strength < 0;
  return strength ? strength < 0 : order < 0;
}

const coreText = (text) => text.replace(NOISE, "N").slice(0, 200);
const sameEvent = (left, right) => left.kind === right.kind && coreText(left.seen.line.text) === coreText(right.seen.line.text);

function whoBegan(events, overtaken) {
  const standing = events.filter((event) => !overtaken.has(event.seen.line.number));
  const firsts = new Map();
  for (const event of standing) {
    if (!CLASSES.includes(event.kind)) continue;
    const key = `${identity(event.seen.line)} ${event.kind}`;
    if (!firsts.has(key)) firsts.set(key, event);
  }
  let chosen = null;
  for (const event of firsts.values()) if (chosen === null || before(event, chosen)) chosen = event;
  if (chosen === null) chosen = standing.find((event) => event.kind === "exit" && !TOLD_TO_STOP.has(event.values.exitcode ?? "0")) ?? null;
  const alike = chosen === null ? [] : [...firsts.values()].filter((event) => sameEvent(event, chosen));
  const collateral = standing.filter((event) => event.kind === "collateral" || event.kind === "teardown");
  return { event: chosen, alike, collateral };
}
