// The worker of a site: Python with the desk and the judge in it, dojo_page/browser.py. It keeps a student's files in IndexedDB.
import { loadPyodide } from "./runtime/pyodide.mjs";

const ROOT = "/course";
const PACKAGES = "/packages";
const DATABASE = "dojo " + new URL("./", location.href).pathname; // two sites of one origin have files of their own
const FILES = "files"; // by path
const FACTS = "facts";
const CHANGES = "changes"; // a number that grows with each change
const LIVE = 250; // milliseconds between two signs of life
const channel = new BroadcastChannel(DATABASE);

/** Keeps files by path; those of all tabs are the same. */
class Store {
  known = -1; // the number of changes when the files were read last

  static async open() {
    const store = new Store();
    const asked = indexedDB.open(DATABASE, 1);
    asked.onupgradeneeded = () => [FILES, FACTS].forEach((name) => asked.result.createObjectStore(name));
    store.database = await done(asked);
    return store;
  }

  async news() {
    const facts = this.database.transaction([FILES, FACTS]);
    const changes = (await done(facts.objectStore(FACTS).get(CHANGES))) ?? 0;
    if (changes === this.known) return undefined;
    const files = facts.objectStore(FILES);
    const [names, contents] = await Promise.all([done(files.getAllKeys()), done(files.getAll())]);
    this.known = changes;
    return names.map((name, at) => [name, contents[at]]);
  }

  async keep(changes) {
    const writing = this.database.transaction([FILES, FACTS], "readwrite");
    const facts = writing.objectStore(FACTS);
    const files = writing.objectStore(FILES);
    const number = ((await done(facts.get(CHANGES))) ?? 0) + 1;
    facts.put(number, CHANGES);
    for (const [name, content] of changes) content ? files.put(content, name) : files.delete(name);
    await new Promise((resolve, reject) => {
      writing.oncomplete = resolve;
      writing.onabort = () => reject(writing.error);
    });
    this.known = number;
    channel.postMessage(number);
  }
}

/** In place of a store, where the browser keeps nothing. */
const NOTHING = { news: async () => {}, keep: async () => {} };

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function loaded(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} cannot be loaded: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

const tell = (message) => postMessage(message);
let told = 0;

async function begin() {
  tell({ kind: "loading", text: "Loading Python …" });
  const about = await (await fetch("site.json")).json();
  const code = Promise.all([loaded("python.zip"), loaded("course.zip")]);
  const python = await loadPyodide({ indexURL: "runtime/", packages: ["numpy"], fullStdLib: false, stdout: () => {}, stderr: () => {} });
  tell({ kind: "loading", text: "Loading the course …" });
  const [packages, course] = await code;
  python.unpackArchive(packages, "zip", { extractDir: PACKAGES });
  python.unpackArchive(course, "zip", { extractDir: ROOT });
  const store = await Store.open().catch(() => NOTHING);
  const outside = {
    store,
    acquire: () => waited(acquired()),
    news: () => waited(store.news()),
    keep: (changes) => waited(store.keep(plain(changes))),
    fetch: (kata) => waited(loaded(`keys/${kata}.key`).catch(() => {})),
    post: (text) => tell({ kind: "answer", text }),
    live() {
      if (performance.now() - told < LIVE) return;
      told = performance.now();
      tell({ kind: "live" });
    },
  };
  python.globals.set("begin_with", [PACKAGES, ROOT, about.version, store !== NOTHING]);
  python.registerJsModule("dojo_outside", outside);
  return python.runPython(BEGIN);
}

const BEGIN = `
import sys
packages, root, version, is_kept = begin_with
sys.path.insert(0, packages)
import dojo_outside
from dojo_page.browser import begin
begin(root, version, dojo_outside, is_kept=is_kept)
`;

/** Wait for what is no work of the code that is judged, such as the network, and give signs of life meanwhile. */
async function waited(promise) {
  const beat = setInterval(() => tell({ kind: "live" }), LIVE);
  try {
    return await promise;
  } finally {
    clearInterval(beat);
    tell({ kind: "live" });
  }
}

/** Wait until no other tab works with the files, and return what lets it. */
function acquired() {
  if (!navigator.locks) return () => {};
  return new Promise((resolve) => {
    navigator.locks.request(DATABASE, () => new Promise((release) => resolve(release)));
  });
}

/** Return the changes of Python as pairs of a path and bytes; null for what is gone. */
function plain(changes) {
  const pairs = changes.toJs({ create_pyproxies: false });
  return pairs.map(([name, content]) => [name, content ?? null]);
}

const site = begin();
let isActive = false; // a worker that stands ready answers nothing

onmessage = async ({ data }) => {
  try {
    const python = await site;
    if (data.kind === "begin") isActive = true;
    else if (data.kind === "stopped") await python.stopped(data.id, data.kata, data.text, data.seconds);
    else if (data.kind === "request") python.take(data.text);
  } catch (error) {
    tell({ kind: "broken", text: String(error.message ?? error) });
  }
};
addEventListener("unhandledrejection", ({ reason }) => tell({ kind: "broken", text: String(reason?.message ?? reason) }));
channel.onmessage = async () => isActive && (await site).look();
site.then(
  () => tell({ kind: "ready" }),
  (error) => tell({ kind: "broken", text: String(error.message ?? error) }),
);
