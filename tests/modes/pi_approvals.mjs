// pi's client answers the gate's questions with what it has: it sees extension_ui_request as an event, and writes
// extension_ui_response as any program does.
import { RpcClient } from "./rpc-client.js";

const pi = new RpcClient({ cliPath: process.argv[2], cwd: process.cwd(), args: ["--permissions", "ask"] });
await pi.start();
const methods = [];
const answers = ["Allow once", "Deny", "Allow once", "stash"];
pi.onEvent((event) => {
  if (event.type !== "extension_ui_request") return;
  methods.push(event.method);
  const line = { type: "extension_ui_response", id: event.id, value: answers.shift() };
  pi.process.stdin.write(JSON.stringify(line) + "\n");
});
await pi.promptAndWait("run touch one");
await pi.promptAndWait("run touch two");
await pi.promptAndWait("run git stash drop stash");
const results = (await pi.getMessages()).filter((message) => message.role === "toolResult");
const last = results.at(-1).content.map((block) => block.text ?? "").join("");
await pi.stop();
console.log(JSON.stringify({ methods, last }));
