// The plans on the path: choose one and how many hours there are, and show what fits.
import { html, useEffect, useSignal } from "./vendor/vendor.js";

const HOURS = [1, 2, 4, 8, 16];

/** Return the plan that is chosen, and what the judge says fits into its hours, null until it has answered. */
export function usePlan(app) {
  const chosen = useSignal(null);
  const plan = app.plan.value;
  useEffect(() => {
    chosen.value = null;
    if (!plan.name) return;
    let isOld = false;
    app.judge.ask({ kind: "choose", plan: plan.name, hours: plan.hours }).then((answer) => {
      if (!isOld) chosen.value = answer.kind === "chosen" ? answer : { told: answer.text || answer.problem || "", steps: [], notes: [] };
    });
    return () => (isOld = true);
  }, [plan]);
  return { plan, chosen: chosen.value };
}

export function PlanChoice({ app }) {
  const { plans } = app.course.value;
  const { name, hours } = app.plan.value;
  const whole = plans.find((one) => one.name === name)?.hours ?? 0;
  const counted = (number) => `${number} ${number === 1 ? "hour" : "hours"}`;
  return html`<select aria-label="Plan" value=${name} onChange=${(event) => (app.plan.value = { name: event.target.value, hours: 0 })}>
      <option value="">all katas</option>
      ${plans.map((one) => html`<option key=${one.name} value=${one.name}>plan ${one.name}${one.about && `: ${one.about}`}</option>`)}
    </select>
    ${name &&
    html`<select aria-label="Hours" value=${String(hours)} onChange=${(event) => (app.plan.value = { name, hours: Number(event.target.value) })}>
      <option value="0">all ${counted(whole)}</option>
      ${HOURS.filter((number) => number < whole).map((number) => html`<option key=${number} value=${String(number)}>in ${counted(number)}</option>`)}
    </select>`}`;
}

/** Show the katas of a choice in their order, each by `row`, and what is said of those that were left out. */
export function Planned({ chosen, katas, row }) {
  const byName = new Map(katas.map((one) => [one.name, one]));
  const shown = chosen.steps.filter(({ kata }) => byName.has(kata));
  return html`<section class="planned" aria-label="Plan">
    <p role="status">${chosen.told}</p>
    <ol class="katas">
      ${shown.map(({ kata, why }) => row(byName.get(kata), why))}
    </ol>
    ${chosen.notes.map((note) => html`<p key=${note} class="quiet">${note}</p>`)}
  </section>`;
}
