// Small parts that several views use.
import { html, render, signal, useEffect, useLayoutEffect, useRef } from "./vendor/vendor.js";
import { colours } from "./store.js";

/** Let each line of a text go on below its own indentation. */
function listed(pre) {
  const text = pre.textContent.replace(/\n$/, "");
  pre.replaceChildren();
  render(html`<${Code} text=${text} />`, pre);
}

/** Show HTML that a judge has made by its templates, which escape every value. */
export function Made({ of, tag = "div", ...rest }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    box.current.innerHTML = of ?? "";
    for (const one of box.current.querySelectorAll("pre:not(:has(*))")) listed(one);
    for (const one of box.current.querySelectorAll("pre, .wide, figure")) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0; // so that the keyboard can scroll it
    }
  }, [of]);
  return html`<${tag} ref=${box} ...${rest}></${tag}>`;
}

/** Show what stands between backticks as code. */
export const worded = (text) => text.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

/** Return the style of a line of code that goes on below its own indentation where it is wrapped; `edge` is its padding. */
export function hanging(line, edge = "0px") {
  const depth = line.search(/\S|$/) + 4;
  return `padding-left: calc(${depth}ch + ${edge}); text-indent: -${depth}ch`;
}

/** Lines of code, which may be wrapped. */
export function Code({ text }) {
  return html`<code class="listing">${text.split("\n").map((line, at) => html`<span key=${at} style=${hanging(line)}>${line}</span>`)}</code>`;
}

/** A name that may be broken after an underscore. */
export function Named({ name }) {
  return name.split("_").map((part, at) => (at ? html`_<wbr />${part}` : part));
}

const MARKS = {
  passed: ["✓", "good", "passes"],
  before: ["✓", "some", "passed before"],
  begun: ["◐", "some", "begun"],
  open: ["○", "quiet", "open"],
};

/** Return how a kata stands, as a key of the legend. */
export const stands = (one) =>
  one.mark === "passed" ? "passed" : one.has_passed ? "before" : one.mark ? "begun" : "open";

export function Mark({ kind }) {
  const [sign, colour, words] = MARKS[kind];
  return html`<span class="mark ${colour}" role="img" aria-label=${words}>${sign}</span>`;
}

export function Legend() {
  const marks = Object.entries(MARKS).map(
    ([kind, [sign, colour, words]]) => html`<li key=${kind}><span class="mark ${colour}" aria-hidden="true">${sign}</span> ${words}</li>`,
  );
  return html`<ul class="legend" aria-label="What the signs say">
    ${marks}
    <li><${Dots} number=${1} /> easy</li>
    <li><${Dots} number=${2} /> medium</li>
    <li><${Dots} number=${3} /> hard</li>
  </ul>`;
}

const HARD = ["", "easy", "medium", "hard"];

export function Dots({ number }) {
  if (!number) return null;
  return html`<span class="dots" role="img" aria-label=${HARD[number]} title=${HARD[number]}>${"●".repeat(number)}<i>${"●".repeat(3 - number)}</i></span>`;
}

export function Bar({ part, whole, kind = "good" }) {
  const width = whole ? Math.round((100 * part) / whole) : 0;
  return html`<svg class="bar ${kind}" aria-hidden="true"><rect width="${width}%" height="100%" /></svg>`;
}

/** Return points, which come in hundredths, as the judge writes them. */
export const points = (hundredths) => String(hundredths / 100);

// --- what is said for a few seconds ---
const SECONDS = 8;
const told = signal([]);
let number = 0;

export function tell(text) {
  const one = { text, id: ++number };
  told.value = [...told.value.slice(-2), one];
  setTimeout(() => (told.value = told.value.filter((other) => other !== one)), 1000 * SECONDS);
}

export function Notices() {
  return html`<div class="notices" role="status">${told.value.map((one) => html`<p class="notice" key=${one.id}>${one.text}</p>`)}</div>`;
}

/** A page of its own in a frame that reaches neither this page nor the judge. */
export function Frame({ page, title }) {
  const frame = useRef(null);
  const scheme = colours.value === "system" ? "light dark" : colours.value;
  useEffect(() => {
    const give = ({ source, data }) => {
      if (source === frame.current?.contentWindow && data === "ready") source.postMessage({ page, scheme }, "*");
    };
    addEventListener("message", give);
    return () => removeEventListener("message", give);
  }, [page, scheme]);
  return html`<iframe ref=${frame} key=${scheme + page} title=${title} sandbox="allow-scripts" src="frame.html"></iframe>`;
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({ isOpen, close, label, children, ...rest }) {
  const box = useRef(null);
  useEffect(() => {
    if (isOpen && !box.current.open) box.current.showModal();
    if (!isOpen && box.current.open) box.current.close();
  }, [isOpen]);
  const outside = (event) => event.target === box.current && close();
  return html`<dialog ref=${box} aria-label=${label} onClose=${close} onClick=${outside} ...${rest}>${isOpen && children}</dialog>`;
}

export const focusOn = (selector) => document.querySelector(selector)?.focus();
export const leaveEditor = () => (document.activeElement.blur(), true);
