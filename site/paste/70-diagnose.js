// The rules, prepared once; a log, read piece by piece; the answer.
function prepare(data) {
  const patterns = data.patterns.map(([pattern, unless, where, target, owner, name, value, gives, literals, late]) => ({
    pattern, unless, where, target, owner, name, value, gives, literals, late,
  }));
  return {
    ...data,
    patterns,
    late: patterns.flatMap((pattern, index) => (pattern.late ? [index] : [])),
    quoting: new Set(patterns.flatMap((pattern, index) => (pattern.target === "mark" && ["exception", "quotes"].includes(pattern.name) ? [index] : []))),
    collateral: new Set(data.rules.filter((rule) => rule.role === "collateral").map((rule) => rule.id)),
    decisiveOfCollateral: new Set(data.rules.filter((rule) => rule.role === "collateral").flatMap((rule) => rule.signatures.filter((item) => item.strength === "decisive").map((item) => `${rule.id} ${item.name}`))),
    automaton: new Literals(patterns),
    prefixReader: new PrefixReader(data.prefixes),
  };
}

function conclude(reading, rules, hung) {
  const facts = new Facts(reading.facts);
  if (hung) for (const [name, value] of [["symptom", "hang"], ["progress", false]]) facts.add({ name, value, line: null, text: "" });
  deriveModelFacts(facts, rules);
  groupBlocks(reading, rules);
  const processes = assignRanks(reading, rules);
  const { seen, progress } = lastAttempt(reading, rules);
  const overtaken = overtakenLines(seen, progress, rules);
  const known = new Set([...reading.ranks, ...[...seen, ...progress].map((item) => item.line.rank).filter((rank) => rank !== null)]);
  const events = classify(seen, rules, processes);
  const hang = timeOuts(events);
  const began = whoBegan(events, overtaken, readExits(seen, rules, processes), Math.min(Infinity, ...hang.waiting.values()), known.size);
  const starts = [began.event, ...began.alike].filter(Boolean).map((event) => event.seen);
  const place = {
    known: starts.length > 0,
    lines: new Set(starts.map((item) => item.line.number)),
    blocks: new Set(starts.map((item) => item.block).filter((block) => block >= 0)),
  };
  const hits = new Map();
  for (const item of seen) {
    for (const match of item.matches) {
      const pattern = rules.patterns[match.pattern];
      if (pattern.target !== "signature") continue;
      if (!hits.has(pattern.owner)) hits.set(pattern.owner, new Map());
      const names = hits.get(pattern.owner);
      if (!names.has(pattern.name)) names.set(pattern.name, []);
      names.get(pattern.name).push(item);
    }
  }
  const ranked = rankEntries(hits, rules, facts, findRelations(events, began, hang, known, { seen, progress }, rules), place, overtaken);
  const ranks = new Set(seen.map((item) => item.line.rank).filter((rank) => rank !== null));
  const completed = !began.event && seen.some((item) => marksOf(item, rules).has("completion"));
  const first = began.event?.seen.line;
  return {
    ...ranked,
    verdict: ranked.hypotheses.length ? "matched" : completed ? "healthy" : "unknown",
    began: first ? { line: first.number, rank: first.rank, text: first.text.slice(0, 400), kind: began.event.kind } : null,
    collateral: began.collateral.length,
    ranks: ranks.size,
    lines: reading.lines,
    facts: [...facts.byName].map(([name, held]) => ({ name, values: held.map((fact) => String(fact.value)), line: held[0].line })),
  };
}

// Pieces of a stream → pieces that end at a line feed.
class Lines {
  constructor(scan) {
    this.scan = scan;
    this.held = null;
  }

  push(bytes) {
    const end = bytes.lastIndexOf(10) + 1;
    const joined = (tail) => {
      if (this.held === null) return tail;
      const both = new Uint8Array(this.held.length + tail.length);
      both.set(this.held);
      both.set(tail, this.held.length);
      this.held = null;
      return both;
    };
    if (!end && (this.held?.length ?? 0) < 8 << 20) {
      this.held = joined(bytes);
      return;
    }
    this.scan.piece(joined(bytes.subarray(0, end || bytes.length)));
    if (end && end < bytes.length) this.held = bytes.slice(end);
  }

  end() {
    if (this.held !== null && this.held.length) this.scan.piece(this.held);
    return this.scan.end();
  }
}

async function diagnose(source, rules, { name = "log", hung = false, progress = () => {} } = {}) {
  for (const pattern of rules.patterns) pattern.kept = 0;
  const scan = new Scan(rules, name);
  const lines = new Lines(scan);
  const size = source.size, step = 2 << 20;
  let decoder = null;
  for (let at = 0; at < size; at += step) {
    let bytes = new Uint8Array(await source.slice(at, at + step).arrayBuffer());
    if (at === 0) {
      const encoding = encodingOf(bytes);
      if (encoding !== "utf-8") decoder = new TextDecoder(encoding);
      else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
    }
    if (decoder !== null) bytes = new TextEncoder().encode(decoder.decode(bytes, { stream: true }));
    lines.push(bytes);
    progress(Math.min(1, (at + step) / size));
  }
  return conclude(lines.end(), rules, hung);
}
