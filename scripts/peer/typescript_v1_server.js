// The TypeScript SDK v1 as its examples show it, for `just bench-peers` to measure beside gongfu.
//
//     typescript_v1_server.js FOLDER stdio
//     typescript_v1_server.js FOLDER sessionless PORT    2025-11-25, a server for each request, JSON answers
//     typescript_v1_server.js FOLDER session PORT        2025-11-25 with sessions, JSON answers
//
// A word `library` in the end serves every SKILL.md of the folder as a resource too: this SDK has no skills methods.

import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const [folder, mode, ...rest] = process.argv.slice(2);
const root = resolve(folder);
const isLibrary = rest.includes('library');
const names = isLibrary ? readdirSync(root).sort() : [];

// The text of a skill's SKILL.md.
async function document(name) {
  const path = join(root, name, 'SKILL.md');
  if (!path.startsWith(root + sep)) throw new Error('no such skill');
  return readFile(path, 'utf8');
}

function makeServer() {
  const server = new McpServer({ name: 'skills', version: '1.0.0' });
  if (isLibrary) {
    // A template with a list: nothing is registered a thousand times for each request.
    const list = async () => ({
      resources: names.map(name => ({ uri: `skill://${name}/SKILL.md`, name, mimeType: 'text/markdown' })),
    });
    server.registerResource('skill', new ResourceTemplate('skill://{name}/SKILL.md', { list }), {}, async (uri, { name }) => ({
      contents: [{ uri: uri.href, mimeType: 'text/markdown', text: await document(name) }],
    }));
  }
  const description = 'Load the instructions of a skill.';
  server.registerTool('skill_load', { description, inputSchema: { skill_name: z.string() } }, async ({ skill_name }) => ({
    content: [{ type: 'text', text: await document(skill_name) }],
  }));
  return server;
}

if (mode === 'stdio') {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await makeServer().connect(new StdioServerTransport());
} else {
  const { createMcpExpressApp } = await import('@modelcontextprotocol/sdk/server/express.js');
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const app = createMcpExpressApp();
  const sessions = new Map();
  app.post('/mcp', async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      const server = makeServer();
      if (mode === 'sessionless') {
        transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
        response.on('close', () => {
          transport.close();
          server.close();
        });
      } else {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          enableJsonResponse: true,
          onsessioninitialized: id => sessions.set(id, transport),
        });
        transport.onclose = () => sessions.delete(transport.sessionId);
      }
      await server.connect(transport);
    }
    await transport.handleRequest(request, response, request.body);
  });
  app.listen(Number(rest[0]), '127.0.0.1');
}
