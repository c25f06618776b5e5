// One kata: its statement, an editor for its file, and the verdict.
import { html, signal, useEffect, useRef, useSignal, useState } from "./vendor/vendor.js";
import { makeEditor } from "./editor.js";
import { Grading, reportOf } from "./grading.js";
import { useKeys } from "./keys.js";
import { focusOn, leaveEditor, Made, tell } from "./parts.js";
import { Questions } from "./questions.js";
import { keep, kept, unsaved } from "./store.js";
import { Tools, toolsOf } from "./tools.js";

const TABS = ["statement", "code", "verdict"];
const IN_EDITOR = [
  ["Escape", "Leave the editor; then Tab goes on. Inside, Tab indents."],
  ["Ctrl-Enter", "In the editor: judge at once. In Try: run the lines."],
  ["F8", "In the editor: go to the place in question."],
];

/** Ask for the kata, and show it once it is there. */
export function KataView({ app, name }) {
  const [opened, setOpened] = useState(null);
  const early = useRef([]);
  const info = app.course.value.katas.find((one) => one.name === name);
  useEffect(() => {
    let isGone = false;
    if (!info) return;
    app.onChanged = (push) => early.current.push(push); // until the kata is shown
    app.judge.ask({ kind: "open", kata: name }).then((answer) => isGone || setOpened(answer));
    return () => (isGone = true);
  }, [name]);
  app.title(name);
  if (!info) {
    return html`<main id="main" class="path" tabindex="-1"><h1>No such kata</h1><p><a href="#/">To the path</a></p></main>`;
  }
  if (!opened) return html`<${Opening} app=${app} name=${name} />`;
  if (opened.kind !== "opened") {
    return html`<main id="main" class="path" tabindex="-1"><h1>${name}</h1><p>${opened.text || opened.problem || "It cannot be opened now."}</p></main>`;
  }
  return html`<${OpenKata} key=${name} app=${app} info=${info} opened=${opened} early=${early.current} />`;
}

function Opening({ app, name }) {
  useKeys([
    ["k", "List the katas.", app.openDrawer],
    ["p", "Go to the path.", () => app.goTo("")],
  ]);
  return html`<main id="main" class="kata" tabindex="-1"><p class="loading" role="status">Opening ${name} …</p></main>`;
}

/** What belongs to one open kata, made once. */
function workOf(app, info, opened) {
  const isCode = info.kind !== "questions";
  const work = { app, info, opened, isCode, editor: null, marks: [], looked: 0, answers: signal(0), snippet: signal("") };
  work.grading = new Grading(app.judge, opened, {
    canJudge: !info.missing,
    replace(text) {
      work.editor?.replace(text);
      work.onText?.(text);
      work.answers.value++; // the form shows the answers of the file
    },
    onVerdict(verdict, text) {
      work.marks = verdict.marks;
      work.looked = 0;
      work.editor?.mark(text, verdict.marks);
      work.snippet.value = verdict.snippet;
      app.judged(info.name, verdict);
    },
  });
  work.goToPlace = () => {
    if (!work.editor || !work.marks.length) return false;
    const mark = work.marks[work.looked++ % work.marks.length];
    work.editor.reveal(mark.line);
    tell(`line ${mark.line}: ${mark.text}`);
    return true;
  };
  work.bring = async (what) => {
    const problem = await work.grading.file.bring(what);
    if (problem) tell(problem);
  };
  work.tools = toolsOf(work);
  return work;
}

