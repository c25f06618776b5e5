// A puzzle: the lines of a kata's reference, to be put in order.
import { html, useEffect, useSignal } from "./vendor/vendor.js";
import { useKeys } from "./keys.js";
import { Code, focusOn, worded } from "./parts.js";

const RUNNING = "Running …";

export function PuzzleView({ app, name }) {
  const puzzle = useSignal(null);
  const order = useSignal([]); // letters, from the top
  const right = useSignal(0); // how many of them, from the top
  const opening = useSignal("Opening the puzzle …");
  const told = useSignal("");
  const isKnown = app.course.value.katas.some((one) => one.name === name);
  app.title(`Puzzle: ${name}`);

  useEffect(() => {
    if (!isKnown) return (opening.value = "No kata has this name.");
    app.judge.ask({ kind: "puzzle", kata: name }).then((answer) => {
      if (answer.kind !== "puzzle") return (opening.value = whyNot(answer));
      puzzle.value = answer;
      opening.value = answer.told;
      app.puzzled(name);
    });
  }, [name]);

  const change = (letters, next) => {
    order.value = letters;
    right.value = 0;
    told.value = "";
    requestAnimationFrame(() => focusOn(next)); // what was pressed has moved
  };
  const take = (letter) => {
    const { lines } = puzzle.value;
    const left = lines.map((line) => line.letter).filter((one) => one !== letter && !order.value.includes(one));
    const next = left.find((one) => one > letter) ?? left[0];
    change([...order.value, letter], next ? `[data-take=${next}]` : ".puzzle .run");
  };
  const leave = (letter) => change(order.value.filter((one) => one !== letter), `[data-take=${letter}]`);
  const move = (letter, by) => {
    const letters = [...order.value];
    const at = letters.indexOf(letter);
    const other = letters[at + by];
    if (!other) return;
    letters[at] = other;
    letters[at + by] = letter;
    change(letters, `[data-line=${letter}] [data-by="${by}"]`);
  };
  const run = async () => {
    if (told.value === RUNNING || !order.value.length) return;
    const asked = order.value;
    told.value = RUNNING;
    const answer = await app.judge.ask({ kind: "arrange", kata: name, order: asked.join("") });
    if (asked !== order.value) return; // it was changed meanwhile
    if (answer.kind !== "arranged") return (told.value = whyNot(answer));
    right.value = answer.right;
    const sign = answer.right === asked.length ? "" : "✗ ";
    told.value = answer.passes ? "✓ Every check passes. Now write it yourself: your file counts." : sign + answer.told;
  };
  useKeys([
    ["r", "Run the lines in their order.", run],
    ["b", "Go back to the kata.", () => app.goTo(`kata/${name}`)],
    ["k", "List the katas.", app.openDrawer],
    ["p", "Go to the path.", () => app.goTo("")],
  ]);

  const lines = puzzle.value?.lines ?? [];
  const textOf = Object.fromEntries(lines.map((line) => [line.letter, line.text]));
  const left = lines.filter((line) => !order.value.includes(line.letter));
  return html`<main id="main" class="puzzle" tabindex="-1">
    <h1>Puzzle: ${name}</h1>
    <p role="status">${opening.value}</p>
    ${puzzle.value &&
    html`<div class="parts">
      <section aria-labelledby="left">
        <h2 id="left">Lines</h2>
        <p class="quiet small">Press a line to put it below the others.</p>
        ${left.map(({ letter, text }) => html`<button type="button" class="line" key=${letter} data-take=${letter} onClick=${() => take(letter)}><span class="quiet">${letter}</span><${Code} text=${text} /></button>`)}
      </section>
      <section aria-labelledby="order">
        <h2 id="order">Your order</h2>
        <pre tabindex="0" aria-label="What stands above the lines">${puzzle.value.head}</pre>
        <ol>
          ${order.value.map((letter, at) => html`<${Placed} key=${letter} letter=${letter} text=${textOf[letter]} isRight=${at < right.value} move=${move} leave=${leave} />`)}
        </ol>
        <button type="button" class="first run" onClick=${run}>Run</button>
        <p class="outcome" aria-live="polite">${worded(told.value)}</p>
      </section>
    </div>`}
    <p><a href="#/${isKnown ? `kata/${name}` : ""}">To the ${isKnown ? "kata" : "path"}</a></p>
  </main>`;
}

const whyNot = (answer) => answer.text || answer.problem || "The judge was needed elsewhere; try it again.";

function Placed({ letter, text, isRight, move, leave }) {
  return html`<li class=${isRight ? "right" : ""} data-line=${letter}>
    <span class="quiet">${letter}</span>
    <${Code} text=${text} />
    <span class="moves">
      <button type="button" data-by="-1" aria-label="${letter} up" onClick=${() => move(letter, -1)}>↑</button>
      <button type="button" data-by="1" aria-label="${letter} down" onClick=${() => move(letter, 1)}>↓</button>
      <button type="button" aria-label="${letter} out" onClick=${() => leave(letter)}>×</button>
    </span>
  </li>`;
}
