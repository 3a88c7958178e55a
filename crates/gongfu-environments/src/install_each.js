// Has npm add one package after the other of /in/package.json to the one in the current folder. Prints those that it
// refuses, and why below each, set in by two blanks. Fails if it takes none.
//
// No shell reads names and versions. This text stands between single quotes, so that it holds none.

const { spawnSync } = require("node:child_process");
const { dependencies, optionalDependencies } = require("/in/package.json");

const INSTALL = ["install", "--package-lock-only", "--save-exact=false", "--ignore-scripts", "--omit=dev", "--"];

let count = 0;
for (const [name, version] of Object.entries({ ...optionalDependencies, ...dependencies })) {
  const wanted = `${name}@${version || "*"}`;
  const npm = spawnSync("npm", [...INSTALL, wanted], { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  if (npm.status === 0) {
    count += 1;
  } else {
    console.log(`${wanted}\n${npm.stderr}`.trimEnd().replaceAll("\n", "\n  "));
  }
}
process.exitCode = count > 0 ? 0 : 1;
