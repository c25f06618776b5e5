// Keeps a site for use without a network. `kata site` writes its version and its files, with their digests, into these lines.
const VERSION = "";
const FILES = {};
const KEYS = {}; // the answer keys, which are kept once the site is open
const NAME = `dojo ${registration.scope} `;
const SHELF = NAME + VERSION;

/** Load a file, and keep it if it is the one of the list: what another cache holds may be older. */
async function take(cache, [name, digest]) {
  if (await cache.match(name)) return;
  for (const from of ["default", "reload"]) {
    const answer = await fetch(name, { cache: from });
    if (answer.ok && (await digestOf(answer.clone())) === digest) return cache.put(name, answer);
  }
  throw new Error(`${name} is not the file of this version`);
}

async function digestOf(answer) {
  const bytes = await crypto.subtle.digest("SHA-256", await answer.arrayBuffer());
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function keep(files) {
  const cache = await caches.open(SHELF);
  for (const file of Object.entries(files)) await take(cache, file);
}

async function forgetOthers() {
  for (const name of await caches.keys()) if (name.startsWith(NAME) && name !== SHELF) await caches.delete(name);
}

addEventListener("install", (event) => event.waitUntil(keep(FILES)));
addEventListener("activate", (event) => event.waitUntil(forgetOthers().then(() => clients.claim())));
addEventListener("message", (event) => {
  const kept = keep(KEYS).then(() => event.source.postMessage("kept"));
  event.waitUntil(kept.catch(() => {})); // without a network; the next time
});
addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  const name = address.pathname.slice(new URL(registration.scope).pathname.length) || "index.html";
  if (event.request.method === "GET" && address.origin === location.origin && (name in FILES || name in KEYS)) {
    event.respondWith(answer(name, event.request));
  }
});

async function answer(name, request) {
  const cache = await caches.open(SHELF);
  return (await cache.match(name)) ?? fetch(request);
}
