// Facts, conditions on them, and what follows from a model family.
class Facts {
  constructor(found = []) {
    this.byName = new Map();
    for (const fact of found) this.add(fact);
  }

  add(fact) {
    const held = this.byName.get(fact.name) ?? [];
    if (!held.some((other) => other.value === fact.value)) held.push(fact);
    this.byName.set(fact.name, held);
  }

  of(name) {
    return this.byName.get(name) ?? [];
  }

  value(name) {
    const held = this.of(name);
    return held.length === 1 ? held[0].value : undefined;
  }

  has(name) {
    return this.byName.has(name);
  }
}

const spell = (value) => String(value);

function holds(condition, facts) {
  const held = facts.of(condition.fact);
  if (!held.length) return null;
  if (condition.operator === "in") {
    const verdicts = held.map((fact) => versionIn(spell(fact.value), condition.values[0])).filter((verdict) => verdict !== null);
    return verdicts.length ? verdicts.some(Boolean) : null;
  }
  const equal = held.some((fact) => condition.values.includes(spell(fact.value)));
  return condition.operator === "=" ? equal : !equal;
}

// PEP 440, as far as versions of frameworks use it.
function parseVersion(text) {
  const match = /^v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|rc|alpha|beta|c|pre)[-_.]?(\d*))?(?:[-_.]?post[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+[\w.]+)?$/i.exec(text.trim());
  if (match === null) return null;
  const release = match[1].split(".").map(Number);
  while (release.length > 1 && release.at(-1) === 0) release.pop();
  const stages = { a: 0, alpha: 0, b: 1, beta: 1, c: 2, rc: 2, pre: 2 };
  const pre = match[2] ? [stages[match[2].toLowerCase()], Number(match[3] || 0)] : match[5] !== undefined && match[4] === undefined ? [-1, 0] : [9, 0];
  const post = match[4] === undefined ? -1 : Number(match[4] || 0);
  const dev = match[5] === undefined ? Infinity : Number(match[5] || 0);
  return { release, rest: [...pre, post, dev] };
}

function compareVersions(left, right) {
  const size = Math.max(left.release.length, right.release.length);
  for (let i = 0; i < size; i++) {
    const gap = (left.release[i] ?? 0) - (right.release[i] ?? 0);
    if (gap) return gap;
  }
  for (let i = 0; i < 4; i++) if (left.rest[i] !== right.rest[i]) return left.rest[i] < right.rest[i] ? -1 : 1;
  return 0;
}

function versionIn(text, specifier) {
  const version = parseVersion(text);
  if (version === null) return null;
  return specifier.split(",").every((part) => {
    const match = /^(>=|<=|==|!=|~=|>|<)(.+)$/.exec(part.trim());
    if (match === null) return true;
    const [, operator, bound] = match;
    if (bound.endsWith(".*")) {
      const wanted = bound.slice(0, -2).split(".").map(Number);
      const same = wanted.every((number, index) => (version.release[index] ?? 0) === number);
      return operator === "!=" ? !same : same;
    }
    const other = parseVersion(bound);
    if (other === null) return true;
    const order = compareVersions(version, other);
    if (operator === "~=") {
      const parts = bound.split(".").slice(0, -1).map(Number);
      return order >= 0 && parts.every((number, index) => (version.release[index] ?? 0) === number);
    }
    // `<0.18` leaves out pre-releases of 0.18, `>0.18` its post-releases
    if (operator === "<" && other.rest[0] === 9 && compareVersions({ release: version.release, rest: other.rest }, other) === 0) return false;
    if (operator === ">" && other.rest[2] === -1 && compareVersions({ release: version.release, rest: other.rest }, other) === 0) return false;
    return { ">=": order >= 0, "<=": order <= 0, "==": order === 0, "!=": order !== 0, ">": order > 0, "<": order < 0 }[operator];
  });
}

function deriveModelFacts(facts, rules) {
  const families = new Map(rules.families.map((family) => [family.id, family]));
  let known = facts.of("model.family").map((fact) => families.get(fact.value)).filter(Boolean);
  if (known.length > 1 && known.every((family) => family.moe)) known = known.slice(0, 1);
  if (known.length !== 1) return;
  const [family] = known;
  const transformers = facts.value("transformers.version");
  const imply = (name, value) => {
    if (!facts.has(name)) facts.add({ name, value, line: null, text: family.title });
  };
  imply("model.moe", family.moe);
  if (family.multimodal) imply("model.multimodal", true);
  for (const item of family.experts) {
    if (transformers !== undefined && versionIn(String(transformers), item.transformers)) imply("model.experts", item.is);
  }
  for (const item of rules.selfMarking) {
    const version = facts.value(`${item.framework}.version`);
    const used = item.framework === "deepspeed" || facts.of("trainer").some((fact) => fact.value === item.framework);
    if (used && version !== undefined && item.families.includes(family.id) && versionIn(String(version), item.versions)) {
      imply("deepspeed.leaf_modules", "set");
      break;
    }
  }
}
