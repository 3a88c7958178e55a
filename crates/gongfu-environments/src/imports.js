// Prints which packages scripts import that belong neither to Node.js nor to the skill: JSON, one object a line.
//
// Reads JSON from standard input: `scripts`, all paths below /skill, and `started`, those that are run; all, if
// there is none. Scripts that are imported are looked at as well. No script is run: whatever looks like an import
// outside of a comment is one.

const fs = require("node:fs");
const { builtinModules } = require("node:module");
const { posix } = require("node:path");

const OWN = "/skill";
const KNOWN = new Set(builtinModules);
// A comment, a quoted text, or any character.
const PIECES = /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|[^]/g;
const IMPORTS =
  /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n$]+)`)/g;

function name(specifier) {
  if (/^[./]|^node:|^[a-z]+:|^#/.test(specifier)) return undefined;
  const parts = specifier.split("/");
  const top = specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
  return KNOWN.has(top) ? undefined : top;
}

const lines = new Set();
const tell = (found) => lines.add(JSON.stringify(found) + "\n");
const wanted = JSON.parse(fs.readFileSync(0, "utf8"));
const own = new Set(wanted.scripts);
const waiting = wanted.started.length > 0 ? wanted.started : wanted.scripts;
const seen = new Set(waiting);

// The scripts of the skill that a relative import may mean.
function scripts(specifier, path) {
  const place = posix.join(posix.dirname(path), specifier);
  const stem = place.replace(/\.[cm]?[jt]sx?$/, "");
  const endings = ["", ".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", "/index.js", "/index.mjs", "/index.ts"];
  return endings.flatMap((ending) => [place + ending, stem + ending]).filter((found) => own.has(found));
}

for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
  let text;
  try {
    text = fs.readFileSync(`${OWN}/${path}`, "utf8");
  } catch (error) {
    tell({ unread: `${path}: ${error.message}` });
    continue;
  }
  const bare = text.replace(PIECES, (piece) => (/^\/[*/]/.test(piece) ? " " : piece));
  for (const [, one, two, three] of bare.matchAll(IMPORTS)) {
    const specifier = one ?? two ?? three;
    for (const script of /^[./]/.test(specifier) ? scripts(specifier, path) : []) {
      if (!seen.has(script)) waiting.push(script);
      seen.add(script);
    }
    const top = name(specifier);
    if (top !== undefined) tell({ module: [top, path] });
  }
}
process.stdout.write([...lines].join(""));
