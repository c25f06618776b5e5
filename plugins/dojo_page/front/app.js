// The page: it says hello to its judge, and shows the view that the address names after `#/`.
import { html, render, signal, useEffect, useSignal } from "./vendor/vendor.js";
import { Drawer } from "./drawer.js";
import { FilesDialog } from "./files.js";
import { connect } from "./judge.js";
import { reportOf } from "./grading.js";
import { KataView } from "./kata.js";
import { KeysDialog, showKeys } from "./keys.js";
import { Notices, points } from "./parts.js";
import { PathView } from "./path.js";
import { PuzzleView } from "./puzzle.js";
import { ReviewView } from "./review.js";
import { SeeView } from "./see.js";
import { SpeakView } from "./speak.js";
import { chooseColours, COLOURS, colours } from "./store.js";

const VIEWS = { "": PathView, kata: KataView, puzzle: PuzzleView, review: ReviewView, see: SeeView, speak: SpeakView };
const place = signal(readPlace());

function readPlace() {
  const [view, name = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { view, name };
}

const judge = await connect();

/** What all views share. */
const app = {
  judge,
  course: signal(null),
  isDrawerOpen: signal(false),
  isFilesOpen: signal(false),
  plan: signal({ name: "", hours: 0 }), // the one that the path shows; 0 hours are all of it
  onChanged: null, // set by the view of a kata: gets what other programs write to its file
  goTo: (path) => (location.hash = `#/${path}`),
  openDrawer: () => (app.isDrawerOpen.value = true),

  title(name) {
    const { title } = app.course.value;
    document.title = name ? `${name} · ${title}` : title;
  },

  async refresh() {
    const answer = await judge.ask({ kind: "hello" });
    if (answer.kind === "course") app.course.value = answer;
    else if (answer.kind === "problem") app.trouble.value = answer.text;
  },
  trouble: signal(""),

  /** Note how a kata stands after a verdict, so that lists are right without asking again. */
  judged(name, verdict) {
    const report = reportOf(verdict);
    const katas = app.course.value.katas.map((one) => {
      if (one.name !== name) return one;
      const isPassed = report.status === "passed";
      const mark = isPassed ? "passed" : report.status === "not_started" ? "" : "begun";
      return { ...one, mark, has_passed: one.has_passed || isPassed, changed: false, score: points(report.score) };
    });
    app.course.value = { ...app.course.value, katas };
  },

  /** Note that the puzzle of a kata was shown. */
  puzzled(name) {
    const katas = app.course.value.katas.map((one) => (one.name === name ? { ...one, puzzle: true } : one));
    app.course.value = { ...app.course.value, katas };
  },

  /** Note that a kata is not due any more. */
  reviewed(name) {
    app.course.value = { ...app.course.value, due: app.course.value.due.filter((other) => other !== name) };
  },

  /** Go to the kata that is chosen after this one, or to the path. */
  async goOn(name) {
    const answer = await judge.ask({ kind: "hello", after: name });
    if (answer.kind === "course") app.goTo(answer.following ? `kata/${answer.following}` : "");
  },
};

judge.onPush = (push) => push.kind === "changed" && app.onChanged?.(push);
judge.state.subscribe((state) => {
  // After a break the text that was typed comes first; a kata needs no news of the others.
  if (state === "open" && (!app.course.value || place.value.view === "")) app.refresh();
});
addEventListener("hashchange", () => {
  place.value = readPlace();
  app.isDrawerOpen.value = false;
});

function Page() {
  const course = app.course.value;
  const { view, name } = place.value;
  const isFirst = useSignal(true);
  useEffect(() => {
    if (!course) return;
    if (!isFirst.value) document.getElementById("main")?.focus({ preventScroll: true });
    isFirst.value = false;
    scrollTo(0, 0);
  }, [view, name, Boolean(course)]);
  if (!course) {
    return html`<main id="first" class="path" tabindex="-1"><h1>Decoder Dojo</h1><p role="status">${app.trouble.value || judge.progress.value || (judge.state.value === "lost" ? `${judge.lost.title}. ${judge.lost.advice}` : "Opening the course …")}</p></main>`;
  }
  const View = VIEWS[view] ?? Nowhere;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Top} view=${view} course=${course} />
    <${View} key=${`${view}/${["kata", "puzzle"].includes(view) ? name : ""}`} app=${app} name=${name} />
    <${Notices} />
    <${Drawer} app=${app} now=${view === "kata" ? name : ""} />
    <${FilesDialog} app=${app} />
    <${KeysDialog} />`;
}

function skip(event) {
  event.preventDefault(); // the address names the view
  document.getElementById("main").focus();
}

function Nowhere() {
  app.title("");
  return html`<main id="main" class="path" tabindex="-1"><h1>No such page</h1><p><a href="#/">To the path</a></p></main>`;
}

function Top({ view, course }) {
  const can = (what) => course.can.includes(what);
  const link = (name, label, isHere = view === name) => html`<a href="#/${name}" aria-current=${isHere ? "page" : null}>${label}</a>`;
  return html`<header class="top">
    <nav aria-label="Course">
      <a href="#/" class="home" aria-current=${view === "" ? "page" : null}><span>${course.title}</span></a>
      <button type="button" class="plain" aria-haspopup="dialog" aria-current=${view === "kata" ? "true" : null} onClick=${app.openDrawer}>Katas</button>
      ${can("see") && link("see", "See")} ${can("speak") && link("speak", "Speak")}
      ${course.due.length > 0 && can("review") && link("review", "Review")}
      <span class="room"></span>
      ${judge.state.value === "lost" && html`<span class="lost-sign" role="status">${judge.lost.sign}</span>`}
      ${can("zip") && html`<button type="button" class="plain" onClick=${() => (app.isFilesOpen.value = true)}>Files</button>`}
      <${Colours} />
      <button type="button" class="plain keys-button" onClick=${showKeys}>? keys</button>
    </nav>
  </header>`;
}

const SIGNS = { system: "◐", light: "☀", dark: "☾" };

function Colours() {
  const now = colours.value;
  const next = COLOURS[(COLOURS.indexOf(now) + 1) % COLOURS.length];
  const words = `Colours: ${now === "system" ? "as the system" : now}. Press for ${next === "system" ? "the system's" : next}.`;
  return html`<button type="button" class="plain colours" aria-label=${words} title=${words} onClick=${() => chooseColours(next)}>${SIGNS[now]}</button>`;
}

const root = document.getElementById("page");
root.replaceChildren();
render(html`<${Page} />`, root);
