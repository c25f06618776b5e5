// A review: find the line of an answer that was changed, and write it as it should be.
import { html, useEffect, useRef, useSignal } from "./vendor/vendor.js";
import { useKeys } from "./keys.js";
import { Code, focusOn, Made } from "./parts.js";

const JUDGING = "Judging …";

export function ReviewView({ app }) {
  const now = useSignal({ kind: "", told: "Looking for a line to change …" });
  const lines = useSignal([]);
  const wrong = useSignal("");
  const kata = useSignal("");
  const field = useRef(null);
  app.title("Review");

  const ask = async (request) => {
    const answer = await app.judge.ask(request);
    if (answer.kind === "reviewing") {
      lines.value = answer.lines;
      kata.value = answer.kata;
      wrong.value = answer.wrong ?? "";
      now.value = answer;
    } else if (answer.kind === "reviewed") {
      now.value = answer;
      app.reviewed(kata.value);
    } else {
      const told = answer.text || answer.problem || "The judge was needed elsewhere; open the review again.";
      if (now.value.found) wrong.value = told;
      else now.value = { ...now.value, told };
    }
  };
  const begin = () => {
    lines.value = [];
    kata.value = wrong.value = "";
    now.value = { kind: "", told: "Looking for a line to change …" };
    ask({ kind: "review" });
  };
  useEffect(begin, []);
  const { kind, told, more, shown, found, next } = now.value;
  const isOpen = kind === "reviewing" && !found;
  const showMore = () => isOpen && more && ask({ kind: "more" });
  useKeys([
    ["m", "Show more: a failing case, a hint, the line.", showMore],
    ["p", "Go to the path.", () => app.goTo("")],
  ]);
  useEffect(() => {
    if (found && kind === "reviewing") focusOn(".review input");
  }, [found, kind]);
  const check = () => {
    if (wrong.value === JUDGING) return;
    const text = field.current.value;
    if (!text.trim()) return;
    wrong.value = JUDGING;
    ask({ kind: "mend", text });
  };
  return html`<main id="main" class="review" tabindex="-1">
    <h1>Review${kata.value && `: ${kata.value}`}</h1>
    <p role="status">${told}</p>
    <div class=${lines.value.length ? "parts" : ""}>
      <section class="lines" aria-label="Your answer, with one changed line">
        ${lines.value.map((line) => html`<${Line} key=${line.number} line=${line} isFound=${line.number === found} press=${() => isOpen && ask({ kind: "guess", line: line.number })} />`)}
      </section>
      <section aria-label="Find the line">
        <div aria-live="polite"><${Made} of=${shown ?? ""} /></div>
        ${isOpen && more && html`<button type="button" onClick=${showMore}>${more}</button>`}
        ${kind === "reviewing" &&
        found > 0 &&
        html`<label for="mended">Line ${found} as it should be</label>
          <input id="mended" ref=${field} defaultValue=${now.value.now} autocomplete="off" spellcheck=${false} autocapitalize="off" onKeyDown=${(event) => event.key === "Enter" && check()} />
          <p class="wrong" role="alert">${wrong.value}</p>
          <div class="tools">
            <button type="button" class="first" onClick=${check}>Check</button>
            <button type="button" onClick=${() => ask({ kind: "mend", text: "" })}>Show mine</button>
          </div>`}
        ${kind === "reviewed" && html`<p><a href="#/">To the path</a></p>`}
        ${kind === "reviewed" && next && html`<button type="button" class="first" onClick=${begin}>Next: ${next}</button>`}
      </section>
    </div>
  </main>`;
}

function Line({ line, isFound, press }) {
  if (!line.text.trim()) return html`<div class="blank"></div>`;
  return html`<button type="button" class="line ${isFound ? "found" : ""}" onClick=${press}><span class="quiet">${line.number}</span><${Code} text=${line.text} /></button>`;
}
