// The judge of a site: a worker of this tab, in which Python runs. A second one stands ready: what does not end is ended with its
// worker, and the second one goes on.
import { signal } from "./vendor/vendor.js";
import { VERSION } from "./socket.js";

// Seconds for which the worker may give no sign of life: of a call where it judges, of all katas where it shows them.
const LIMITS = { grade: 10, try: 10, review: 10, mend: 10, see: 120, speak: 120 };
const LATER = 3000; // milliseconds until the second worker begins: the first one has something to judge
const SILENT = 1; // seconds after which a worker does not hear that it is to stop
const WORDS = { sign: "Python has ended", title: "Python has ended in this tab", advice: "Load the page again; what you typed is kept." };
const LOST = { kind: "dropped", problem: "", last: true, is_lost: true };
const STOPPED = "Stopped: your code did not end.";
const BROKEN = "Python cannot be started in this browser: ";

/** @returns {import("./judge.js").Judge} */
export function connect() {
  const state = signal("loading");
  const progress = signal("Loading Python …");
  const judge = { ask, onPush: () => {}, state, lost: WORDS, progress };
  const asked = new Map(); // by id: the request, and what gets its answers
  const open = new Map(); // by kata: the request that opened it
  let number = 0;
  let worker = begin();
  let second = null;
  let timer = 0;
  let lived = 0; // when the worker gave its last sign of life

  function ask(request, onAnswer = () => {}) {
    return new Promise((resolve) => {
      if (state.value !== "open") return resolve(LOST);
      const id = ++number;
      const message = { v: VERSION, id, ...request };
      if (request.kind === "open") open.set(request.kata, message);
      if (request.kind === "close") open.delete(request.kata);
      if (request.kind === "stop") return resolve(stop(message));
      if (!running()) lived = performance.now();
      asked.set(id, { message, onAnswer, resolve });
      send(message);
    });
  }

  function send(message) {
    worker.postMessage({ kind: "request", text: JSON.stringify(message) });
    watch();
  }

  /** End what runs: if it cannot hear of it, with its worker. */
  function stop(message) {
    const silent = (performance.now() - lived) / 1000;
    if (running() && silent > SILENT) end(silent);
    else send(message);
    return { kind: "done", last: true };
  }

  /** What runs your code and has been asked first, or nothing. */
  const running = () => [...asked.values()].find(({ message }) => message.kind in LIMITS);

  function answered(answer) {
    const one = asked.get(answer.id);
    if (!answer.id) return judge.onPush(answer);
    if (!one) return;
    if (answer.last) asked.delete(answer.id);
    one.onAnswer(answer);
    if (answer.last) one.resolve(answer);
  }

  /** While something is judged, expect signs of life. */
  function watch() {
    clearTimeout(timer);
    const one = worker.isReady && running();
    if (!one) return;
    const limit = LIMITS[one.message.kind];
    timer = setTimeout(() => end(limit), limit * 1000 - (performance.now() - lived));
  }

  /** End the worker, which is stuck for so many seconds or, with 0, broken. The second one goes on with what it was asked. */
  function end(seconds) {
    worker.terminate();
    lived = performance.now();
    worker = second ?? begin();
    second = null;
    const left = [...asked.values()];
    const stuck = running();
    worker.postMessage({ kind: "begin" });
    for (const message of open.values()) worker.postMessage({ kind: "request", text: JSON.stringify({ ...message, id: ++number }) });
    for (const one of left) {
      const { id, kind, kata, text } = one.message;
      if (one !== stuck) send(one.message);
      else if (kind === "grade") worker.postMessage({ kind: "stopped", id, kata, text, seconds });
      else answered({ id, kind: "dropped", problem: STOPPED, last: true });
    }
    if (worker.isReady) second = begin();
  }

  function begin() {
    const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    made.onmessage = ({ data }) => {
      if (data.kind === "ready") ready(made);
      if (made !== worker) return;
      if (data.kind === "answer") answered(JSON.parse(data.text));
      else if (data.kind === "loading") progress.value = data.text;
      else if (data.kind === "broken") broken(data.text);
      lived = performance.now();
      watch();
    };
    made.onerror = (event) => made === worker && broken(event.message ?? "");
    return made;
  }

  function ready(made) {
    made.isReady = true;
    if (made !== worker) return;
    if (state.value === "loading") {
      worker.postMessage({ kind: "begin" });
      progress.value = "";
      state.value = "open";
      keepForLater();
    }
    setTimeout(() => (second ??= begin()), LATER);
    watch();
  }

  /** Python itself has ended: its stack was too deep, or it has no memory. */
  function broken(text) {
    if (state.value === "loading") progress.value = `${BROKEN}${text}`;
    else if (worker.isReady) end(0);
    else state.value = "lost";
  }

  return judge;
}

/** Let a service worker keep the site, for use without a network. */
function keepForLater() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  serviceWorker.register("service_worker.js").catch(() => {}); // the address may be none that a browser trusts
  serviceWorker.ready.then(({ active }) => active.postMessage("keep"));
}
