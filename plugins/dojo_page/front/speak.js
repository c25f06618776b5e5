// A text that the student's functions write, live: a prompt, parts to leave out, and a look inside.
import { html, useEffect, useRef, useSignal } from "./vendor/vendor.js";
import { useKeys } from "./keys.js";
import { focusOn, Frame } from "./parts.js";

const RECORDED = "Recorded, from the course's own functions.";

export function SpeakView({ app, name: without }) {
  const speech = useSignal(null);
  const problem = useSignal("");
  app.title("Speak");
  useKeys(
    [
      ["k", "List the katas.", app.openDrawer],
      ["p", "Go to the path.", () => app.goTo("")],
      ["t", "Type a prompt.", () => focusOn(".speak input")],
    ],
    [["Enter", "Write, in the prompt."]],
  );
  useEffect(() => {
    app.judge.ask({ kind: "speech" }).then((answer) => {
      if (answer.kind === "speech") speech.value = answer;
      else problem.value = answer.text || answer.problem || "It cannot be asked now.";
    });
  }, []);
  if (!speech.value) return html`<main id="main" class="path" tabindex="-1"><h1>Speak</h1><p role="status">${problem.value || "Opening …"}</p></main>`;
  return html`<${Writing} key=${without} app=${app} speech=${speech.value} without=${without} />`;
}

function Writing({ app, speech, without }) {
  const wish = useSignal({ prompt: speech.prompt, without: speech.switches.some(({ name }) => name === without) ? [without] : [], way: "", settings: {}, mine: false });
  const text = useSignal("");
  const left = useSignal([]); // the names of what the shown text was written without
  const progress = useSignal("");
  const note = useSignal("");
  const written = useSignal(null);
  const number = useRef(0);
  const prompt = useRef(null);

  const write = async () => {
    const mine = ++number.current;
    const asked = { ...wish.value, prompt: prompt.current.value };
    wish.value = asked;
    text.value = note.value = "";
    written.value = null;
    left.value = asked.without;
    progress.value = "Loading your functions …";
    const last = await app.judge.ask({ kind: "speak", ...asked }, (answer) => {
      if (mine !== number.current) return;
      if (answer.kind === "said") {
        text.value += answer.text;
        progress.value = "Writing …";
      } else if (answer.kind === "progress") progress.value = answer.text;
      else if (answer.kind === "written") written.value = answer;
    });
    if (mine !== number.current) return;
    progress.value = "";
    if (last.kind !== "written") note.value = last.problem || last.text || (last.is_lost ? `${app.judge.lost.title}; write again.` : "Stopped.");
    else if (last.is_recorded) note.value = RECORDED;
  };
  useEffect(() => {
    write();
    return () => {
      number.current++;
    };
  }, []);
  const choose = (changed) => {
    wish.value = { ...wish.value, ...changed };
    write();
  };
  const isRecorded = Boolean(written.value?.is_recorded);
  const labels = left.value.map((name) => speech.switches.find((one) => one.name === name)?.label ?? name);
  const beside = written.value?.beside;
  return html`<main id="main" class="speak" tabindex="-1">
    <section class="writing" aria-label="The text">
      <h1>${speech.title}</h1>
      <${Stories} text=${text.value} beside=${beside} labels=${labels} />
      <p class="progress-line" role="status" data-works=${Boolean(progress.value)}>${progress.value || note.value}</p>
      <div class="remarks">${written.value?.remarks.map((remark) => html`<p key=${remark}>${remark}</p>`)}</div>
      ${written.value?.inside && html`<${Frame} page=${written.value.inside} title="Inside the text" />`}
    </section>
    <${Form} speech=${speech} wish=${wish.value} prompt=${prompt} choose=${choose} write=${write} isRecorded=${isRecorded} />
  </main>`;
}

/** The text, and beside it the one with all parts; the first word that differs is marked in both. */
function Stories({ text, beside, labels }) {
  const words = text.split(/(\s+)/);
  const others = beside ? beside.split(/(\s+)/) : [];
  const at = beside ? words.findIndex((word, n) => word !== others[n]) : -1;
  const differs = beside && at < 0 && others.length > words.length ? words.length : at;
  const story = (pieces) => html`${pieces.slice(0, Math.max(0, differs < 0 ? pieces.length : differs)).join("")}${differs >= 0 && differs < pieces.length && html`<mark>${pieces[differs]}</mark>${pieces.slice(differs + 1).join("")}`}`;
  return html`<div class="stories ${labels.length || beside ? "two" : ""}">
    <div class="text">
      <h2>${labels.length ? `Without ${labels.join(", ")}` : beside ? "This text" : "With all parts"}</h2>
      <p>${story(words)}</p>
    </div>
    ${(labels.length > 0 || beside) &&
    html`<div class="text whole">
      <h2>With all parts, as recorded</h2>
      <p>${beside ? story(others) : html`<span class="quiet small">It follows when the text is at its end.</span>`}</p>
    </div>`}
  </div>`;
}

function Form({ speech, wish, prompt, choose, write, isRecorded }) {
  const toggle = (name, isOut) => choose({ without: isOut ? [...wish.without, name] : wish.without.filter((other) => other !== name) });
  const set = ({ name, low, high }, isSet) => {
    const { [name]: _, ...others } = wish.settings;
    choose({ settings: isSet ? { ...others, [name]: (low + high) / 2 } : others });
  };
  return html`<section class="form" aria-label="What to write">
    <label for="prompt">After these words</label>
    <input id="prompt" type="text" ref=${prompt} defaultValue=${speech.prompt} maxlength=${speech.longest} disabled=${isRecorded} onKeyDown=${(event) => event.key === "Enter" && write()} />
    <button type="button" class="first" disabled=${isRecorded} onClick=${write}>Write</button>
    <fieldset>
      <legend>Leave out</legend>
      ${speech.switches.map(
        (one) => html`<label class="choice" key=${one.name} title=${one.effect}>
          <input type="checkbox" name="without" value=${one.name} checked=${wish.without.includes(one.name)} onChange=${(event) => toggle(one.name, event.target.checked)} /> ${one.label}
        </label>`,
      )}
    </fieldset>
    <fieldset>
      <legend>Write with</legend>
      ${[{ name: "", about: "" }, ...speech.ways].map(
        (way) => html`<label class="choice" key=${way.name}>
          <input type="radio" name="way" value=${way.name} checked=${wish.way === way.name} disabled=${isRecorded} onChange=${() => choose({ way: way.name })} />
          ${way.name ? `${way.name}: ${way.about}` : "the parts"}
        </label>`,
      )}
      <label class="choice"><input type="checkbox" name="mine" checked=${wish.mine} onChange=${(event) => choose({ mine: event.target.checked })} /> functions that do not pass, too</label>
    </fieldset>
    ${speech.settings.length > 0 &&
    html`<fieldset>
      <legend>Choose a token</legend>
      ${speech.settings.map((one) => {
        const value = wish.settings[one.name];
        const isSet = value !== undefined;
        return html`<div class="setting" key=${one.name}>
          <label class="choice"><input type="checkbox" checked=${isSet} disabled=${isRecorded} onChange=${(event) => set(one, event.target.checked)} /> ${one.name}: ${one.about}</label>
          ${isSet && html`<input type="range" aria-label=${one.name} min=${one.low} max=${one.high} step=${one.step} value=${value} onChange=${(event) => choose({ settings: { ...wish.settings, [one.name]: Number(event.target.value) } })} /><output>${value}</output>`}
        </div>`;
      })}
    </fieldset>`}
  </section>`;
}