function OpenKata({ app, info, opened, early }) {
  const made = useRef(null);
  made.current ??= workOf(app, info, opened);
  const work = made.current;
  const { grading, tools } = work;
  const tab = useSignal(opened.is_begun ? "code" : "statement");
  const lost = useSignal(null);
  const panes = useRef(null);

  useEffect(() => {
    app.onChanged = (push) => push.kata === info.name && grading.file.changed(push);
    early.slice(-1).forEach(app.onChanged);
    const other = unsaved.take(info.name);
    if (other !== null && other !== opened.text) lost.value = other;
    work.onText = (text) => text === lost.value && (lost.value = null); // it is here
    grading.grade();
    const warn = (event) => grading.file.unwritten.value && event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => {
      removeEventListener("beforeunload", warn);
      app.onChanged = null;
      grading.close();
      work.editor?.destroy();
    };
  }, []);

  useKeys(
    [
      ["e", "Go into the editor.", () => show("code", work.isCode ? ".editor .cm-content" : ".questions input")],
      ["h", "Show the next hint.", tools.nextHint],
      ["g", "Go to the place in question.", work.goToPlace],
      ["t", "Try some lines.", () => tools.open("try", true)],
      ["c", "Try the case that the verdict shows.", tools.tryCase],
      ["n", "Go on to the next kata that does not pass.", () => app.goOn(info.name)],
      ["[", "Go to the kata before.", () => opened.previous && app.goTo(`kata/${opened.previous}`)],
      ["]", "Go to the kata after.", () => opened.next && app.goTo(`kata/${opened.next}`)],
      ["k", "List the katas.", app.openDrawer],
      ["p", "Go to the path.", () => app.goTo("")],
      ["s", "See the decoder at work.", () => app.goTo("see")],
      ["v", "Go to the verdict.", () => show("verdict", ".result")],
      ["u", "Bring back the version with the best score.", () => work.bring("best")],
      ["x", "Bring back the stub.", tools.askStub],
    ],
    IN_EDITOR,
  );
  const show = (name, selector) => {
    tab.value = name;
    requestAnimationFrame(() => focusOn(selector));
  };
  const putIn = (text) => {
    if (work.editor) work.editor.replace(text);
    else grading.typed(text);
    work.answers.value++;
    lost.value = null;
  };
  return html`<main id="main" class="kata ${work.isCode ? "" : "of-questions"}" data-tab=${tab.value} data-panel=${tools.panel.value} ref=${panes} tabindex="-1">
    <h1 class="unseen">${info.name}</h1>
    <${Tabs} tab=${tab} grading=${grading} />
    <${Statement} info=${info} opened=${opened} />
    <${Divider} panes=${panes} />
    <section class="work" aria-label="Your file">
      <${Troubles} work=${work} />
      ${work.isCode ? html`<${CodeEditor} work=${work} />` : html`<${Questions} work=${work} />`}
      <${Tools} work=${work} />
    </section>
    <${Result} work=${work} />
    <${Lost} app=${app} work=${work} other=${lost.value} putIn=${putIn} close=${() => (lost.value = null)} />
  </main>`;
}

function Tabs({ tab, grading }) {
  const verdict = grading.verdict.value;
  return html`<div class="tabs" role="group" aria-label="What to see">
    ${TABS.map(
      (name) => html`<button type="button" key=${name} data-name=${name} aria-pressed=${tab.value === name} onClick=${() => (tab.value = name)}>
        ${name[0].toUpperCase() + name.slice(1)}
      </button>`,
    )}
    <span class="short-score">${verdict ? `${signOf(verdict)} ${verdict.score}` : ""}</span>
  </div>`;
}

const SIGNS = { passed: "✓", not_started: "·", skipped: "·", waiting: "…" };
const signOf = (verdict) => SIGNS[reportOf(verdict).status] ?? "✗";

