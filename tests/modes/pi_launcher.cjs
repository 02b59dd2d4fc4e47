// pi's client starts "node FILE …"; this file is it, and hands everything to Python.
const { spawn } = require("node:child_process");
const child = spawn(process.env.BAYOU_PYTHON, ["-P", "-m", "app", ...process.argv.slice(2)], { stdio: "inherit" });
for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
