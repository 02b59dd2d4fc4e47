// The client of the official npm SDK drives bayou: node client.mjs FOLDER COMMAND…
// Its SDK checks what bayou says against its own schema. Prints one JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/unstable";

const [folder, command, ...words] = process.argv.slice(2);
const bayou = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(bayou.stdin), Readable.toWeb(bayou.stdout));
const told = { kinds: [], text: "", asked: [], forms: 0 };
const { agent, client } = acp.methods;

const app = acp
  .client({ name: "test" })
  .onNotification(client.session.update, ({ params }) => {
    const update = params.update;
    told.kinds.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") told.text += update.content.text ?? "";
  })
  .onRequest(client.session.requestPermission, ({ params }) => {
    told.asked.push(params.toolCall.kind);
    const chosen = params.options.find((one) => one.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  });

await app.connectWith(stream, async (bayou) => {
  const begun = await bayou.request(agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  told.capabilities = begun.agentCapabilities;
  const session = await bayou.request(agent.session.new, { cwd: folder, mcpServers: [] });
  const sessionId = session.sessionId;
  const prompt = async (...blocks) =>
    (await bayou.request(agent.session.prompt, { sessionId, prompt: blocks })).stopReason;
  const text = (words) => ({ type: "text", text: words });
  const edit = JSON.stringify([["edit", { path: "a.txt", oldText: "one", newText: "two" }]]);
  told.edited = await prompt(text(edit));
  told.sent = await prompt(text("Look"), { type: "resource_link", name: "a.txt", uri: `file://${folder}/a.txt` });
  const set = { sessionId, configId: "mode", value: "full" };
  told.mode = (await bayou.request(agent.session.setConfigOption, set)).configOptions[0].currentValue;
  const waiting = prompt(text("wait"));
  while (!told.kinds.slice(-1)[0].startsWith("tool_call_update")) await new Promise((done) => setTimeout(done, 20));
  await bayou.notify(agent.session.cancel, { sessionId });
  told.cancelled = await waiting;
  const fork = await bayou.request(agent.session.fork, { sessionId, cwd: folder, mcpServers: [] });
  told.listed = (await bayou.request(agent.session.list, { cwd: folder })).sessions.length;
  await bayou.request(agent.session.delete, { sessionId: fork.sessionId });
  await bayou.request(agent.session.close, { sessionId });
  told.kinds.length = 0;
  await bayou.request(agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  told.replayed = [...told.kinds];
  await bayou.request(agent.session.close, { sessionId });
  await bayou.request(agent.session.resume, { sessionId, cwd: folder, mcpServers: [] });
  told.resumed = await prompt(text("and on"));
});
console.log(JSON.stringify(told));
bayou.stdin.end();
