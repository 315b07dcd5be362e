// A real MCP client in front of `berth mcp`, told by a test what to call.
//
//   node client.mjs session|stateless COMMAND [ARGUMENT...]
//
// session:   the TypeScript SDK that begins with initialize (@modelcontextprotocol/sdk).
// stateless: its successor, which probes server/discover and then speaks the stateless revision.
//
// Reads one JSON document a line: {"tool": NAME, "arguments": {...}, "progress": true?, "cancel_ms": N?} or
// {"list": true}. Answers each with one line: {"result": ...}, or {"error": SENTENCE, "code": N}; with progress, the
// notifications are in "progress". The first line says what was agreed on. Everything goes through the SDK, which
// checks what it gets, structured content by the tools' own output schemas too.
import readline from 'node:readline';

const [era, command, ...args] = process.argv.slice(2);
const stateless = era === 'stateless';
const name = stateless ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js';
const transportName = stateless ? '@modelcontextprotocol/client/stdio' : '@modelcontextprotocol/sdk/client/stdio.js';
const {Client} = await import(name);
const {StdioClientTransport} = await import(transportName);

const transport = new StdioClientTransport({command, args, env: process.env, stderr: 'pipe'});
let complaints = '';
transport.stderr?.on('data', (data) => (complaints += data));
const options = stateless ? {versionNegotiation: {mode: 'auto'}} : {};
const client = new Client({name: 'berthos-tests', version: '1'}, {capabilities: {}, ...options});
const errors = [];
client.onerror = (error) => errors.push(String(error));
await client.connect(transport);

const say = (document) => process.stdout.write(JSON.stringify(document) + '\n');
say({
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  capabilities: client.getServerCapabilities(),
  era: stateless ? client.getProtocolEra?.() : 'session',
});

async function call(wish) {
  if (wish.list) return {result: await client.listTools()};
  const progress = [];
  const abort = new AbortController();
  const request = {signal: abort.signal, timeout: 600000};
  if (wish.progress) request.onprogress = (note) => progress.push(note);
  if (wish.cancel_ms) setTimeout(() => abort.abort('the test has seen enough'), wish.cancel_ms);
  const parameters = {name: wish.tool, arguments: wish.arguments ?? {}};
  const result = stateless
    ? await client.callTool(parameters, request)
    : await client.callTool(parameters, undefined, request);
  return {result, progress};
}

for await (const line of readline.createInterface({input: process.stdin})) {
  try {
    say(await call(JSON.parse(line)));
  } catch (error) {
    say({error: String(error?.message ?? error), code: error?.code ?? null});
  }
}
await client.close();
if (errors.length || complaints) {
  process.stderr.write(`the client complains: ${errors.join('; ')} ${complaints}\n`);
  process.exit(3);
}
process.exit(0);
