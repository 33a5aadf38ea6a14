// Entries held against the lines: log-odds with the weights of the command line.
const PERSISTENT = new Set(["slow", "silent-wrong", "divergence"]);
const STRENGTHS = { decisive: 0, strong: 1, supporting: 2, part: 3 };
const confidence = (odds) => 1 / (1 + Math.exp(-odds));

function witnesses(rule, hits, facts, relations) {
  const found = new Map();
  for (const signature of rule.signatures) {
    if (signature.body === "pattern") {
      const lines = hits.get(signature.name);
      if (lines) found.set(signature.name, { signature, lines });
    } else if (signature.body === "fact" && holds(signature.condition, facts)) {
      found.set(signature.name, { signature, lines: [], fact: facts.of(signature.condition.fact)[0] });
    } else if (signature.body === "relation" && relations.has(signature.relation)) {
      found.set(signature.name, { signature, lines: [], relation: signature.relation });
    }
  }
  const combined = rule.signatures.filter((signature) => signature.members.length);
  for (let round = 0; round < combined.length; round++) {
    const fresh = combined.filter((signature) => !found.has(signature.name)).map((signature) => combine(signature, found)).filter(Boolean);
    if (!fresh.length) break;
    for (const witness of fresh) found.set(witness.signature.name, witness);
  }
  return [...found.values()];
}

function combine(signature, found) {
  const members = signature.members.filter((name) => found.has(name)).map((name) => found.get(name));
  if (signature.body === "any_of" ? !members.length : members.length < signature.members.length) return null;
  const barred = signature.forbidden.filter((name) => found.has(name)).map((name) => found.get(name));
  if (barred.some((item) => !item.lines.length)) return null; // a fact or a relation holds for the whole job
  const forbidden = barred.flatMap((item) => item.lines);
  const lines = together(signature, members.map((member) => member.lines).filter((held) => held.length), forbidden);
  return lines === null ? null : { signature, lines };
}

function placeKey(within, seen) {
  if (within === "line") return `line ${seen.line.number}`;
  if (within === "traceback") return seen.block >= 0 ? `block ${seen.block}` : `line ${seen.line.number}`;
  if (within === "rank") return identity(seen.line);
  return "job";
}

function together(signature, groups, forbidden) {
  if (!groups.length) return [];
  const { within } = signature;
  const blocked = new Set(forbidden.map((line) => placeKey(within, line)));
  if (signature.body === "any_of") {
    const kept = groups.flat().filter((line) => !blocked.has(placeKey(within, line)));
    return kept.length ? kept : null;
  }
  if (within === "across") return forbidden.length ? null : across(groups);
  const places = new Map();
  groups.forEach((group, index) => {
    for (const line of group) {
      const key = placeKey(within, line);
      if (!places.has(key)) places.set(key, groups.map(() => []));
      places.get(key)[index].push(line);
    }
  });
  for (const [place, lists] of places) {
    if (blocked.has(place) || !lists.every((list) => list.length)) continue;
    if (signature.body !== "sequence") return lists.map((list) => list[0]);
    const ordered = inOrder(lists);
    if (ordered !== null) return ordered;
  }
  return null;
}

function across(groups) {
  const firsts = groups.map((group) => {
    const per = new Map();
    for (const line of group) if (!per.has(identity(line.line))) per.set(identity(line.line), line);
    return per;
  });
  const chosen = firsts.map((per) => per.values().next().value);
  const used = new Set(chosen.map((item) => identity(item.line)));
  if (used.size > 1) return chosen;
  const [only] = used;
  for (let index = 0; index < firsts.length; index++) {
    for (const [who, line] of firsts[index]) {
      if (who !== only) {
        chosen[index] = line;
        return chosen;
      }
    }
  }
  return null;
}

function inOrder(lists) {
  const chosen = [];
  for (const lines of lists) {
    const after = lines.find((line) => !chosen.length || line.line.number > chosen.at(-1).line.number);
    if (!after) return null;
    chosen.push(after);
  }
  return chosen;
}

function independent(found, rule, overtaken, weights) {
  const best = new Map();
  const combined = new Set(found.flatMap((item) => item.signature.members));
  for (const item of found) {
    let weight = weights.strength[item.signature.strength];
    if (!weight) continue;
    const first = item.lines[0];
    let source;
    if (!first) source = `fact ${item.fact?.name ?? item.relation}`;
    else if (first.block >= 0) source = `block ${first.block}`;
    else source = `text ${first.line.text.slice(0, 160).replace(/\d+/g, "N")}`;
    if (combined.has(item.signature.name) && item.signature.strength !== "decisive") weight *= 0.5;
    if (!PERSISTENT.has(rule.kind) && item.lines.length && item.lines.every((line) => overtaken.has(line.line.number))) weight = Math.min(weight, 0.3);
    best.set(source, Math.max(best.get(source) ?? 0, weight));
  }
  return [...best.values()].reduce((sum, weight) => sum + weight, 0);
}

// Several versions are named, and only some lie in the range.
function undecided(condition, facts) {
  if (condition.operator !== "in") return false;
  const inside = facts.of(condition.fact).map((fact) => versionIn(spell(fact.value), condition.values[0]));
  return inside.includes(true) && inside.includes(false);
}

