// The judge of `grade page`, behind a WebSocket that connects again by itself, also to a server that was started again.
import { signal } from "./vendor/vendor.js";

export const VERSION = 1; // of the protocol
const FIRST_WAIT = 200;
const LONGEST_WAIT = 2000; // milliseconds between two attempts to connect
const SILENCE = 20_000; // after which a text that has not been answered is lost: a line may be cut without a sign
const WORDS = {
  sign: "no server",
  title: "The page has lost its server",
  advice: "If it was ended or started again, open the address that the terminal prints now. Otherwise wait: this tab connects by itself.",
};
const LOST = { kind: "dropped", problem: "", last: true, is_lost: true };

/** @returns {import("./judge.js").Judge} */
export function connect() {
  const state = signal("loading");
  const judge = { ask, onPush: () => {}, state, lost: WORDS, progress: signal("") };
  const asked = new Map(); // by id: what gets the answers
  let socket = null;
  let key = ""; // by which this tab proves that a server has let it in
  let number = 0;
  let wait = FIRST_WAIT;

  function ask(request, onAnswer = () => {}) {
    return new Promise((resolve) => {
      if (state.value !== "open") return resolve(LOST);
      const id = ++number;
      const own = socket;
      const late = request.kind === "save" ? setTimeout(() => lose(own), SILENCE) : 0;
      asked.set(id, (answer) => {
        if (answer.last) {
          asked.delete(id);
          clearTimeout(late);
        }
        if (!answer.is_lost) onAnswer(answer);
        if (answer.last) resolve(answer);
      });
      socket.send(JSON.stringify({ v: VERSION, id, ...request }));
    });
  }

  async function open() {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.hash = address.search = "";
    const proof = key ? await proofOf(key) : {};
    if (!proof) return again();
    for (const [name, text] of Object.entries(proof)) address.searchParams.set(name, text);
    const own = (socket = new WebSocket(address));
    own.onopen = () => {
      wait = FIRST_WAIT;
      state.value = "open";
    };
    own.onmessage = ({ data }) => {
      if (own !== socket) return;
      const answer = JSON.parse(data);
      if (answer.id) asked.get(answer.id)?.(answer);
      else if (answer.kind === "entered") enter(answer);
      else judge.onPush(answer);
    };
    own.onclose = () => lose(own);
  }

  /** Keep the key; after a restart also move to the page's new address, so that the tab can be loaded again. */
  async function enter(entered) {
    key = entered.key;
    if (!entered.address) return;
    const page = await fetch(entered.address).catch(() => null);
    if (page?.ok) history.replaceState(history.state, "", new URL(page.url).pathname + location.hash);
  }

  /** Give a socket up, and with it what was asked there. */
  function lose(own) {
    if (own !== socket) return;
    socket = null;
    own.close();
    state.value = "lost";
    for (const tell of [...asked.values()]) tell(LOST);
    again();
  }

  function again() {
    setTimeout(open, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }

  open();
  return judge;
}

/** Return what lets this tab in; null if what answers at its address does not prove first that it has the key as well. */
async function proofOf(key) {
  try {
    const drawn = crypto.randomUUID();
    const answer = await fetch(`return?nonce=${drawn}`, { credentials: "omit", cache: "no-store" });
    const { nonce, proof } = await answer.json();
    if (proof !== (await signed(key, ["server", drawn, nonce]))) return null;
    return { nonce, proof: await signed(key, ["tab", drawn, nonce]) };
  } catch {
    return null;
  }
}

async function signed(key, words) {
  const bytes = new TextEncoder();
  const secret = await crypto.subtle.importKey("raw", bytes.encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const digest = await crypto.subtle.sign("HMAC", secret, bytes.encode(JSON.stringify(words)));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
