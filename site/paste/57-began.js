// Who began it: the first line that explains, else how a process ended; what only follows explains nothing.
const NOISE = /0x[0-9a-fA-F]+|\d+|'[^']{1,80}'|"[^"]{1,80}"|\/[\w./-]+/g;
const TOLD_TO_STOP = new Set([0, -15, -2, -1, 15, 143, 130, 129]);
const CRASH_CODES = new Set([-4, -7, -8, -11, -25]);
const isKill = (code) => code === -9 || code === 137;
const STRENGTH = { hardware: 0, kernel: 1, scheduler: 2, exception: 3, crash: 3, mismatch: 4 };
const PRINTED_LATE = /oom|memory|node/; // reasons of schedulers that are printed after what they explain
const isMachine = (event) => event.kind === "hardware" || event.kind === "kernel";
const numberOf = (event) => event.seen.line.number;
const coreText = (text) => text.replace(NOISE, "N").slice(0, 200);
const sameEvent = (left, right) => left.kind === right.kind && coreText(left.seen.line.text) === coreText(right.seen.line.text);

// Events that only follow: from the process's own loss of a peer, or from the time-out.
function consequences(events, noticed) {
  const follows = new Set(), lost = new Map();
  for (const event of events) {
    if (event.kind === "collateral" && /^(rank|pid|local|task) /.test(event.who)) {
      if (!lost.has(event.who)) lost.set(event.who, numberOf(event));
      continue;
    }
    if (["exception", "crash", "mismatch"].includes(event.kind) && numberOf(event) > (lost.get(event.who) ?? Infinity)) follows.add(event);
    const device = event.name === "cuda-error" && event.who.startsWith("rank ");
    if (!device && !isMachine(event) && numberOf(event) > noticed) follows.add(event);
  }
  return follows;
}

function firstPerProcess(events) {
  const firsts = new Map();
  for (const event of events) {
    const key = /^(file|machine|host)/.test(event.who) ? `line ${numberOf(event)}` : `${event.who} ${event.kind}`;
    if (!firsts.has(key)) firsts.set(key, event);
  }
  return [...firsts.values()];
}

// The earliest line; a record of the machine or of the scheduler's memory watch may be printed after what it explains.
function choose(events) {
  const earliest = (held) => held.reduce((best, event) => (best === null || numberOf(event) < numberOf(best) ? event : best), null);
  const first = earliest(events);
  if (first === null) return null;
  if (first.kind === "mismatch") {
    const own = events.filter((event) => (event.kind === "exception" || event.kind === "crash") && event.ranks.length === 1 && first.ranks.includes(event.ranks[0]));
    if (own.length) return earliest(own);
  }
  const together = events.filter((event) => event === first || isMachine(event) || (event.kind === "scheduler" && PRINTED_LATE.test(event.name)));
  const strongest = Math.min(...together.map((event) => STRENGTH[event.kind]));
  return earliest(together.filter((event) => STRENGTH[event.kind] === strongest));
}

function whoBegan(events, overtaken, exits, noticed, known) {
  const standing = events.filter((event) => !overtaken.has(numberOf(event)));
  const follows = consequences(standing, noticed);
  const reached = new Set(standing.filter((event) => "reached" in event.values).map((event) => Number(event.values.reached)));
  const explaining = standing.filter((event) => CLASSES.includes(event.kind) && !follows.has(event)
    && !(event.name === "monitored-barrier" && event.ranks.length === 1 && reached.has(event.ranks[0])));
  const firsts = firstPerProcess(explaining);
  const collateral = standing.filter((event) => event.kind === "collateral" || event.kind === "teardown");
  const byEvent = (event, among) => ({ event, alike: event === null ? [] : among.filter((other) => sameEvent(other, event)), collateral, killed: false });
  const byExit = (end) => {
    const event = events.find((item) => item.seen === end.seen) ?? null;
    const killed = event !== null && event.kind === "exit" && isKill(end.code) && end.rank !== null && !overtaken.has(numberOf(event));
    return { event, alike: event === null ? [] : [event], collateral, killed };
  };
  const named = firsts.filter((event) => event.kind !== "mismatch" || event.ranks.length);
  const hangs = noticed < Infinity;
  const crash = crashed(exits, events, known, hangs);
  const chosen = choose(named) ?? (crash || hangs ? null : choose(firsts));
  if (chosen !== null) return byEvent(chosen, firsts);
  if (crash) return byExit(crash);
  const nameless = exits.filter((end) => end.rank === null);
  const ended = hangs ? null : nameless.find((end) => end.code < 0 && !TOLD_TO_STOP.has(end.code));
  if (ended) return byExit(ended);
  if (standing.some((event) => event.kind === "summary" || event.kind === "collateral")) {
    const before = events.filter((event) => ["hardware", "kernel", "mismatch"].includes(event.kind) && event.ranks.length === 1 && overtaken.has(numberOf(event)));
    if (before.length) return byEvent(before[0], firstPerProcess(before));
  }
  if (hangs) return byEvent(null, []);
  const plain = firstBadExit(exits, events, known) ?? (nameless.length === exits.length ? nameless.find((end) => end.code > 0) : null);
  return plain ? byExit(plain) : byEvent(null, []);
}

const lostRanks = (events) => new Set(events.filter((event) => event.kind === "collateral").map((event) => event.seen.line.rank));

// The process that a signal ended, where not all of them were, and not after a time-out of its own.
function crashed(exits, events, known, hangs) {
  const lost = lostRanks(events);
  const forced = new Set(events.filter((event) => event.name === "torchrun-forced").map((event) => event.values.pid));
  const held = exits.filter((end) => end.rank !== null);
  const alone = (end) => !end.shared && !held.some((other) => other.code > 0 && other.seen.line.number < end.seen.line.number);
  const signalled = held.filter((end) => CRASH_CODES.has(end.code) || (isKill(end.code) && !forced.has(end.values.pid))
    || (end.code === -6 && !lost.has(end.rank) && !hangs && alone(end)));
  const ranks = new Set(signalled.map((end) => end.rank));
  const others = held.some((end) => !ranks.has(end.rank));
  if (!signalled.length || (ranks.size > 1 && !others && signalled.length >= known)) return null;
  return signalled.find((end) => CRASH_CODES.has(end.code)) ?? signalled[0];
}

// The first process that ended with an error of its own; nobody where all of them did alike.
function firstBadExit(exits, events, known) {
  const bad = exits.filter((end) => end.rank !== null && !TOLD_TO_STOP.has(end.code));
  const ranks = new Set(bad.map((end) => end.rank)), lost = lostRanks(events);
  if (new Set(bad.map((end) => end.code)).size === 1 && ranks.size > 1 && ranks.size >= ALL_ALIKE * Math.max(known, 1)) return null;
  return bad.find((end) => !lost.has(end.rank)) ?? null;
}