function Statement({ info, opened }) {
  const isFolded = useSignal(Boolean(kept("folded")));
  useEffect(() => {
    document.getElementById("main").classList.toggle("folded", isFolded.value);
  }, [isFolded.value]);
  const fold = () => {
    isFolded.value = !isFolded.value;
    keep("folded", isFolded.value || null);
  };
  const about = [info.track, info.name, info.minutes && `${info.minutes} minutes`].filter(Boolean).join(" · ");
  return html`<section class="statement" aria-label="Statement" tabindex="0">
    <div class="above">
      <p class="quiet small">${about}</p>
      <nav aria-label="Neighbours">
        ${opened.previous && html`<a href="#/kata/${opened.previous}" title=${`Before: ${opened.previous}`} rel="prev">← <span class="word">Previous</span></a>`}
        ${opened.next && html`<a href="#/kata/${opened.next}" title=${`After: ${opened.next}`} rel="next"><span class="word">Next</span> →</a>`}
      </nav>
      <button type="button" data-act="fold" aria-expanded=${!isFolded.value} onClick=${fold}>
        ${isFolded.value ? "Show" : "Hide"}<span class="unseen"> the statement</span>
      </button>
    </div>
    <div class="text">
      <${Made} of=${opened.statement} />
      ${opened.waits && html`<p class="note">${opened.waits}</p>`}
    </div>
  </section>`;
}

/** The border between the statement and the code, which can be dragged. */
function Divider({ panes }) {
  const now = useSignal(kept("width"));
  const set = (percent) => {
    now.value = Math.min(Math.max(percent, 15), 65);
    keep("width", now.value);
  };
  useEffect(() => {
    if (now.value) panes.current.style.setProperty("--side", `${now.value}%`);
  }, [now.value]);
  const width = () => now.value ?? (100 * document.querySelector(".statement").offsetWidth) / panes.current.offsetWidth;
  const [shown, setShown] = useState(40);
  useEffect(() => setShown(Math.round(width())), [now.value]);
  const drag = (event) => {
    event.preventDefault();
    const move = ({ clientX }) => set((100 * (clientX - 4)) / panes.current.offsetWidth);
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  };
  const step = (event) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (by) set(width() + by);
  };
  return html`<div class="divider" role="separator" tabindex="0" aria-label="Width of the statement" aria-orientation="vertical" aria-valuenow=${shown}
    aria-valuemin="15" aria-valuemax="65" onPointerDown=${drag} onKeyDown=${step}></div>`;
}

function CodeEditor({ work }) {
  const box = useRef(null);
  useEffect(() => {
    const act = (does) => ({ run: () => (does(), true) });
    work.editor = makeEditor(box.current, {
      text: work.grading.file.text,
      label: "Your file. Tab indents; Escape, then Tab leaves.",
      onText: (text) => work.grading.typed(text),
      keys: [
        { key: "Escape", run: leaveEditor },
        { key: "Mod-Enter", ...act(() => work.grading.check()) },
        { key: "Mod-s", ...act(() => work.grading.check()), preventDefault: true },
        { key: "F8", ...act(work.goToPlace) },
      ],
    });
    work.editor.begin();
  }, []);
  return html`<div class="editor" ref=${box}></div>`;
}

/** What one has to know or to decide before the text is in the file. */
function Troubles({ work }) {
  const { file } = work.grading;
  const { conflict } = file;
  const choose = (act) => async () => {
    const problem = await act();
    if (typeof problem === "string" && problem) tell(problem);
    else work.grading.grade();
  };
  const gone = `${file.name} was deleted by another program. Your text is kept here.`;
  const told = file.unwritten.value ? `${file.problem.value} Your text is kept here, and is written as soon as that works.` : file.isGone.value ? gone : file.problem.value;
  return html`
    <div class="note conflict" role="alert" hidden=${!conflict.value}>
      <p>The file was changed elsewhere while you typed here. With − what the file holds, with + what is here:</p>
      ${conflict.value && html`<${Made} of=${conflict.value.difference} class="differs" tabindex="0" />`}
      <button type="button" onClick=${choose(() => file.takeTheirs())}>Take the file</button>
      <button type="button" onClick=${choose(() => file.keepMine())}>Keep what is here</button>
      <span class="quiet small">A copy of the other one is kept in .dojo/replaced.</span>
    </div>
    <div class="note problem" role="alert" hidden=${!told}>
      <span>${told}</span>
      ${file.isGone.value && !file.unwritten.value && html` <button type="button" onClick=${() => work.grading.check()}>Write it again</button>`}
    </div>
    ${work.info.missing && html`<p class="note missing">${missing(work.info)}</p>`}`;
}

