// A provider of identities on this machine (npm `oidc-provider`), led by lines of JSON. It judges nothing; scripts/sso.py
// does.
//
//   node provider.mjs FOLDER PORT REDIRECT...
//
// FOLDER is where node_modules is: this file lies outside of it. The first line out is `{"issuer": URL}`; each line in is
// answered by `{}`:
//
//   {"people": {"ann": {"email": …, "groups": […]}}}   the people from now on; who isn't there is removed
//   {"fault": "nonce"}                                  what is wrong with the ID tokens from now on; `""` for nothing
//   {"rotate": true}                                    another key signs from now on

import { createHmac, generateKeyPairSync } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

console.log = console.info = console.debug = console.warn = console.error = () => {};

const [folder, port, ...redirects] = process.argv.slice(2);
const load = createRequire(join(folder, "package.json"));
const { Provider } = load("oidc-provider");
const { SignJWT, decodeJwt, exportJWK } = load("jose");

const issuer = `http://127.0.0.1:${port}`;
let people = {};
let fault = "";

function makeKey(kid) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { kid, privateKey, publicKey };
}

const first = makeKey("first");
const foreign = makeKey("first");
let key = first;
const jwk = async (key) => ({ ...(await exportJWK(key)), kid: "first", use: "sig", alg: "RS256" });

const claimsOf = (id) => {
  const { email, email_verified = true, groups = [] } = people[id];
  return { sub: id, email, email_verified, preferred_username: id, groups };
};

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "gongfu",
      client_secret: "a secret of gongfu",
      redirect_uris: redirects,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
  ],
  jwks: { keys: [await jwk(first.privateKey)] },
  cookies: { keys: ["a key of cookies"] },
  claims: { email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
  conformIdTokenClaims: false,
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  // Nobody is asked: the company has said yes.
  loadExistingGrant: async (ctx) => {
    const grant = new provider.Grant({ clientId: "gongfu", accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid email profile offline_access");
    await grant.save();
    return grant;
  },
  findAccount: async (_, id) => (people[id] ? { accountId: id, claims: async () => claimsOf(id) } : undefined),
});

// How a token is spoiled: its claims, its header, or its signature.
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = () => Math.floor(Date.now() / 1000);
const shared = (secret) => (claims) => {
  const signed = `${part({ alg: "HS256", typ: "JWT", kid: "first" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};
const faults = {
  nonce: { change: (claims) => ({ ...claims, nonce: "another" }) },
  "no nonce": { change: ({ nonce, ...claims }) => claims },
  iss: { change: (claims) => ({ ...claims, iss: "http://127.0.0.1:1" }) },
  aud: { change: (claims) => ({ ...claims, aud: "another" }) },
  "aud and another": { change: (claims) => ({ ...claims, aud: ["gongfu", "another"] }) },
  azp: { change: (claims) => ({ ...claims, azp: "another" }) },
  expired: { change: (claims) => ({ ...claims, iat: now() - 7200, exp: now() - 3600 }) },
  future: { change: (claims) => ({ ...claims, iat: now() + 3600, exp: now() + 7200 }) },
  none: { sign: (claims) => `${part({ alg: "none" })}.${part(claims)}.` },
  "hs256 with the public key": {
    sign: (claims) => shared(first.publicKey.export({ type: "spki", format: "pem" }))(claims),
  },
  "hs256 with the client's secret": { sign: shared("a secret of gongfu") },
  "a foreign key": { key: foreign },
  "a changed claim": { sign: (claims, token) => token.replace(/\.[^.]+\./, `.${part({ ...claims, sub: "bob" })}.`) },
};

provider.use(async (ctx, next) => {
  await next();
  if (ctx.path === "/jwks" && key !== first) {
    ctx.body = { keys: [{ ...(await exportJWK(key.publicKey)), kid: key.kid, use: "sig", alg: "RS256" }] };
  }
  const token = ctx.path === "/token" && ctx.body?.id_token;
  if (!token || (!fault && key === first)) return;
  const { change = (claims) => claims, sign, key: other = key } = faults[fault] ?? {};
  const claims = change(decodeJwt(token));
  const header = { alg: "RS256", typ: "JWT", kid: other.kid };
  const signed = () => new SignJWT(claims).setProtectedHeader(header).sign(other.privateKey);
  ctx.body.id_token = sign ? sign(claims, token) : await signed();
});

const server = provider.listen(Number(port), "127.0.0.1", () => say({ issuer }));
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  people = order.people ?? people;
  fault = order.fault ?? fault;
  if (fault && !faults[fault]) throw new Error(`no fault ${fault}`);
  if (order.rotate) key = makeKey("second");
  say({});
}
server.close();
process.exit(0);
