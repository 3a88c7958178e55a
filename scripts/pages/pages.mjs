// Opens pages in a browser, and checks each as axe does, in every language, colour scheme and width.
//
// Reads the steps as JSON from standard input: {browser, url, shots, steps: [{name, path?, fill?, click?, wide?}]}. Prints
// one JSON line a view: {name, view, status, violations, policy}.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "pages.cjs"));
const { default: puppeteer } = await import(require.resolve("puppeteer-core"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { browser: program, url, shots, steps } = JSON.parse(readFileSync(0, "utf8"));

const VIEWS = [
  { name: "en light 1280", language: "en", scheme: "light", width: 1280 },
  { name: "en dark 390", language: "en", scheme: "dark", width: 390 },
  { name: "zh light 390", language: "zh-CN", scheme: "light", width: 390 },
  { name: "zh dark 1280", language: "zh-CN", scheme: "dark", width: 1280 },
];

const browser = await puppeteer.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
for (const view of VIEWS) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const policy = [];
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) policy.push(message.text().slice(0, 300));
  });
  page.on("pageerror", (error) => policy.push(`error: ${error}`));
  await page.setViewport({ width: view.width, height: 900 });
  await page.setExtraHTTPHeaders({ "accept-language": view.language });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: view.scheme }]);
  for (const step of steps) {
    let status = 0;
    page.removeAllListeners("response");
    page.on("response", (response) => {
      if (response.request().isNavigationRequest() && response.status() < 300 | response.status() >= 400) status = response.status();
    });
    if (step.path) await page.goto(url + step.path.replaceAll("{view}", String(VIEWS.indexOf(view))), { waitUntil: "networkidle0" });
    for (const [field, value] of Object.entries(step.fill ?? {})) {
      await page.$eval(`[name="${field}"]`, (input) => (input.value = ""));
      await page.type(`[name="${field}"]`, value.replaceAll("{view}", String(VIEWS.indexOf(view))));
    }
    if (step.click) {
      // The server's answer is to be seen, not the browser's.
      await page.$$eval("form", (forms) => forms.forEach((form) => (form.noValidate = true)));
      await Promise.all([page.waitForNavigation({ waitUntil: "networkidle0" }), page.click(step.click)]);
    }
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0) found.push(`wider than the screen by ${wide} px`);
    const file = join(shots, `${step.name} ${view.name}.png`.replaceAll(" ", "-"));
    await page.screenshot({ path: file, fullPage: true });
    console.log(JSON.stringify({ name: step.name, view: view.name, status, violations: found, policy: policy.splice(0) }));
  }
  await context.close();
}
await browser.close();
