// The judge: who carries out what the views ask, by the messages of docs/reference/page_protocol.md.

/**
 * @typedef {object} Judge
 * @property {(request: object, onAnswer?: (answer: object) => void) => Promise<object>} ask
 *   Send `{kind, …}`; the judge adds `v` and `id`. `onAnswer` gets each answer in order, and the promise the last one. A request
 *   that is lost on its way ends with `{kind: "dropped", problem: "", last: true, is_lost: true}`. It never rejects.
 * @property {(push: object) => void} onPush   Set by the page: gets what comes without having been asked for (`id` 0).
 * @property {{value: "loading" | "open" | "lost"}} state   A signal. What is asked while it is not "open" is lost.
 * @property {{sign: string, title: string, advice: string}} lost   What is said while it is "lost", and what helps.
 * @property {{value: string}} progress   A signal: what is being loaded, in words; empty if nothing is.
 */

/**
 * Connect to the judge that the page names in `<html data-judge="…">`: `socket` for the local server, `pyodide` for a site.
 * @returns {Promise<Judge>}
 */
export async function connect() {
  const { connect: begin } = await import(`./${document.documentElement.dataset.judge}.js`);
  return begin();
}
