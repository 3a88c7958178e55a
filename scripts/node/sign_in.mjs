// A client of a TypeScript SDK that signs in, led by lines of JSON: the redirect of the browser comes in, and
// `{"open": URL}`, `{"result": …}` or `{"error": …}` goes out. It judges nothing; scripts/sign_in.py does.
//
//   node sign_in.mjs FOLDER v1|v2 URL REFRESHES [DOCUMENT]
//
// FOLDER is where node_modules is: this file lies outside of it. DOCUMENT is the URL of the client's document.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

console.log = console.info = console.debug = console.error;

const [folder, version, url, refreshes, document] = process.argv.slice(2);
const load = createRequire(join(folder, "package.json"));
const { Client, StreamableHTTPClientTransport } =
  version === "v1"
    ? {
        ...load("@modelcontextprotocol/sdk/client/index.js"),
        ...load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      }
    : load("@modelcontextprotocol/client");

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const redirect = "http://127.0.0.1:33418/callback";
const kept = {};
const trace = [];

const provider = {
  redirectUrl: redirect,
  clientMetadataUrl: document,
  clientMetadata: { client_name: `TypeScript ${version}`, redirect_uris: [redirect], token_endpoint_auth_method: "none" },
  state: () => (kept.state ??= crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  redirectToAuthorization: (to) => say({ open: String(to) }),
};

const traced = async (target, options) => {
  const answer = await fetch(target, options);
  trace.push(`${options?.method ?? "GET"} ${new URL(target).pathname} ${answer.status}`);
  return answer;
};

const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider, fetch: traced });
const client = () => new Client({ name: "gongfu-checks", version: "1.0.0" });

try {
  const first = transport();
  await client().connect(first).then(
    () => Promise.reject(new Error("it connects without a sign-in")),
    (error) => (error.name.startsWith("Unauthorized") || error.message === "Unauthorized" ? undefined : Promise.reject(error)),
  );
  const back = new URL(JSON.parse((await lines.next()).value).redirect).searchParams;
  if (back.get("state") !== kept.state) throw new Error("another state comes back");
  await first.finishAuth(version === "v1" ? back.get("code") : back);
  const signedIn = client();
  await signedIn.connect(transport());
  const call = () => signedIn.callTool({ name: "skill_list", arguments: {} });
  const result = await call();
  const sign_in = trace.splice(0);
  for (let count = 0; count < Number(refreshes); count++) {
    kept.tokens = { ...kept.tokens, access_token: "expired" };
    await call();
  }
  const rotated = trace.filter((line) => line === "POST /token 200").length;
  say({ result: { text: result.content[0].text, sign_in, client: kept.client.client_id, rotated } });
} catch (error) {
  say({ error: `${error.name}: ${error.message}`, trace });
}
process.exit(0);
