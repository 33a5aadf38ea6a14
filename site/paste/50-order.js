// The order of the lines: whose they are, blocks of tracebacks, attempts, what progress overtook.
const SAME_RESTART_LINES = 60;
const LAUNCHES = new Set(["torchrun-elastic-operator", "torchrun-omp-notice", "deepspeed-command", "srun-allocated", "ray-connected"]);
const ENDS = ["summary", "exit", "scheduler"];
const LONGEST_IGNORED = 60, AT_ONCE = 3, AT_ONCE_AMONG_OTHERS = 12; // lines from where the interpreter says that it ignores a traceback

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
  return { pids, taskIsRank, oneHost: hosts.size <= 1 };
}

function groupBlocks(reading, rules) {
  let number = 0, process = null, dump = false;
  let open = new Map();
  const closed = new Map(), joined = new Set(), ignored = new Map();
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
    if (unheeded(ignored, who, kinds, seen.line.number)) {
      seen.matches = seen.matches.filter(({ pattern }) => rules.patterns[pattern].target !== "mark" || rules.patterns[pattern].name !== "exception");
    }
  }
}

// Whether a line ends a traceback that the interpreter only reports: of a finaliser or a callback.
function unheeded(ignored, who, kinds, number) {
  if (kinds.has("ignored")) ignored.set(who, { from: number, headed: false });
  const held = ignored.get(who);
  if (held === undefined) return false;
  const near = number - held.from <= (/^(file|host )/.test(who) ? AT_ONCE : AT_ONCE_AMONG_OTHERS);
  if (kinds.has("traceback") && !held.headed) {
    if (near) [held.from, held.headed] = [number, true];
    else ignored.delete(who);
  }
  if (!kinds.has("exception") || !ignored.has(who)) return false;
  ignored.delete(who);
  return held.headed ? number - held.from <= LONGEST_IGNORED : near;
}

// A launcher that prints these has just been started: after a failure this is another attempt (a requeue, a shell loop).
function launches(seen, rules) {
  const owners = seen.matches.map((match) => rules.patterns[match.pattern]).filter((pattern) => pattern.target === "mark").map((pattern) => pattern.owner);
  return owners.some((owner) => LAUNCHES.has(owner)) || !["0", "1"].includes(markValues(seen, rules).attempt ?? "0");
}

// Only the last attempt is diagnosed: what an earlier one died of was overcome or came again.
function lastAttempt(reading, rules) {
  const cuts = [];
  let previous = null, ended = false; // the last line that announced a restart; whether a line ended the attempt since
  for (const seen of reading.seen) {
    const kinds = marksOf(seen, rules), { number } = seen.line;
    const together = previous !== null && number - previous <= SAME_RESTART_LINES;
    if (kinds.has("restart")) {
      if (together) cuts[cuts.length - 1] = number;
      else cuts.push(number);
      [previous, ended] = [number, false];
    } else if (ended && kinds.has("start") && launches(seen, rules)) {
      cuts.push(number - 1);
      [previous, ended] = [number, false];
    } else if (ENDS.some((kind) => kinds.has(kind)) && !together) ended = true;
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

// Lines after which the run made progress are background; a bar of one process says nothing of an error of another.
function overtakenLines(seen, progress, rules) {
  const byProcess = new Map(), all = [];
  const note = (item, step) => {
    const who = identity(item.line);
    if (!byProcess.has(who)) byProcess.set(who, []);
    byProcess.get(who).push([item.line.number, step]);
    all.push([item.line.number, step]);
  };
  const several = seen.some((item) => item.line.rank !== null || ["summary", "teardown", "exit", "collateral"].some((name) => marksOf(item, rules).has(name)));
  for (const item of progress) {
    if (marksOf(item, rules).has("progress")) note(item, stepOf(item, rules));
    else if (!several) note(item, null);
  }
  let ended = 0; // the line that says that the whole command ended well
  for (const item of seen) {
    if (!marksOf(item, rules).has("completion")) continue;
    note(item, Infinity);
    if (item.line.rank === null && markValues(item, rules).status === "0") ended = item.line.number;
  }
  const overtaken = new Set();
  for (const { line } of seen) {
    const own = byProcess.get(identity(line)) ?? (line.rank === null ? all : []);
    const before = own.filter(([number, step]) => number < line.number && step !== null).map(([, step]) => step);
    const after = own.filter(([number]) => number > line.number).map(([, step]) => step);
    const stated = after.filter((step) => step !== null);
    const highest = Math.max(...stated);
    // a bar is drawn once more as it closes: one step may be the old
    const stood = before.length || highest === Infinity ? Math.max(-1, ...before) : Math.min(...stated);
    const advanced = stated.length ? highest > stood : after.length > 1;
    if (advanced || line.number < ended) overtaken.add(line.number);
  }
  return overtaken;
}
