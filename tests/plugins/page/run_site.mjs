// node run_site.mjs SITE REQUESTS > answers, one JSON object a line: the worker of a site without a browser.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const site = path.resolve(process.argv[2]);
const bytes = (...parts) => new Uint8Array(fs.readFileSync(path.join(site, ...parts)));
const { loadPyodide } = await import(pathToFileURL(path.join(site, "runtime", "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${path.join(site, "runtime")}/`, packages: ["numpy"], stdout: () => {} });
python.unpackArchive(bytes("python.zip"), "zip", { extractDir: "/packages" });
python.unpackArchive(bytes("course.zip"), "zip", { extractDir: "/course" });
const asked = new Map(); // by id: what is told of the last answer
python.registerJsModule("dojo_outside", {
  acquire: async () => () => {},
  news: async () => {},
  keep: async () => {},
  fetch: async (kata) => bytes("keys", `${kata}.key`),
  live() {},
  post(text) {
    console.log(text);
    const { id, last } = JSON.parse(text);
    if (last) asked.get(id)?.();
  },
});
const begun = python.runPython(`
import sys
sys.path.insert(0, "/packages")
import dojo_outside
from dojo_page.browser import begin
begin("/course", "a test", dojo_outside, is_kept=True)`);
for (const line of fs.readFileSync(process.argv[3], "utf8").split("\n").filter(Boolean)) {
  const { id } = JSON.parse(line);
  const ended = new Promise((resolve) => asked.set(id, resolve));
  begun.take(line);
  await ended;
}
process.stdout.write("", () => process.exit(0)); // once all is written