// Lines that no progress followed stand in front: buffered output repeats some where they mean nothing.
function standingFirst(hits, overtaken) {
  const late = (item) => (overtaken.has(item.line.number) ? 1 : 0);
  return new Map([...hits ?? []].map(([name, lines]) => [name, [...lines].sort((left, right) => late(left) - late(right))]));
}

function scoreRule(rule, hits, facts, relations, place, overtaken, weights) {
  const found = witnesses(rule, hits, facts, relations);
  const telling = found.filter((item) => item.signature.strength !== "part" && item.signature.body !== "fact");
  if (!telling.length) return null;
  let fits = 0, contradicted = null;
  const unknown = new Set();
  for (const [condition, wanted] of [...rule.requires.map((item) => [item, true]), ...rule.excludes.map((item) => [item, false])]) {
    const verdict = undecided(condition, facts) ? null : holds(condition, facts);
    if (verdict === null) {
      if (wanted) unknown.add(condition.fact);
    } else if (verdict === wanted) {
      if (wanted) fits++;
    } else contradicted ??= facts.of(condition.fact)[0];
  }
  let odds = weights.prior[rule.frequency] + independent(found, rule, overtaken, weights);
  odds += Math.min(weights.factFits * fits, weights.factFitsMost) + weights.factUnknown * unknown.size;
  const lines = telling.flatMap((item) => item.lines);
  if (place.known && lines.length) {
    const atStart = lines.some((line) => place.lines.has(line.line.number) || (line.block >= 0 && place.blocks.has(line.block)));
    odds += atStart ? weights.initiatingPlace : weights.elsewhere;
  }
  return { rule, odds, contradicted, found, decisive: telling.some((item) => item.signature.strength === "decisive") };
}

function tier({ rule, decisive }) {
  if (rule.standing === "summary") return decisive && rule.role === "initiating" ? 1 : 4;
  return (rule.role === "collateral" ? 2 : 0) + (rule.standing === "generic" ? 1 : 0);
}

function rankEntries(hits, rules, facts, relations, place, overtaken) {
  const { weights } = rules;
  const scored = [], ruledOut = [];
  for (const rule of rules.rules) {
    if (!hits.has(rule.id) && !rule.signatures.some((signature) => signature.body === "relation")) continue;
    const item = scoreRule(rule, standingFirst(hits.get(rule.id), overtaken), facts, relations, place, overtaken, weights);
    if (item === null) continue;
    if (item.contradicted) {
      if (item.odds > 0) ruledOut.push({ id: rule.id, title: rule.title, because: `${item.contradicted.name} = ${item.contradicted.value}`, line: item.contradicted.line });
    } else scored.push(item);
  }
  const byId = new Map(scored.map((item) => [item.rule.id, item]));
  for (const item of scored) {
    const parent = byId.get(item.rule.parent);
    if (parent && confidence(item.odds) >= weights.matched) parent.odds = Math.min(parent.odds, item.odds - weights.child, weights.explained);
  }
  for (const level of [1, 2, 3, 4]) {
    const above = scored.filter((item) => tier(item) < level && confidence(item.odds) >= weights.matched).map((item) => item.odds);
    if (above.length) for (const item of scored) if (tier(item) === level) item.odds = Math.min(item.odds, Math.max(...above) - weights.tier, weights.explained);
  }
  scored.sort((left, right) => right.odds - left.odds || (left.rule.id < right.rule.id ? -1 : 1));
  const hypotheses = scored.map((item) => ({
    id: item.rule.id,
    title: item.rule.title,
    hub: item.rule.hub,
    kind: item.rule.kind,
    role: item.rule.role,
    standing: item.rule.standing,
    action: item.rule.action,
    confidence: Math.min(confidence(item.odds), 0.98),
    evidence: shownEvidence(item.found),
  }));
  const explained = confidence(weights.explained) - 0.01;
  const good = (hypotheses[0]?.confidence ?? 0) >= weights.matched ? hypotheses.filter((item) => item.confidence >= explained) : [];
  return {
    hypotheses: good.slice(0, 8),
    near: hypotheses.filter((item) => item.confidence >= 0.08 && item.confidence < weights.matched && !good.includes(item)).slice(0, 4),
    ruledOut: ruledOut.slice(0, 4),
  };
}

function shownEvidence(found) {
  const shown = found.filter((item) => item.signature.strength !== "part").sort((left, right) => STRENGTHS[left.signature.strength] - STRENGTHS[right.signature.strength]);
  const told = new Map();
  for (const item of shown) {
    for (const seen of item.signature.members.length ? item.lines.slice(0, 4) : item.lines.slice(0, 1)) {
      if (!told.has(seen.line.number)) {
        told.set(seen.line.number, { line: seen.line.number, rank: seen.line.rank, text: seen.line.text.slice(0, 400), strength: item.signature.strength, count: item.lines.length });
      }
    }
    if (!item.lines.length && item.relation) told.set(item.relation, { what: "ranks", line: null, text: item.relation.replaceAll("-", " "), strength: item.signature.strength, count: 1 });
    if (!item.lines.length && item.fact) told.set(item.fact.name, { line: item.fact.line, text: `${item.fact.name} = ${item.fact.value}`, strength: item.signature.strength, count: 1 });
  }
  return [...told.values()].slice(0, 6);
}
