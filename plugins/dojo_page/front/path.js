// The path: all katas and how they stand, and where to go on.
import { html, useEffect, useSignal } from "./vendor/vendor.js";
import { useKeys } from "./keys.js";
import { Planned, PlanChoice, usePlan } from "./plan.js";
import { Bar, Dots, focusOn, Legend, Made, Mark, Named, stands } from "./parts.js";
import { byTrack, found } from "./search.js";

export function PathView({ app }) {
  const course = app.course.value;
  const text = useSignal("");
  const { plan, chosen } = usePlan(app);
  const following = course.following;
  const begun = course.katas.some((one) => one.mark);
  const goOn = () => following && app.goTo(`kata/${following}`);
  app.title("");
  useEffect(() => {
    app.refresh();
    focusOn(".path .first"); // so that Enter goes on
  }, []);
  useKeys([
    ["n", "Go on where you were.", goOn],
    ["/", "Search.", () => focusOn("#search")],
    ["k", "List the katas.", app.openDrawer],
    ["s", "See the decoder at work.", () => app.goTo("see")],
  ]);
  const planned = course.plans.find(({ name }) => name === plan.name)?.katas;
  const shown = found(planned ? course.katas.filter(({ name }) => planned.includes(name)) : course.katas, text.value);
  const openFirst = (event) => event.key === "Enter" && shown.length && app.goTo(`kata/${shown[0].name}`);
  const passed = course.katas.filter((one) => one.has_passed).length;
  const purposes = Object.fromEntries(course.tracks.map(({ name, purpose }) => [name, purpose]));
  return html`<main id="main" class="path" tabindex="-1">
    <h1>${course.title}</h1>
    <p class="quiet">${course.about}</p>
    <div class="progress">
      <span><strong>${passed} of ${course.katas.length}</strong> katas pass</span>
      <${Bar} part=${passed} whole=${course.katas.length} />
    </div>
    ${course.due.length > 0 &&
    html`<section class="due" aria-label="Review">
      <p>To review today: ${course.due.join(", ")}</p>
      <button type="button" onClick=${() => app.goTo("review")}>Review</button>
    </section>`}
    ${course.trouble && html`<p class="note">${course.trouble}</p>`}
    <div class="tools">
      ${following && html`<button type="button" class="first" onClick=${goOn}>${begun ? "Go on" : "Begin"}: ${following}</button>`}
      <input id="search" type="search" placeholder="Search by any of its names" aria-label="Search the katas" maxlength="100"
        onInput=${(event) => (text.value = event.target.value)} onKeyDown=${openFirst} />
      ${course.plans.length > 0 && html`<${PlanChoice} app=${app} />`}
    </div>
    ${course.reason && html`<p class="quiet why">Why ${following}: ${course.reason}.</p>`}
    <${Legend} />
    ${chosen && !text.value && html`<${Planned} chosen=${chosen} katas=${shown} row=${(one, why) => html`<${Kata} one=${one} isNext=${one.name === following} why=${why} />`} />`}
    <div class="tracks" hidden=${chosen && !text.value}>
      ${byTrack(shown).map(([track, ones]) => html`<${Track} key=${track} track=${track} ones=${ones} purpose=${purposes[track]} following=${following} />`)}
      ${!shown.length && html`<p class="quiet">No kata has that in its name, title, track or aliases.</p>`}
    </div>
  </main>`;
}

function Track({ track, ones, purpose, following }) {
  const passed = ones.filter((one) => one.has_passed).length;
  const id = `track-${track.replace(/\W/g, "-")}`;
  return html`<section class="track" aria-labelledby=${id}>
    <div class="head">
      <h2 id=${id}>${track} <small>${passed} of ${ones.length} pass</small></h2>
      ${purpose && html`<p>${purpose}</p>`}
      <${Bar} part=${passed} whole=${ones.length} />
    </div>
    <ul class="katas">
      ${ones.map((one) => html`<${Kata} key=${one.name} one=${one} isNext=${one.name === following} />`)}
    </ul>
  </section>`;
}

/** Say how far a kata is in words, or how long it takes. */
function extent(one) {
  return [stage(one), one.puzzle && "with a puzzle"].filter(Boolean).join(", ");
}

function stage(one) {
  if (one.mark === "passed") return "passes";
  if (one.mark !== "begun") return one.minutes ? `${one.minutes} min` : "";
  if (!one.score) return "begun";
  return `${one.score} of ${one.max_score}${one.has_passed ? ", passed before" : ""}${one.changed ? ", changed since" : ""}`;
}

function Kata({ one, isNext, why = "" }) {
  const needs = one.needs.length > 0 && !one.has_passed;
  return html`<li class="${one.mark || "open"} ${isNext ? "next" : ""}">
    <a href="#/kata/${one.name}">
      <${Mark} kind=${stands(one)} />
      <span class="name"><${Named} name=${one.name} /></span>
      <span class="points quiet small">${extent(one)}</span>
      <span class="what">
        <${Made} tag="span" of=${one.title} /> <${Dots} number=${one.difficulty} />
        ${why && html`<small class="quiet needs">${why}</small>`}
        ${needs && html`<small class="quiet needs">first ${one.needs.join(", ")}</small>`}
        ${one.missing && html`<small class="quiet needs">needs ${one.library === "torch" ? "PyTorch" : one.library}, which is not here</small>`}
      </span>
    </a>
  </li>`;
}
