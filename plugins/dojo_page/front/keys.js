// The keys of a view, which work while no field is being edited; `?` lists them.
import { html, signal, useEffect } from "./vendor/vendor.js";
import { Dialog } from "./parts.js";

const pressed = signal([]); // the keys of the view: [name, what it does in words, what it does]
const listed = signal([]); // keys that something else handles
const isShown = signal(false);
const EDITED = "input, select, textarea, [contenteditable=true]";

/**
 * Press these keys while the view is there.
 * @param {[string, string, () => void][]} keys
 * @param {[string, string][]} extra   keys that are only listed
 */
export function useKeys(keys, extra = []) {
  useEffect(() => {
    pressed.value = keys;
    listed.value = extra;
    return () => {
      pressed.value = listed.value = [];
    };
  });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.closest?.(EDITED)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "?") return showKeys();
  const found = pressed.value.find(([name]) => name === event.key);
  if (found) {
    event.preventDefault(); // `/` would be typed into the search that it leads to
    found[2]();
  }
});

export function showKeys() {
  isShown.value = true;
}

export function KeysDialog() {
  const all = [...pressed.value, ...listed.value, ["?", "Show these keys."]];
  const close = () => (isShown.value = false);
  return html`<${Dialog} isOpen=${isShown.value} close=${close} label="Keys" class="keys">
    <h2>Keys</h2>
    <dl>${all.map(([name, words]) => html`<dt key=${name}><kbd>${name}</kbd></dt><dd>${words}</dd>`)}</dl>
    <button type="button" onClick=${close}>Close</button>
  </${Dialog}>`;
}
