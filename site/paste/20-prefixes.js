// Whose line is it? The prefixes that stack up in front of a message.
const NUMBERS = new Set(["rank", "local_rank", "group_rank", "pg_rank", "task", "pid", "device"]);
const DEPTH = 8;
const BELIEVED_FROM = 0.6;

class PrefixReader {
  constructor(formats, believed = new Set()) {
    this.formats = formats;
    this.believed = believed;
    this.table = new Map();
    this.other = [];
    const used = formats.filter((format) => !format.sampled || believed.has(format.id));
    for (const format of used) format.regex ??= new RegExp(format.pattern, "y");
    for (let code = 0; code < 128; code++) {
      const character = String.fromCharCode(code);
      this.table.set(character, used.filter((format) => !format.starts || new RegExp(`[${format.starts}]`).test(character)));
    }
    this.other = used.filter((format) => !format.starts);
  }

  sample(lines) {
    const held = lines.filter((line) => line.trim());
    let reader = this;
    for (let round = 0; round < 3; round++) {
      const more = reader.carried(held);
      if (!more.length) break;
      reader = new PrefixReader(this.formats, new Set([...reader.believed, ...more]));
    }
    return reader;
  }

  step(line, position) {
    for (const format of this.table.get(line[position]) ?? this.other) {
      format.regex.lastIndex = position;
      const match = format.regex.exec(line);
      if (match !== null && match[0].length) return [match, format, position + match[0].length];
    }
    return null;
  }

  carried(lines) {
    const sampled = this.formats.filter((format) => format.sampled && !this.believed.has(format.id));
    for (const format of sampled) format.regex ??= new RegExp(format.pattern, "y");
    const counts = new Map();
    for (const line of lines) {
      const seen = new Set();
      let position = 0;
      for (let depth = 0; depth < DEPTH; depth++) {
        for (const format of sampled) {
          format.regex.lastIndex = position;
          if (format.regex.test(line)) seen.add(format.id);
        }
        const step = this.step(line, position);
        if (step === null || step[1].keep) break;
        position = step[2];
      }
      for (const id of seen) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...counts].filter(([, count]) => count >= BELIEVED_FROM * lines.length).map(([id]) => id);
  }

  read(line) {
    const found = {};
    let position = 0, weight = -1;
    for (let depth = 0; depth < DEPTH; depth++) {
      const step = this.step(line, position);
      if (step === null) break;
      const [match, format, end] = step;
      format.gives.forEach((name, index) => {
        const value = match[index + 1];
        if (value === undefined) return;
        const stored = NUMBERS.has(name) ? Number(value) : value;
        if (name === "rank") {
          if (format.weight >= weight) [found.rank, weight] = [stored, format.weight];
        } else if (!(name in found)) found[name] = stored;
      });
      if (format.keep) break;
      position = end;
    }
    found.rest = line.slice(position);
    return found;
  }
}
