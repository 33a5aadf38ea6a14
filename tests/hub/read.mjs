// Runs the page's matcher in Node.js: matcher.js, rules.json, then files; prints one JSON line per file.
import { readFileSync, openAsBlob } from "node:fs";

const [, , matcher, rules, ...files] = process.argv;
const names = files.length ? files : readFileSync(0, "utf8").split("\n").filter(Boolean);
const { prepare, diagnose } = new Function(`${readFileSync(matcher, "utf8")}\nreturn denpexMatcher({});`)();
const ready = prepare(JSON.parse(readFileSync(rules, "utf8")));
for (const name of names) {
  const started = performance.now();
  const answer = await diagnose(await openAsBlob(name), ready, { name });
  console.log(JSON.stringify({ name, answer, milliseconds: performance.now() - started }));
}
