// Opens a session file with pi's own code and prints what it makes of it; with a third argument, appends a prompt.
import { existsSync } from "node:fs";
const [packageFolder, file, text] = process.argv.slice(2);
const bundle = `${packageFolder}/dist/bundle/index.js`; // newer releases; needs nothing beside it
const { SessionManager } = await import(existsSync(bundle) ? bundle : `${packageFolder}/dist/core/session-manager.js`);
const session = SessionManager.open(file);
if (text) session.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
const rows = [];
const walk = (nodes) => {
  for (const node of nodes) {
    rows.push([node.entry.id, node.entry.parentId ?? null, node.entry.type, node.label ?? null]);
    walk(node.children);
  }
};
walk(session.getTree());
const context = session.buildSessionContext();
console.log(JSON.stringify({
  id: session.getSessionId(),
  name: session.getSessionName() ?? null,
  leafId: session.getLeafId(),
  rows,
  model: context.model,
  thinkingLevel: context.thinkingLevel,
  messages: context.messages,
}));
