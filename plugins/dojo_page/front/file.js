// The file of a kata: what is typed goes into it, and what other programs write to it comes here. The digest of what the file
// held when both last agreed is kept on this side, so another judge, or the same one after a restart, can go on.
import { effect, signal } from "./vendor/vendor.js";
import { unsaved } from "./store.js";

const RETRY = 2000; // milliseconds between two attempts to write the file

export class TextFile {
  /**
   * @param {import("./judge.js").Judge} judge
   * @param {object} opened   the answer to `open`
   * @param {(text: string) => void} replace   puts another text into the editor
   * @param {() => void} onTaken   is called after a text that is in the file has come from elsewhere
   */
  constructor(judge, opened, replace, onTaken) {
    Object.assign(this, { judge, kata: opened.kata, name: opened.file.split("/").pop(), replace, onTaken });
    this.text = this.written = opened.text; // what is here, and what was in the file when both last agreed
    this.base = opened.digest; // of the file then
    this.problem = signal(opened.problem); // why the text is not in the file
    this.unwritten = signal(false); // true while an attempt to write it has failed
    this.isGone = signal(false);
    this.conflict = signal(null); // the answer, while one has to choose
    this.turn = Promise.resolve(); // after which the next thing may be done with the file
    this.waiting = 0; // how many things are being done with it, or wait
    this.isClosed = false;
    let wasLost = false;
    this.release = effect(() => {
      if (judge.state.value === "lost") wasLost = true;
      else if (judge.state.value === "open" && wasLost) {
        wasLost = false;
        queueMicrotask(() => this.reopen());
      }
    });
    addEventListener("pagehide", this.leave);
  }

  get isSaved() {
    return this.text === this.written && !this.isGone.value;
  }

  /** Keep the text in the browser if it is not in the file. */
  keep() {
    if (this.text !== this.written) unsaved.keep(this.kata, this.text);
  }

  /** The tab is being left: send what is typed, and keep it in case that does not arrive. */
  leave = () => {
    this.keep();
    if (this.text !== this.written && !this.conflict.value) this.ask({ kind: "save", text: this.text, base: this.base, over: false });
  };

  take(text) {
    this.text = text;
    if (this.judge.state.value === "lost") this.keep();
  }

  /** Do one thing after another with the file: what is known of it stays true until the answer has been noted. */
  async alone(work) {
    const before = this.turn;
    let end = null;
    this.turn = new Promise((resolve) => (end = resolve));
    this.waiting++;
    await before;
    try {
      return await work();
    } finally {
      this.waiting--;
      end();
    }
  }

  ask(request) {
    return this.judge.ask({ kata: this.kata, ...request });
  }

  /** Write the text, and return whether what is here is in the file now. */
  save({ over = false } = {}) {
    return this.alone(() => this.write(over));
  }

  async write(over = false) {
    if (this.conflict.value && !over) return false;
    if (this.isSaved && !over) return true;
    const text = this.text;
    const answer = await this.ask({ kind: "save", text, base: this.base, over });
    clearTimeout(this.retry);
    if (answer.kind === "saved") {
      this.agree(text, answer.digest);
    } else if (answer.kind === "conflict" && answer.text === this.text) {
      this.agree(this.text, answer.digest);
    } else if (answer.kind === "conflict") {
      this.conflict.value = answer;
    } else if (answer.text || answer.problem) {
      this.problem.value = answer.text || answer.problem;
      this.unwritten.value = true;
      if (!this.isClosed) this.retry = setTimeout(() => this.onRetry?.(), RETRY);
    }
    return this.isSaved;
  }

  /** Note that this text is in the file. */
  agree(text, digest) {
    this.written = text;
    this.base = digest;
    this.problem.value = "";
    this.unwritten.value = this.isGone.value = false;
    this.conflict.value = null;
    unsaved.take(this.kata);
  }

  /** Take what another program has written to the file; the answer to what is being asked is newer than that. */
  async changed(push) {
    if (!this.waiting) await this.alone(() => this.found(push));
  }

  /** Take how the file is, unless something else was typed here: then one has to choose. */
  async found({ text, digest, is_gone, problem }) {
    if (this.conflict.value) return;
    this.isGone.value = Boolean(is_gone);
    if (is_gone) {
      this.base = digest;
      return;
    }
    if (!this.unwritten.value || problem) this.problem.value = problem;
    if (problem || digest === this.base) return;
    if (text === this.text) this.agree(text, digest);
    else if (this.text === this.written) this.accept(text, digest);
    else await this.write();
  }

  accept(text, digest) {
    this.agree(text, digest);
    this.text = text;
    this.replace(text);
    this.onTaken();
  }

  /** Ask for the file again, since the judge did not tell of it for a while, and write what was typed meanwhile. */
  async reopen() {
    await this.alone(async () => {
      const answer = await this.ask({ kind: "open" });
      if (answer.kind !== "opened") return;
      await this.found({ ...answer, is_gone: !answer.digest && Boolean(this.base) && !answer.problem });
    });
    this.onReopened?.();
  }

  /** After a conflict: take what the file holds, and keep a copy of what is here. Returns why not, or "". */
  takeTheirs() {
    return this.alone(async () => {
      if (!this.conflict.value) return "";
      const answer = await this.ask({ kind: "keep", text: this.text });
      if (answer.kind !== "kept") return answer.text || answer.problem || "";
      const now = await this.ask({ kind: "open" }); // it may have been changed again
      const { text, digest } = now.kind === "opened" && !now.problem ? now : this.conflict.value;
      this.accept(text, digest);
      return "";
    });
  }

  /** After a conflict: write what is here over it; the judge keeps a copy of what the file held. */
  keepMine() {
    return this.save({ over: true });
  }

  /** Write another version to the file. Returns why not, or "". */
  bring(what) {
    return this.alone(async () => {
      const before = this.text;
      const answer = await this.ask({ kind: "bring", what, text: before });
      if (answer.kind !== "brought") return answer.text || answer.problem || "";
      if (this.text === before) this.accept(answer.text, answer.digest);
      else await this.write(); // more was typed meanwhile, so one has to choose
      return "";
    });
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.retry);
    this.release();
    removeEventListener("pagehide", this.leave);
    this.judge.ask({ kind: "close", kata: this.kata });
  }
}
