// One client of a TypeScript SDK, led by lines of JSON: `{"do": …}` in, `{"result": …}` or
// `{"error": …}` out. It judges nothing; scripts/story.py does.
//
//   node bridge.mjs FOLDER v1|v2
//
// FOLDER is where node_modules is: this file lies outside of it.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

// Standard output carries the answers alone, whatever a package has to say.
console.log = console.info = console.debug = console.error;

const [folder, version] = process.argv.slice(2);
const load = createRequire(join(folder, "package.json"));
const itself = { name: "gongfu-checks", version: "1.0.0" };

// What differs between the two packages.
const sdk = {
  v1: () => {
    const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ResultSchema } = load("@modelcontextprotocol/sdk/types.js");
    return {
      StdioClientTransport,
      StreamableHTTPClientTransport,
      client: () => new Client(itself),
      // This SDK tells its transport which revision was agreed on, and nobody else; skills it doesn't know.
      revision: (client, agreed) => agreed,
      skills: (client) => client.request({ method: "skills/list", params: {} }, ResultSchema),
      skill: (client, uri) => client.request({ method: "skills/get", params: { uri } }, ResultSchema),
    };
  },
  v2: () => {
    const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
    const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
    const { SkillsClient } = load("@modelcontextprotocol/client/ext/skills");
    return {
      StdioClientTransport,
      StreamableHTTPClientTransport,
      client: (mode) => new Client(itself, { versionNegotiation: { mode } }),
      revision: (client) => client.getNegotiatedProtocolVersion(),
      skills: (client) => new SkillsClient(client).list(),
      skill: async (client, uri) => {
        const skills = new SkillsClient(client);
        const got = await skills.get(uri);
        // It compares size, digest and frontmatter with the entry.
        await skills.read(got.skill);
        return got;
      },
    };
  },
}[version]();

let client;

const steps = {
  async connect({ mode, command, url }) {
    client = sdk.client(mode);
    const [program, ...args] = command ?? [];
    const transport = url
      ? new sdk.StreamableHTTPClientTransport(new URL(url))
      : new sdk.StdioClientTransport({ command: program, args, env: process.env, stderr: "ignore" });
    let agreed;
    const told = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (revision) => {
      agreed = revision;
      told?.(revision);
    };
    await client.connect(transport);
    return { server: client.getServerVersion()?.name, revision: sdk.revision(client, agreed) };
  },
  tools: () => client.listTools(),
  call: ({ name, arguments: values }) => client.callTool({ name, arguments: values }),
  resources: () => client.listResources(),
  templates: () => client.listResourceTemplates(),
  read: ({ uri }) => client.readResource({ uri }),
  prompts: () => client.listPrompts(),
  prompt: ({ name }) => client.getPrompt({ name }),
  skills: () => sdk.skills(client),
  skill: ({ uri }) => sdk.skill(client, uri),
  close: async () => void (await client.close()),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: step, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await steps[step](given)) ?? {} };
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
// What a transport left open holds nobody.
process.exit(0);
