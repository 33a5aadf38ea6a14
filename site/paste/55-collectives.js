// What several ranks show together, where one file holds them all: relations, by the names that entries give them.
const ALL_ALIKE = 0.8; // of the ranks: then nobody began it alone
const SETTLED = 0.5; // of the ranks that should report a time-out: then who did not is told by their silence

// The ranks whose watchdogs report a time-out, with the line of the first report of each; and their groups.
function timeOuts(events) {
  const waiting = new Map(), first = (found, rank, item) => { if (!found.has(rank)) found.set(rank, item); };
  const groups = new Map(), groupOf = new Map();
  for (const { seen, kind, values } of events) {
    const { rank } = seen.line;
    if (rank === null || kind !== "collateral") continue;
    if ("group" in values && "seq" in values && !groupOf.has(rank)) groupOf.set(rank, values.group);
    if (!("seq" in values && "op" in values)) continue;
    first(waiting, rank, seen.line.number);
    const group = values.group ?? groupOf.get(rank) ?? "";
    if (!groups.has(group)) groups.set(group, new Map());
    first(groups.get(group), rank, { seq: Number(values.seq), op: values.op, size: values.numel_in ?? "" });
  }
  return { waiting, groups };
}

function findRelations(events, began, { waiting, groups }, known, { seen, progress }, rules) {
  const steps = progress.filter((item) => marksOf(item, rules).has("progress")).map((item) => item.line.number);
  const told = steps.length ? ["steps-seen"] : [];
  if (began.event !== null && steps.some((number) => number < began.event.seen.line.number)) told.push("steps-before");
  told.push(...differing(groups), ...absent(events, waiting, known, seen, rules), ...stuckWatchdog(events, waiting), ...raised(began, events, known, waiting));
  return new Set(began.killed ? [...told, "killed-first"] : told);
}

function differing(groups) {
  const found = new Set();
  for (const members of groups.values()) {
    const reports = [...members.values()];
    if (reports.length < 2) continue;
    const distinct = (name) => new Set(reports.map((report) => report[name]).filter((value) => value !== "")).size;
    if (distinct("seq") > 1) found.add("rank-lags");
    else if (distinct("op") > 1) found.add("same-sequence-different-op");
    else if (distinct("size") > 1) found.add("same-sequence-different-size");
  }
  return found;
}

// Who is through, left the loop or stays silent, while others wait.
function absent(events, waiting, known, seen, rules) {
  const found = new Set(), ended = new Set(), leaving = new Set();
  if (!waiting.size) return found;
  for (const item of seen) {
    const values = markValues(item, rules), { rank } = item.line;
    if ("leaves" in values && rank !== null) leaving.add(rank);
    if (!("through" in values) && values.status !== "0") continue;
    const who = "through_rank" in values ? Number(values.through_rank) : rank;
    if (who !== null) ended.add(who);
  }
  let through = [...ended].filter((rank) => !waiting.has(rank));
  if (!through.length && leaving.size === 1 && ![...leaving].some((rank) => waiting.has(rank))) through = [...leaving];
  const world = Math.max(...waiting.keys(), ...known, ...through) + 1;
  if (waiting.size === 1 && through.length > 1 && through.length === world - 1) found.add("rank-left-behind");
  else if (through.length && (through.length === 1 || through.length < waiting.size)) found.add("rank-exited-early");
  const noticed = Math.min(...waiting.values());
  const fell = new Set(events.filter(({ seen: { line }, kind, values }) => line.rank !== null && line.number < noticed && (kind === "exception" || kind === "crash" || (kind === "collateral" && "exception" in values))).map((event) => event.seen.line.rank));
  const expected = Array.from({ length: world }, (_, rank) => rank).filter((rank) => !fell.has(rank));
  const silent = expected.filter((rank) => !waiting.has(rank));
  const unseen = silent.some((rank) => !known.has(rank));
  if (silent.length && waiting.size >= SETTLED * expected.length && !(unseen && waiting.size <= silent.length)) found.add("missing-reporter");
  return found;
}

// One rank's watchdog stood still before any other rank told of a loss or a time-out.
function stuckWatchdog(events, waiting) {
  const stuck = new Map();
  for (const { seen, name } of events) if (name === "nccl-watchdog-stuck" && seen.line.rank !== null && !stuck.has(seen.line.rank)) stuck.set(seen.line.rank, seen.line.number);
  const others = events.filter(({ seen, kind }) => kind === "collateral" && seen.line.rank !== null && !stuck.has(seen.line.rank));
  if (stuck.size !== 1 || !others.length) return [];
  const [[rank, number]] = stuck;
  const late = others.every((event) => event.seen.line.number > number) && !((waiting.get(rank) ?? Infinity) < number);
  return late ? ["watchdog-stuck"] : [];
}

// An exception that one rank of several raised, or all of them alike.
function raised({ event, alike, collateral }, events, known, waiting) {
  if (event === null) return [];
  const own = new Set(alike.flatMap((item) => item.ranks));
  const processes = new Set(alike.map((item) => item.who)).size;
  const victims = events.some(({ seen, kind }) => kind === "collateral" && seen.line.rank !== null && !own.has(seen.line.rank));
  const everyone = Math.max(processes, own.size) > 1 && ["exception", "crash", "mismatch", "hardware"].includes(event.kind)
    && (own.size >= Math.max(2, ALL_ALIKE * known.size) || (event.kind === "exception" && !victims && !waiting.size && processes > 1));
  if (everyone) return ["all-ranks-fail-alike"];
  const several = Math.max(known.size - 1, ...known) > 0 || collateral.length > 0;
  const nameless = !event.ranks.length && (alike.length > 1 || waiting.size > 0);
  return event.kind === "exception" && !event.follows && several && !nameless && own.size < 2 ? ["local-exception"] : [];
}
