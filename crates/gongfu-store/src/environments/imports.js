// Says which packages scripts import that neither Node.js nor the skill itself has.
//
// Reads a JSON list of paths below /skill from standard input. Nothing of a script is run: what looks
// like an import outside of a comment is one.

const fs = require("node:fs");
const { builtinModules } = require("node:module");

const OWN = "/skill";
const KNOWN = new Set(builtinModules);
// Comments; what is quoted, which is kept; all else is one character.
const PIECES = /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|[^]/g;
const IMPORTS =
  /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n$]+)`)/g;

function name(specifier) {
  if (/^[./]|^node:|^[a-z]+:|^#/.test(specifier)) return undefined;
  const parts = specifier.split("/");
  const top = specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
  return KNOWN.has(top) ? undefined : top;
}

const modules = {};
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
