// What the watchdogs of several ranks say together, where one file holds them all.
function findRelations(events) {
  const groups = new Map(), groupOf = new Map();
  for (const { seen, kind, values } of events) {
    const { rank } = seen.line;
    if (rank === null || kind !== "collateral") continue;
    if ("group" in values && "seq" in values && !groupOf.has(rank)) groupOf.set(rank, values.group);
    if (!("seq" in values && "op" in values)) continue;
    const group = values.group ?? groupOf.get(rank) ?? "";
    if (!groups.has(group)) groups.set(group, new Map());
    const members = groups.get(group);
    if (!members.has(rank)) members.set(rank, { seq: Number(values.seq), op: values.op, size: values.numel_in ?? "" });
  }
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
