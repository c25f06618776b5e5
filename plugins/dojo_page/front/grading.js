// One open kata: its file is saved and judged 0.3 seconds after the last key, and what runs can be stopped.
import { signal } from "./vendor/vendor.js";
import { TextFile } from "./file.js";
import { tell } from "./parts.js";

const PAUSE = 300; // milliseconds after the last key, before a text is saved and judged
const QUIET = 1500; // after the last key, before a syntax error is shown
const REST = 300; // before a text is judged again that was dropped for another kata

export class Grading {
  /** `replace` puts another text into the editor, `onVerdict` gets each verdict with the text that it is on. */
  constructor(judge, opened, { replace, onVerdict, canJudge }) {
    Object.assign(this, { judge, kata: opened.kata, onVerdict, canJudge });
    this.verdict = signal(null);
    this.isStale = signal(true); // the verdict is on another text, or there is none
    this.status = signal({ text: "", since: 0 }); // what is done now; `since` when, if it can be stopped
    this.nextHint = signal(opened.next_hint);
    this.asked = 0; // the number of the grading whose verdicts are shown
    this.typedAt = -Infinity;
    this.file = new TextFile(judge, opened, replace, () => this.grade());
    this.file.onRetry = () => this.check();
    this.file.onReopened = () => {
      if (this.isStale.value || !this.file.isSaved) this.check();
    };
  }

  say(text, isWork = false) {
    this.status.value = { text, since: isWork ? Date.now() : 0 };
  }

  /** Take what was typed. A form is judged when that is asked for, but for the first time. */
  typed(text, { isJudged = true } = {}) {
    if (text === this.file.text) return;
    this.file.take(text);
    this.typedAt = performance.now();
    this.isStale.value = true;
    this.asked++; // what is being judged is another text
    this.say("Saving …");
    clearTimeout(this.pause);
    this.pause = setTimeout(() => (isJudged || !this.verdict.value ? this.check() : this.save()), PAUSE);
  }

  async save() {
    clearTimeout(this.pause);
    const isSaved = await this.file.save();
    this.say(isSaved ? "Saved." : this.judge.state.value === "open" ? "Not saved." : `Not saved: ${this.judge.lost.sign}.`);
    return isSaved;
  }

  async check() {
    if (await this.save()) await this.grade();
  }

  async grade() {
    if (!this.canJudge) return this.say("");
    if (this.file.problem.value && !this.file.unwritten.value) return this.say("Not judged.");
    const asked = ++this.asked;
    const { text } = this.file;
    this.isStale.value = true;
    this.say("Judging …", true);
    const last = await this.judge.ask({ kind: "grade", kata: this.kata, text }, async (answer) => {
      if (answer.kind !== "verdict") return;
      if (reportOf(answer).excerpt) await new Promise((done) => setTimeout(done, this.typedAt + QUIET - performance.now()));
      if (asked === this.asked) this.show(answer, text);
    });
    if (asked !== this.asked || last.kind === "verdict") return;
    const problem = last.problem || last.text;
    if (problem) {
      tell(problem);
      this.say("Not judged.");
    } else if (!last.is_lost) {
      await new Promise((done) => setTimeout(done, REST));
      if (asked === this.asked) await this.grade();
    }
  }

  show(verdict, text) {
    this.verdict.value = verdict;
    this.isStale.value = false;
    this.nextHint.value = verdict.next_hint;
    const isSaved = this.file.isSaved ? "Saved." : "Not saved.";
    if (verdict.is_searching) this.say("Searching for the place …", true);
    else this.say(reportOf(verdict).checks?.length ? `${isSaved} Judged in ${verdict.seconds.toFixed(2)} s.` : isSaved);
    this.onVerdict(verdict, text);
  }

  /** End the judging, or the search after it, whose verdict then comes at once. */
  stop() {
    if (this.isStale.value) {
      this.asked++;
      this.say("Stopped. The next change is judged again.");
    }
    this.judge.ask({ kind: "stop" });
  }

  close() {
    clearTimeout(this.pause);
    this.asked++;
    if (!this.file.isSaved) this.file.save();
    this.file.close();
  }
}

/** Return the report on the kata that a verdict is on. */
export const reportOf = ({ report }) => report.katas?.[0] ?? report;
