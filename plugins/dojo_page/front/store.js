// What the browser itself keeps: choices of this person, and texts that no judge has taken.
import { signal } from "./vendor/vendor.js";

const PREFIX = "dojo ";

/** Return what was kept under a name, or null. A browser may refuse to keep anything. */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // nothing is kept, and nothing else fails
  }
}

/** The text of a kata that is not in its file, for the next time that the kata is opened. */
export const unsaved = {
  keep: (kata, text) => keep(`unsaved ${kata}`, text),
  take(kata) {
    const text = kept(`unsaved ${kata}`);
    keep(`unsaved ${kata}`, null);
    return text;
  },
};

/** Answers to questions that are no values yet, by the name of their constant. */
export const half = {
  of: (kata) => kept(`answers ${kata}`) ?? {},
  keep: (kata, answers) => keep(`answers ${kata}`, Object.keys(answers).length ? answers : null),
};

// --- the colours ---
export const COLOURS = ["system", "light", "dark"];

export const colours = signal(document.documentElement.dataset.theme ?? "system");

export function chooseColours(name) {
  colours.value = document.documentElement.dataset.theme = name;
  keep("theme", name === "system" ? null : name);
}
