// Calls every method of pi's client once, in an order in which each has something to do.
import assert from "node:assert/strict";
import { RpcClient } from "./rpc-client.js";

const called = new Set(["constructor", "start", "stop", "onEvent", "getStderr"]);
const real = new RpcClient({ cliPath: process.argv[2], cwd: process.cwd(), args: [] });
const own = Object.getOwnPropertyNames(RpcClient.prototype);
const inner = new Set(["send", "handleLine", "getData", "createProcessExitError", "rejectPendingRequests"]);
const pi = new Proxy(real, {
  get(target, name) {
    called.add(name);
    const value = target[name];
    return typeof value === "function" ? value.bind(target) : value;
  },
});
const refused = (promise, words) => assert.rejects(promise, (error) => error.message.includes(words));

await real.start();
let settled = 0;
real.onEvent((event) => (settled += event.type === "agent_settled" ? 1 : 0));
const idle = pi.waitForIdle();
const disposition = await pi.prompt("help");
await idle;
const events = await pi.promptAndWait("list");
assert.equal(events.at(-1).type, "agent_settled");
const state = await pi.getState();
assert.equal(state.isStreaming, false);
assert.equal(await pi.steer("later"), "queued");
assert.equal(await pi.followUp("still later"), "queued");
assert.deepEqual(await pi.clearQueue(), { steering: ["later"], followUp: ["still later"] });
const models = await pi.getAvailableModels();
assert.equal((await pi.setModel(models[0].provider, models[0].id)).id, models[0].id);
await pi.cycleModel();
assert.ok((await pi.getAvailableThinkingLevels()).includes("off"));
await pi.setThinkingLevel("off");
await pi.cycleThinkingLevel();
await pi.setSteeringMode("all");
await pi.setFollowUpMode("all");
await pi.setAutoCompaction(false);
await pi.setAutoRetry(false);
assert.equal((await pi.getState()).steeringMode, "all");
await refused(pi.compact(), "Nothing to compact");
await pi.abortRetry();
assert.equal((await pi.bash("echo out")).output.trim(), "out");
await pi.abortBash();
assert.equal((await pi.getSessionStats()).userMessages, 2);
assert.ok((await pi.exportHtml("page.html")).path.endsWith("page.html"));
assert.ok((await pi.getLastAssistantText()).length > 0);
await pi.setSessionName("a name");
assert.ok((await pi.getMessages()).length >= 4);
assert.ok(Array.isArray(await pi.getCommands()));
const prompts = await pi.getForkMessages();
assert.deepEqual(prompts.map((prompt) => prompt.text), ["help", "list"]);
const { entries, leafId } = await pi.getEntries();
assert.equal((await pi.getEntries(entries[0].id)).entries.length, entries.length - 1);
assert.ok(entries.some((entry) => entry.id === leafId));
assert.equal((await pi.getTree()).leafId, leafId);
assert.deepEqual(await pi.fork(prompts[1].entryId), { text: "list", cancelled: false });
assert.equal((await pi.clone()).cancelled, false);
assert.equal((await pi.switchSession(state.sessionFile)).cancelled, false);
assert.equal((await pi.newSession()).cancelled, false);
await pi.abort();
const after = (await pi.getState()).isStreaming ? "streaming" : "not streaming";
pi.collectEvents;
await real.stop();
const uncalled = own.filter((name) => !called.has(name) && !inner.has(name) && !name.startsWith("_"));
console.log(JSON.stringify({ uncalled, settled, disposition, after }));
