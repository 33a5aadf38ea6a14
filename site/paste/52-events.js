// Matched lines → events, and how processes ended, as launchers print it.
const CLASSES = ["hardware", "kernel", "scheduler", "exception", "crash", "mismatch"];
const FOLLOWS = new Set(["collateral", "teardown", "summary"]);
const OF_THE_PRINTER = new Set(["exception", "crash", "collateral"]);
const SIGNALS = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15,
  SIGXFSZ: 25, Aborted: 6, "Segmentation fault": 11, "Bus error": 7, "Floating point exception": 8, "Illegal instruction": 4,
};
const TOLD = ["srun-task-terminated", "slurm-task-failure"];
const BLOCK = ["block-host", "block-rank", "block-exitcode"];
const isMark = (rules) => ({ pattern }) => rules.patterns[pattern].target === "mark";

function numbers(text) {
  const found = [];
  for (const part of (text ?? "").replaceAll(" ", "").split(",")) {
    const [first, last] = part.split("-");
    if (!/^\d+$/.test(first)) continue;
    const stop = /^\d+$/.test(last ?? "") ? Number(last) : Number(first);
    for (let rank = Number(first); rank <= Math.min(stop, Number(first) + 100000); rank++) found.push(rank);
  }
  return found;
}

// Of a line's marks a device's error, else what follows from something else, else the strongest class.
function chosenMark(marks) {
  const rank = (mark) => (CLASSES.includes(mark.name) ? CLASSES.indexOf(mark.name) : CLASSES.length);
  return marks.find((mark) => mark.owner === "cuda-error")
    ?? marks.find((mark) => FOLLOWS.has(mark.name))
    ?? marks.find((mark) => mark.name === "mismatch")
    ?? marks.filter((mark) => rank(mark) < CLASSES.length || mark.name === "exit").sort((left, right) => rank(left) - rank(right))[0];
}

function classify(seen, rules, ranks) {
  const events = [];
  for (const item of seen) {
    const patterns = item.matches.map((match) => rules.patterns[match.pattern]);
    const chosen = chosenMark(patterns.filter((pattern) => pattern.target === "mark"));
    if (!chosen) continue;
    const signatures = patterns.filter((pattern) => pattern.target === "signature");
    const byEntry = signatures.length > 0 && signatures.every((pattern) => rules.collateral.has(pattern.owner));
    const raises = chosen.name === "exception" || chosen.name === "crash";
    const kind = byEntry && raises && chosen.owner !== "cuda-error" ? "collateral" : chosen.name;
    const values = markValues(item, rules), { line } = item;
    const machine = kind === "hardware" || kind === "kernel";
    events.push({
      seen: item, kind, name: chosen.owner, values,
      ranks: ranksNamed(kind, values, line, ranks),
      who: machine ? `machine ${values.host ?? line.host ?? ""}` : identity(line),
      follows: signatures.some((pattern) => rules.decisiveOfCollateral.has(`${pattern.owner} ${pattern.name}`)),
    });
  }
  return events;
}

function ranksNamed(kind, values, line, ranks) {
  if ("reporter" in values || "link" in values) return [];
  const own = line.rank === null ? [] : [line.rank];
  if (OF_THE_PRINTER.has(kind) && own.length && !("rank" in values)) return own;
  const stated = numbers(values.rank);
  if (stated.length && kind !== "collateral") return stated;
  if (kind === "collateral") return own;
  const known = ofProcess(values, ranks);
  if (known !== null) return [known];
  if ("task" in values && ranks.taskIsRank) return numbers(values.task);
  if (["hardware", "kernel", "mismatch"].includes(kind) || (kind === "scheduler" && line.pid === null)) return [];
  return own;
}

function ofProcess(values, ranks) {
  if (/^\d+$/.test(values.pid ?? "")) {
    const held = [...ranks.pids].filter(([key]) => key.endsWith(` ${values.pid}`));
    if (held.length === 1) return held[0][1];
  }
  return ranks.oneHost && /^\d+$/.test(values.local_rank ?? "") ? Number(values.local_rank) : null;
}

function codeOf(values) {
  const { exitcode = "", signal = "" } = values;
  if (/^-?\d+$/.test(exitcode)) return Number(exitcode) > 128 && Number(exitcode) <= 159 ? 128 - Number(exitcode) : Number(exitcode);
  if (/^\d+$/.test(signal)) return -Number(signal);
  return signal in SIGNALS ? -SIGNALS[signal] : null;
}

// The ends of processes that a file states; a block of torchrun gives one for each of its entries.
function readExits(seen, rules, ranks) {
  const found = [], entries = new Map();
  let over = false, held = null;
  const add = (code, item, values) => found.push({ code, seen: item, values });
  for (const item of seen) {
    const marks = item.matches.filter(isMark(rules)).map((match) => rules.patterns[match.pattern]);
    const named = (...names) => marks.some((mark) => names.includes(mark.owner));
    const exit = marks.some((mark) => mark.name === "exit"), told = named(...TOLD), values = markValues(item, rules);
    if (told && !over && values.told === "Killed" && numbers(values.task).length === 1) add(-9, item, values);
    over ||= told || exit || marks.some((mark) => mark.name === "teardown");
    if (named(...BLOCK)) {
      const { line } = item, who = [line.task, line.host, line.ip, line.rank, line.localRank].join(" ");
      const entry = named("block-host") ? values : { ...entries.get(who), ...values };
      entries.set(who, entry);
      if (named("block-exitcode") && codeOf(entry) !== null) {
        add(codeOf(entry), item, entry);
        entries.delete(who);
      }
    } else if (!exit) continue;
    else if (named("mpirun-process-name", "mpich-termination")) held = [item, values];
    else if (named("mpirun-exit-code", "mpich-exit-code") && held !== null) {
      if (codeOf(values) !== null) add(codeOf(values), ...held);
      held = null;
    } else if (codeOf(values) !== null) add(codeOf(values), item, values);
  }
  const stated = new Map(found.filter((end) => "rank" in end.values && "pid" in end.values).map((end) => [end.values.pid, Number(end.values.rank)]));
  return found.flatMap((end) => {
    const { rank, pid, task } = end.values, tasks = numbers(task);
    if (rank !== undefined || stated.has(pid)) return { ...end, rank: rank !== undefined ? Number(rank) : stated.get(pid) };
    if (tasks.length) return ranks.taskIsRank ? tasks.map((item) => ({ ...end, rank: item, shared: tasks.length > 1 })) : [];
    return { ...end, rank: ofProcess(end.values, ranks) };
  });
}
