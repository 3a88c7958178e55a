#!/usr/bin/env node
// Starts the program of the package for this platform.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`@SCOPE@/${platform}/bin/gongfu`);
  } catch {
    console.error(`error: gongfu has no program for ${platform} here`);
    console.error("  hint: install it again without --omit=optional; on musl or another platform build it from source");
    process.exit(1);
  }
}

const program = find();
const words = process.argv.slice(2);
if (typeof process.execve === "function") {
  // The program takes the place of Node, with its signals and its standard streams.
  process.execve(program, [program, ...words], process.env);
} else {
  const child = spawn(program, words, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`error: ${program}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
