// The tools below the editor, one panel for each: hints, lines to try, and the versions of the file.
import { html, signal, useEffect, useRef, useSignal } from "./vendor/vendor.js";
import { makeEditor } from "./editor.js";
import { Dialog, focusOn, leaveEditor, Made, tell } from "./parts.js";

const FIRST = "# Lines that run after your file; the last value is shown.\n";
const NO_CASE = "There is no failing call that can be written as short code.";

/** What the tools of one kata do, for their buttons and for keys. */
export function toolsOf(work) {
  const { app, info, opened, grading } = work;
  const ask = (request, onAnswer) => app.judge.ask({ kata: info.name, ...request }, onAnswer);
  const tools = {
    panel: signal(""), // the open one
    hints: signal([]),
    hasPuzzle: signal(false),
    tried: signal(""),
    isTrying: signal(false),
    versions: signal(null),
    isAsked: signal(false), // whether the stub is to be brought back
    lines: null, // the editor of the lines to try

    /** Open a panel, or close it if it is open and does not stay. */
    open(name, stays = false) {
      tools.panel.value = tools.panel.value === name && !stays ? "" : name;
      if (tools.panel.value === "try") setTimeout(() => focusOn(".lines .cm-content"), 50);
      if (tools.panel.value === "history") tools.listVersions();
    },

    /** Open the hints, with one if there is none yet, or close them. */
    toggleHints() {
      tools.open("hints");
      if (tools.panel.value === "hints" && !tools.hints.value.length) tools.addHint();
    },
    nextHint() {
      tools.open("hints", true);
      tools.addHint();
    },
    async addHint() {
      const answer = await ask({ kind: "hint" });
      if (answer.kind !== "hint") return sayWhy(answer);
      if (tools.hints.value.at(-1) !== answer.html) tools.hints.value = [...tools.hints.value, answer.html];
      grading.nextHint.value = answer.number;
      tools.hasPuzzle.value = answer.has_puzzle;
    },

    async run(lines = tools.lines.text) {
      tools.tried.value = "<p class='quiet'>Running …</p>";
      tools.isTrying.value = true;
      grading.save();
      const answer = await ask({ kind: "try", text: grading.file.text, lines });
      tools.isTrying.value = false;
      tools.tried.value = answer.kind === "tried" ? answer.html : "";
      if (answer.kind !== "tried") tools.tried.value = said(answer.problem || answer.text || "Stopped.");
    },
    tryCase() {
      if (!work.snippet.value) return tell(NO_CASE);
      tools.lines.replace(work.snippet.value);
      tools.open("try", true);
      tools.run(work.snippet.value);
    },
    stop: () => ask({ kind: "stop" }),

    async listVersions() {
      const answer = await ask({ kind: "versions" });
      if (answer.kind === "versions") tools.versions.value = answer;
    },
    async compare(number) {
      const answer = await ask({ kind: "difference", number, text: grading.file.text });
      return answer.kind === "difference" ? answer.html : said(answer.text || answer.problem || "");
    },
    async bring(what) {
      await work.bring(what);
    },
    askStub: () => (tools.isAsked.value = true),
    first: FIRST + opened.entry_point,
  };
  return tools;
}

function said(text) {
  const line = document.createElement("p");
  line.className = "cause";
  line.textContent = text;
  return line.outerHTML;
}

function sayWhy(answer) {
  const text = answer.text || answer.problem;
  if (text) tell(text);
}

export function Tools({ work }) {
  const { tools, opened, grading } = work;
  const open = tools.panel.value;
  const number = grading.nextHint.value;
  const button = (name, label, press) => html`<button type="button" aria-expanded=${open === name} aria-controls="panel-${name}" onClick=${press}>${label}</button>`;
  return html`
    <div class="toolbar" role="toolbar" aria-label="Tools">
      ${button("hints", number && open !== "hints" ? `Hint ${number} of ${opened.hints}` : "Hints", tools.toggleHints)}
      ${button("try", "Try", () => tools.open("try"))}
      ${button("history", "History", () => tools.open("history"))}
      <button type="button" hidden=${!work.snippet.value} title="Put the call that the verdict shows into Try" onClick=${tools.tryCase}>Case</button>
      <${Status} grading=${grading} />
    </div>
    <${Hints} tools=${tools} isOpen=${open === "hints"} openPuzzle=${() => work.app.goTo(`puzzle/${work.info.name}`)} />
    <${Try} tools=${tools} isOpen=${open === "try"} />
    <${History} tools=${tools} isOpen=${open === "history"} kata=${work.info.name} />`;
}

