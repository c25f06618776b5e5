// A page of questions as a form: each constant of the file, the text above it, and a field for its value. An answer is in the
// file as soon as it is a value; the page is judged as a whole.
import { html, useEffect, useRef, useSignal } from "./vendor/vendor.js";
import { reportOf } from "./grading.js";
import { worded } from "./parts.js";
import { half } from "./store.js";

const WRONG = ["failed", "error", "timeout"];
const MARKS = { "✓": "good", "✗": "bad" };

export function Questions({ work }) {
  const { app, info, grading } = work;
  const fields = useSignal(null);
  const typed = useSignal(half.of(info.name)); // by constant: what is not in the file yet, and is kept in this browser
  const refused = useSignal({}); // by constant: why
  const touched = useSignal([]); // constants that were changed after the verdict
  const turn = useRef(Promise.resolve()); // one value after another, since each changes the text
  const ask = (request) => app.judge.ask({ kata: info.name, text: grading.file.text, ...request });
  const read = async () => {
    const answer = await ask({ kind: "fields" });
    if (answer.kind === "fields") fields.value = answer;
  };
  useEffect(() => void read(), [work.answers.value]);
  useEffect(() => {
    for (const [name, value] of Object.entries(typed.value)) fill(name, value);
  }, []);
  useEffect(() => (touched.value = []), [grading.verdict.value]);

  const write = (name, value) => {
    touched.value = [...touched.value, name];
    typed.value = { ...typed.value, [name]: value };
    half.keep(info.name, typed.value); // before it is read, since the page may be left now
    turn.current = turn.current.then(() => fill(name, value));
  };
  const fill = async (name, value) => {
    const answer = await ask({ kind: "fill", name, value });
    const { [name]: _, ...wrong } = refused.value;
    const isValue = answer.kind === "filled";
    refused.value = isValue ? wrong : { ...wrong, [name]: answer.text || "This could not be read." };
    if (!isValue) return;
    if (answer.text !== grading.file.text) {
      grading.typed(answer.text, { isJudged: false });
      await read();
    }
    const { [name]: last, ...others } = typed.value;
    if (last !== value) return; // another one was typed since
    typed.value = others;
    half.keep(info.name, others);
  };
  const check = async () => {
    await turn.current;
    const wrong = fields.value?.questions.find(({ name }) => name in refused.value);
    if (wrong) document.getElementById(`answer-${wrong.name}`).focus();
    else grading.check();
  };
  const checks = grading.verdict.value ? Object.fromEntries((reportOf(grading.verdict.value).checks ?? []).map((one) => [one.name, one])) : {};
  const markOf = ({ name, value }) => {
    const status = touched.value.includes(name) ? "" : checks[name.toLowerCase()]?.status;
    if (status === "passed") return "✓ right";
    return WRONG.includes(status) ? (value ? "✗ wrong" : "no answer") : "";
  };
  return html`<div class="questions" role="form" aria-label="Questions">
    ${fields.value?.row && html`<p class="note">${fields.value.row}</p>`}
    ${fields.value?.questions.map(
      (one) => html`<${Field} key=${one.name} one=${one} typed=${typed.value[one.name]} wrong=${refused.value[one.name]} mark=${markOf(one)} write=${write} check=${check} />`,
    )}
    <div class="check"><button type="button" class="first" onClick=${check}>Check this page</button></div>
  </div>`;
}

function Field({ one, typed, wrong, mark, write, check }) {
  const { name } = one;
  const field = useRef(null);
  useEffect(() => {
    const value = typed ?? one.value;
    if (document.activeElement !== field.current && field.current.value !== value) field.current.value = value;
  });
  return html`<label for="answer-${name}">${worded(one.text || name)}</label>
    <div>
      <code>${name}</code>
      <input id="answer-${name}" ref=${field} autocomplete="off" spellcheck=${false} autocapitalize="off" maxlength="10000" aria-invalid=${Boolean(wrong)}
        aria-describedby=${wrong ? `wrong-${name}` : null} onInput=${(event) => write(name, event.target.value)} onKeyDown=${(event) => event.key === "Enter" && check()} />
      <span class="mark ${MARKS[mark[0]] ?? ""}">${mark}</span>
    </div>
    ${wrong && html`<p class="wrong" id="wrong-${name}">${wrong}</p>`}`;
}
