// Prints which packages scripts import that belong neither to Node.js nor to the skill.
//
// Reads a JSON list of paths below /skill from standard input. No script is run: whatever looks like an
// import outside of a comment is one.

const fs = require("node:fs");
const { builtinModules } = require("node:module");

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

const modules = Object.create(null);
const unread = [];
for (const path of JSON.parse(fs.readFileSync(0, "utf8"))) {
  let text;
  try {
    text = fs.readFileSync(`${OWN}/${path}`, "utf8");
  } catch (error) {
    unread.push(`${path}: ${error.message}`);
    continue;
  }
  const bare = text.replace(PIECES, (piece) => (/^\/[*/]/.test(piece) ? " " : piece));
  for (const [, one, two, three] of bare.matchAll(IMPORTS)) {
    const top = name(one ?? two ?? three);
    if (top === undefined) continue;
    modules[top] ??= [];
    if (!modules[top].includes(path)) modules[top].push(path);
  }
}
process.stdout.write(JSON.stringify({ modules, unread }));