/** What is done now, for how many seconds, and a way to stop it. */
function Status({ grading }) {
  const { text, since } = grading.status.value;
  const seconds = useSignal(0);
  useEffect(() => {
    seconds.value = 0;
    if (!since) return;
    const clock = setInterval(() => (seconds.value = Math.floor((Date.now() - since) / 1000)), 250);
    return () => clearInterval(clock);
  }, [since]);
  return html`<div class="status">
    <span role="status">${text}</span>
    ${since > 0 && html`<span aria-hidden="true">${seconds.value ? `${seconds.value} s` : ""}</span><button type="button" onClick=${() => grading.stop()}>Stop</button>`}
  </div>`;
}

function Panel({ name, label, isOpen, children }) {
  return html`<div class="panel ${name}" id="panel-${name}" role="region" aria-label=${label} hidden=${!isOpen}>${children}</div>`;
}

function Hints({ tools, isOpen, openPuzzle }) {
  return html`<${Panel} name="hints" label="Hints" isOpen=${isOpen}>
    <div aria-live="polite">${tools.hints.value.map((hint, at) => html`<${Made} key=${at} of=${hint} />`)}</div>
    <button type="button" onClick=${tools.addHint}>Next hint</button>
    ${tools.hasPuzzle.value && html` <button type="button" onClick=${openPuzzle}>Not enough? Put the lines in order</button>`}
  </${Panel}>`;
}

function Try({ tools, isOpen }) {
  const box = useRef(null);
  useEffect(() => {
    tools.lines = makeEditor(box.current, {
      text: tools.first,
      label: "Lines to try",
      keys: [
        { key: "Mod-Enter", run: () => (tools.run(), true) },
        { key: "Escape", run: leaveEditor },
      ],
    });
    return () => tools.lines.destroy();
  }, []);
  return html`<${Panel} name="try" label="Lines to try" isOpen=${isOpen}>
    <div class="lines" ref=${box}></div>
    <button type="button" class="run" onClick=${() => tools.run()}>Run</button>
    ${tools.isTrying.value && html` <button type="button" onClick=${tools.stop}>Stop</button>`}
    <div role="status"><${Made} of=${tools.tried.value} class="tried" /></div>
  </${Panel}>`;
}

function History({ tools, isOpen, kata }) {
  const found = tools.versions.value;
  const close = () => (tools.isAsked.value = false);
  const stub = () => {
    close();
    tools.bring("stub");
  };
  return html`<${Panel} name="history" label="Versions of the file" isOpen=${isOpen}>
    <div class="tools">
      <button type="button" onClick=${() => tools.bring("best")}>Best version</button>
      <button type="button" onClick=${tools.askStub}>Stub again</button>
    </div>
    ${found?.damaged.map((file) => html`<p key=${file}>An earlier history cannot be read; it is kept in ${file}.</p>`)}
    ${found?.versions.map((version) => html`<${Version} key=${version.number} version=${version} tools=${tools} />`)}
    ${found && !found.versions.length && html`<p class="quiet">Nothing was judged here yet.</p>`}
  </${Panel}>
  <${Dialog} isOpen=${tools.isAsked.value} close=${close} label="Bring back the stub">
    <p>Bring back the stub of ${kata}? A copy of your file is kept.</p>
    <button type="button" class="first" onClick=${stub}>Bring it back</button>
    <button type="button" onClick=${close}>Leave it</button>
  </${Dialog}>`;
}

function Version({ version, tools }) {
  const shown = useSignal("");
  const compare = async () => (shown.value = shown.value ? "" : await tools.compare(version.number));
  return html`<div class="version">
      <span class=${version.passed ? "good" : ""}>${version.passed ? "✓" : "✗"} ${version.score}</span>
      <span class="quiet">${version.when}</span>
      <button type="button" aria-expanded=${Boolean(shown.value)} onClick=${compare}>Compare</button>
      <button type="button" onClick=${() => tools.bring(String(version.number))}>Bring back</button>
    </div>
    ${shown.value && html`<${Made} of=${shown.value} />`}`;
}
