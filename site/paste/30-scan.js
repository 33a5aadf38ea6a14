// One pass over the bytes: an automaton finds the literals that patterns need; only such lines meet a regular expression.
const KEEP = 4000;
const TRIES = 200000;
const TAIL = 256 << 10;
const FRAME = /File "[^"]{1,500}", line \d+|^\s*\S.{0,300} \([^()\s]{1,300}:\d+\)|^\s*#\d+\s+(?:0x[0-9a-f]+ in )?\S|^\s*at \S/;
const KERNEL = /NVRM|nvidia-nvswitch|kernel:|\[\s*\d+\.\d{6}\]|dmesg|Out of memory|oom[-_]kill|EDAC|mce:|mlx5|SXid|Killed process|^\[\w{3} \w{3} /;
const EMITTERS = { stack: FRAME, kernel: KERNEL };

class Literals {
  constructor(patterns) {
    const encoder = new TextEncoder();
    const words = [];
    let nodes = 1;
    this.always = [];
    patterns.forEach((pattern, index) => {
      if (pattern.late) return;
      if (!pattern.literals.length) this.always.push(index);
      for (const literal of pattern.literals) {
        const bytes = encoder.encode(literal);
        nodes += bytes.length;
        words.push([bytes, index]);
      }
    });
    const next = new Int32Array(nodes * 256);
    const out = [null];
    let size = 1;
    for (const [bytes, index] of words) {
      let state = 0;
      for (const byte of bytes) {
        const at = state * 256 + byte;
        if (!next[at]) {
          next[at] = size++;
          out.push(null);
        }
        state = next[at];
      }
      (out[state] ??= []).push(index);
    }
    const fail = new Int32Array(size);
    const queue = [];
    for (let byte = 0; byte < 256; byte++) if (next[byte]) queue.push(next[byte]);
    for (let head = 0; head < queue.length; head++) {
      const state = queue[head];
      const inherited = out[fail[state]];
      if (inherited) out[state] = out[state] ? out[state].concat(inherited) : inherited;
      for (let byte = 0; byte < 256; byte++) {
        const at = state * 256 + byte;
        const to = next[at];
        if (to) {
          fail[to] = next[fail[state] * 256 + byte];
          queue.push(to);
        } else next[at] = next[fail[state] * 256 + byte];
      }
    }
    this.next = next;
    this.out = out;
    this.hit = Uint8Array.from(out, (found) => (found ? 1 : 0));
  }
}

class Scan {
  constructor(rules, name) {
    this.rules = rules;
    this.name = name;
    this.prefixes = rules.prefixReader;
    this.seen = [];
    this.facts = [];
    this.progress = [];
    this.ranks = new Set();
    this.counts = new Map();
    this.line = 1;
    this.decoder = new TextDecoder("utf-8");
    this.first = true;
    this.tail = [];
    this.tailBytes = 0;
  }

  // A piece ends at a line feed, but for the last one.
  piece(bytes) {
    if (this.first) {
      const head = this.decoder.decode(bytes.subarray(0, 256 << 10)).split("\n").map(cleanLine);
      this.prefixes = this.rules.prefixReader.sample(head);
      this.first = false;
    }
    bytes = this.withoutCodes(bytes);
    this.keepTail(bytes);
    const { next, out, hit, always } = this.rules.automaton;
    const size = bytes.length;
    let state = 0, start = 0, wanted = null;
    for (let at = 0; at < size; at++) {
      const byte = bytes[at];
      state = next[state * 256 + byte];
      if (hit[state]) {
        wanted ??= new Set(always);
        for (const index of out[state]) wanted.add(index);
      }
      if (byte === 10) {
        if (wanted !== null || always.length) this.matched(bytes.subarray(start, at), wanted ?? always, bytes, at + 1);
        wanted = null;
        state = 0;
        start = at + 1;
        this.line++;
      }
    }
    if (start < size) {
      if (wanted !== null || always.length) this.matched(bytes.subarray(start, size), wanted ?? always, bytes, size);
      this.line++;
    }
  }

  withoutCodes(bytes) {
    if (bytes.indexOf(0x1b) < 0) return bytes;
    return new TextEncoder().encode(this.decoder.decode(bytes).replace(ANSI, ""));
  }

  keepTail(bytes) {
    this.tail.push(bytes);
    this.tailBytes += bytes.length;
    while (this.tail.length > 1 && this.tailBytes - this.tail[0].length > 2 * TAIL) this.tailBytes -= this.tail.shift().length;
  }

  matched(raw, indices, bytes, below) {
    const text = cleanLine(this.decoder.decode(raw.length > 4 * CLIP ? raw.subarray(0, 4 * CLIP) : raw));
    let line = null;
    const kept = [];
    for (const index of [...indices].sort((left, right) => left - right)) {
      const tried = (this.counts.get(index) ?? 0) + 1;
      this.counts.set(index, tried);
      if (tried > TRIES) continue;
      line ??= this.read(text, this.line);
      const match = this.check(index, line.text, text);
      if (match === null) continue;
      const pattern = this.rules.patterns[index];
      if (pattern.target === "fact") this.fact(pattern, match, line);
      else if ((pattern.kept = (pattern.kept ?? 0) + 1) <= KEEP) kept.push(match);
    }
    if (kept.some(({ pattern }) => this.rules.quoting.has(pattern))) {
      for (const match of this.acrossLines(line, new Set(indices), this.below(bytes, below, line))) {
        if (this.rules.patterns[match.pattern].target === "fact") this.fact(this.rules.patterns[match.pattern], match, line);
        else kept.push(match);
      }
    }
    if (kept.length) this.seen.push({ line, matches: kept, block: -1 });
  }

  // What an exception's message matches only where the lines that it was broken into are joined.
  acrossLines(line, known, following) {
    const parts = wrappedParts(line.text, following), found = new Map();
    for (const [text, seams] of parts.length > 1 ? joinedParts(parts) : []) {
      for (const index of this.literalsIn(text)) {
        if (known.has(index) || found.has(index)) continue;
        const match = this.check(index, text, text);
        const place = match === null ? null : this.rules.patterns[index].regex.exec(text);
        const end = place === null ? 0 : place.index + place[0].length;
        if (place !== null && seams.some((seam) => place.index < seam && seam < end)) found.set(index, match);
      }
    }
    return found.values();
  }

  literalsIn(text) {
    const { next, out, always } = this.rules.automaton, found = new Set(always);
    let state = 0;
    for (const byte of new TextEncoder().encode(text)) {
      state = next[state * 256 + byte];
      for (const index of out[state] ?? []) found.add(index);
    }
    return [...found].sort((left, right) => left - right);
  }

  // The messages below a line, as far as no prefix says that they are another process's.
  *below(bytes, from, own) {
    const lines = this.decoder.decode(bytes.subarray(from, from + 4 * MOST_TEXT)).split("\n").slice(0, MOST_LINES + 1);
    for (const raw of lines) {
      const line = this.read(cleanLine(raw), 0);
      if (["rank", "localRank", "task", "pid"].some((name) => line[name] !== null && line[name] !== own[name])) return;
      yield line.text;
    }
  }

  read(text, number) {
    const prefix = this.prefixes.read(text);
    if (prefix.rank !== undefined) this.ranks.add(prefix.rank);
    return {
      number,
      file: this.name,
      text: printable(prefix.rest),
      rank: prefix.rank ?? null,
      localRank: prefix.local_rank ?? null,
      task: prefix.task ?? null,
      host: prefix.host ?? prefix.pod ?? null,
      pid: prefix.pid ?? null,
      device: prefix.device ?? null,
      groupRank: prefix.pg_rank ?? null,
      ip: prefix.ip ?? null,
      attempt: 0,
    };
  }

  check(index, message, line) {
    const pattern = this.rules.patterns[index];
    pattern.regex ??= new RegExp(pattern.pattern);
    if (pattern.unless) pattern.unlessRegex ??= new RegExp(pattern.unless);
    const found = pattern.regex.exec(message) ?? (pattern.pattern.startsWith("^") ? null : pattern.regex.exec(line));
    if (found === null || (pattern.unless && pattern.unlessRegex.test(line))) return null;
    const emitter = EMITTERS[pattern.where];
    if (emitter && !emitter.test(line)) return null;
    return { pattern: index, groups: found.slice(1).map((group) => group ?? "") };
  }

  fact(pattern, match, line) {
    let value = pattern.value ?? match.groups[0] ?? line.text;
    if (typeof value === "string" && /^\d+$/.test(value) && !pattern.owner.endsWith(".version")) value = Number(value);
    this.facts.push({ name: pattern.owner, value, line: line.number, text: line.text.slice(0, 200) });
  }

  end() {
    const total = this.line - 1;
    const bytes = new Uint8Array(this.tailBytes);
    let at = 0;
    for (const piece of this.tail) {
      bytes.set(piece, at);
      at += piece.length;
    }
    const from = Math.max(0, bytes.length - 2 * TAIL);
    const lines = this.decoder.decode(bytes.subarray(from)).split("\n");
    if (lines.at(-1) === "") lines.pop();
    lines.forEach((raw, back) => {
      const text = cleanLine(raw);
      if (!text.trim()) return;
      let line = null;
      const matches = [];
      for (const index of this.rules.late) {
        line ??= this.read(text, total - lines.length + back + 1);
        const match = this.check(index, line.text, text);
        if (match !== null) matches.push(match);
      }
      if (matches.length) this.progress.push({ line, matches, block: -1 });
    });
    return { seen: this.seen, progress: this.progress, facts: this.facts, ranks: this.ranks, lines: total };
  }
}
