// SPDX-License-Identifier: Apache-2.0
// The official clients against gputune mcp: "old" is @modelcontextprotocol/sdk (2025-11-25 and before), "new" is @modelcontextprotocol/client (2026-07-28).
//   client.mjs old|new CALLS.json COMMAND [WORD...]    CALLS: {tool: [arguments]}. Prints one JSON object; the clients validate results by outputSchema.
import fs from "node:fs";
const [era, calls, command, ...args] = process.argv.slice(2);
const of = era === "old" ? "@modelcontextprotocol/sdk/client/" : "@modelcontextprotocol/client";
const { Client } = await import(era === "old" ? of + "index.js" : of);
const { StdioClientTransport } = await import(era === "old" ? of + "stdio.js" : of + "/stdio");
const faults = [], out = { era, tools: [], answered: 0, refused: 0, shown: [], last: null };
const client = new Client({ name: "gputune-test", version: "1" },
  { capabilities: { elicitation: {} }, ...(era === "old" ? {} : { versionNegotiation: { mode: "auto" } }) });
// What the user is shown; they say yes to it.
client.setRequestHandler(era === "old" ? (await import("@modelcontextprotocol/sdk/types.js")).ElicitRequestSchema : "elicitation/create",
  async (request) => { out.shown.push(request.params.message); return { action: "accept", content: {} }; });
const transport = new StdioClientTransport({ command, args, stderr: "pipe" });
const bound = setTimeout(() => { console.log(JSON.stringify({ faults: ["it hangs"] })); process.exit(1); }, 120000);
client.onerror = (e) => faults.push(`protocol: ${String(e.message).slice(0, 300)}`);
await client.connect(transport);
out.server = client.getServerVersion()?.name;
out.version = client.getNegotiatedProtocolVersion?.() ?? transport._protocolVersion ?? null;
const { tools } = await client.listTools();
out.tools = tools.map((t) => t.name);
for (const [name, list] of Object.entries(JSON.parse(fs.readFileSync(calls, "utf8"))))
  for (const a of list) {
    const r = await client.callTool({ name, arguments: a }).catch((e) => { faults.push(`${name}: ${e.message}`); return { isError: true }; });
    r.isError ? out.refused++ : out.answered++;
    out.last = r.structuredContent ?? null;
    if (!r.isError && r.structuredContent === undefined) faults.push(`${name}: no structuredContent`);
  }
out.resources = (await client.listResources()).resources.length;
for (const r of (await client.listResources()).resources) if (!(await client.readResource({ uri: r.uri })).contents[0].text) faults.push(`${r.uri}: empty`);
out.prompts = (await client.listPrompts()).prompts.length;
for (const p of (await client.listPrompts()).prompts) if (!(await client.getPrompt({ name: p.name })).messages.length) faults.push(`${p.name}: empty`);
const pid = transport.pid;
await client.close();
try { process.kill(pid, 0); faults.push("the server still runs"); process.kill(pid, "SIGKILL"); } catch { /* it has ended */ }
clearTimeout(bound);
console.log(JSON.stringify({ ...out, faults }));
process.exit(faults.length ? 1 : 0);
