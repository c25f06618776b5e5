// What the tree and the status bar show of the server's answers. Nothing here needs VS Code, so Node tests it.

/** @typedef {{name: string, track: string, title: string, uri: string, mark: "passed" | "begun" | "", score: string, isNext: boolean}} Kata */
/** @typedef {{track: string, description: string, isOpen: boolean, katas: Kata[]}} Track */
/** @typedef {{uri: string, name: string, status: string, score: string, text: string}} Verdict */

const ICONS = { passed: "pass-filled", begun: "edit", "": "circle-outline" };
/** @type {Record<string, string>} */
const STATUS_ICONS = { passed: "pass", failed: "error", error: "warning", waiting: "watch" };

/** @param {Kata[]} katas @returns {Track[]} the tracks in course order; that of the next kata is open */
function tracksOf(katas) {
  /** @type {Map<string, Kata[]>} */
  const found = new Map();
  for (const kata of katas) {
    found.set(kata.track, [...(found.get(kata.track) ?? []), kata]);
  }
  return [...found].map(([track, own]) => ({
    track,
    description: `${own.filter((one) => one.mark === "passed").length} of ${own.length}`,
    isOpen: own.some((one) => one.isNext),
    katas: own,
  }));
}

/** @param {Kata} kata @returns {string} the name of an icon of VS Code */
function iconOf(kata) {
  return kata.isNext ? "arrow-right" : ICONS[kata.mark];
}

/** @param {Kata} kata @returns {string} what stands behind the name: the next one, the score, the title */
function descriptionOf(kata) {
  return [kata.isNext ? "next" : "", kata.score, kata.title].filter(Boolean).join("  ");
}

/** @param {Verdict} verdict @returns {string} the text of the status bar, with an icon */
function statusOf(verdict) {
  const icon = STATUS_ICONS[verdict.status] ?? "circle-outline";
  return `$(${icon}) ${verdict.name}  ${verdict.score}`;
}

module.exports = { tracksOf, iconOf, descriptionOf, statusOf };