const LIBRARIES = { torch: "PyTorch", numpy: "NumPy" };

/** Say what a kata needs that is not there, and how to install it. */
export function missing(info) {
  const parts = info.missing.split("`");
  return html`This kata is judged with ${LIBRARIES[info.library] ?? info.library}, which is not installed here.${" "}
    ${parts.length > 1 ? parts.map((part, at) => (at % 2 ? html`<code>${part}</code>` : part)) : html`Install it: <code>${info.missing}</code>`}`;
}

function Result({ work }) {
  const { grading, info } = work;
  const verdict = grading.verdict.value;
  const unreadable = grading.file.unwritten.value ? "" : grading.file.problem.value;
  let shown = html`<p class="quiet">Judging …</p>`;
  if (verdict) shown = html`<${Made} of=${verdict.html} />`;
  else if (info.missing) shown = html`<p class="quiet">There is no verdict here without ${LIBRARIES[info.library] ?? info.library}.</p>`;
  else if (unreadable) shown = html`<div class="verdict error"><p class="score"><span class="mark bad">✗</span> not judged</p><p class="cause">${unreadable}</p></div>`;
  const isStale = verdict ? grading.isStale.value : grading.canJudge && !unreadable;
  return html`<section class="result" aria-label="Verdict" tabindex="0">
    <div class="shown ${isStale ? "stale" : ""}" aria-live="polite">${shown}</div>
    ${verdict?.has_solution && !isStale && html`<${Solution} work=${work} />`}
  </section>`;
}

/** After a pass: how the course and others write it. */
function Solution({ work }) {
  const shown = useSignal("");
  const show = async () => {
    if (shown.value) return (shown.value = "");
    const answer = await work.app.judge.ask({ kind: "solution", kata: work.info.name });
    if (answer.kind === "solution") shown.value = answer.html;
    else tell(answer.text || answer.problem || "It cannot be shown now.");
  };
  return html`<button type="button" aria-expanded=${Boolean(shown.value)} onClick=${show}>${shown.value ? "Hide" : "Show"} the reference</button>
    ${shown.value && html`<${Made} of=${shown.value} class="solution" />`}`;
}

const PATIENCE = 5000; // milliseconds without a connection before it is said

/** What was typed and is in no file: while there is no server, or after the page was loaded again. */
function Lost({ app, work, other, putIn, close }) {
  const [isLate, setLate] = useState(false);
  const [text, setText] = useState("");
  const isLost = app.judge.state.value === "lost";
  useEffect(() => {
    if (!isLost) return setLate(false);
    const late = setTimeout(() => setLate(true), PATIENCE);
    const look = setInterval(() => setText(work.grading.file.text), 500);
    return () => {
      clearTimeout(late);
      clearInterval(look);
    };
  }, [isLost]);
  const area = useRef(null);
  const copy = () => {
    area.current.select();
    navigator.clipboard?.writeText(area.current.value).catch(() => document.execCommand("copy"));
  };
  const isShown = other !== null || isLate;
  if (!isShown) return null;
  return html`<div id="lost" class="note" role="alertdialog" aria-labelledby="lost-why">
    <h2 id="lost-why">${other === null ? app.judge.lost.title : "This tab had another text"}</h2>
    ${other === null && html`<p>${app.judge.lost.advice}</p>`}
    <p>What you typed last may not be in the file. Your text:</p>
    <textarea readonly rows="12" aria-label="Your text" ref=${area} value=${other ?? text}></textarea>
    <button type="button" class="first" onClick=${copy}>Copy it</button>
    ${other !== null && html`<button type="button" onClick=${() => putIn(other)}>Put it into the editor</button><button type="button" onClick=${close}>Close</button>`}
  </div>`;
}
