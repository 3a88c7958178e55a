// The TypeScript SDK v2 as its documentation shows it, for `just bench-peers` to measure beside gongfu.
//
//     typescript_v2_server.js FOLDER stdio
//     typescript_v2_server.js FOLDER stateless PORT    2026-07-28, JSON answers, no sessions
//     typescript_v2_server.js FOLDER session PORT      2025-11-25 with sessions, JSON answers
//
// A word `library` in the end serves every skill of the folder by its skills extension (SEP-2640) too.

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve, sep } from 'node:path';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';

const [folder, mode, ...rest] = process.argv.slice(2);
const root = resolve(folder);
const isLibrary = rest.includes('library');
const skills = isLibrary ? await (await import('@modelcontextprotocol/server/ext/skills/node')).loadSkills(root) : undefined;

// The text of a skill's SKILL.md.
async function document(name) {
  const path = join(root, name, 'SKILL.md');
  if (!path.startsWith(root + sep)) throw new Error('no such skill');
  return readFile(path, 'utf8');
}

const inputSchema = z.object({ skill_name: z.string() });

function makeServer() {
  const server = new McpServer({ name: 'skills', version: '1.0.0' });
  if (skills) {
    skills.attach(server);
  }
  const description = 'Load the instructions of a skill.';
  server.registerTool('skill_load', { description, inputSchema }, async ({ skill_name }) => ({
    content: [{ type: 'text', text: await document(skill_name) }],
  }));
  return server;
}

if (mode === 'stdio') {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  serveStdio(makeServer);
} else {
  const { NodeStreamableHTTPServerTransport, localhostHostValidation, localhostOriginValidation, toNodeHandler } = await import(
    '@modelcontextprotocol/node'
  );
  const isHost = localhostHostValidation();
  const isOrigin = localhostOriginValidation();
  const sessions = new Map();
  const modern = toNodeHandler(createMcpHandler(makeServer, { responseMode: 'json' }));
  const answer = async (request, response) => {
    if (mode === 'stateless') return modern(request, response);
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: id => sessions.set(id, transport),
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await makeServer().connect(transport);
    }
    return transport.handleRequest(request, response);
  };
  // Without a framework, which is the fastest of the ways that are documented.
  createServer(async (request, response) => {
    if (request.url !== '/mcp') {
      response.writeHead(404).end();
    } else if (isHost(request, response) && isOrigin(request, response)) {
      await answer(request, response);
    }
  }).listen(Number(rest[0]), '127.0.0.1');
}
