// An editor for Python: CodeMirror with what the course needs.
import {
  autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, codeFolding, Compartment, completionKeymap, Decoration,
  defaultKeymap, drawSelection, EditorState, EditorView, foldEffect, foldGutter, foldKeymap, HighlightStyle, highlightActiveLine,
  highlightActiveLineGutter, highlightSelectionMatches, highlightSpecialChars, history, historyKeymap, hoverTooltip,
  indentOnInput, indentUnit, indentWithTab, isolateHistory, keymap, lineNumbers, Prec, python, rectangularSelection,
  searchKeymap, StateEffect, StateField, syntaxHighlighting, tags,
} from "./vendor/vendor.js";
import { hanging, tell } from "./parts.js";

const LONGEST_TEXT = 1 << 17; // characters, as in protocol.py
const narrow = matchMedia("(max-width: 48rem)");

const colour = (name) => ({ color: `var(--code-${name})` });
const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], ...colour("keyword") },
  { tag: [tags.string, tags.special(tags.string)], ...colour("string") },
  { tag: [tags.number, tags.bool, tags.null], ...colour("number") },
  { tag: [tags.comment, tags.meta], ...colour("comment") },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], ...colour("name") },
]);

// --- what is underlined ---
const setMarks = StateEffect.define();
const marksField = StateField.define({
  create: () => Decoration.none,
  update(found, change) {
    found = found.map(change.changes);
    for (const effect of change.effects) if (effect.is(setMarks)) found = effect.value;
    return found;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Return the range of a mark in a text; null where the text has no such line. */
function rangeOf(doc, { line: number, columns: [start, end] }) {
  if (number < 1 || number > doc.lines) return null;
  const line = doc.line(number);
  if (!line.text.trim()) return null;
  end = Math.min(end, line.length);
  if (start >= end) [start, end] = [line.text.search(/\S/), line.text.trimEnd().length];
  return { from: line.from + start, to: line.from + end };
}

const explained = hoverTooltip((view, at) => {
  let found = null;
  const line = view.state.doc.lineAt(at);
  view.state.field(marksField).between(line.from, line.to, (from, to, mark) => {
    if (from <= at && at <= to) found = { pos: from, end: to, text: mark.spec.told };
  });
  return found && { pos: found.pos, end: found.end, create: () => ({ dom: Object.assign(document.createElement("div"), { textContent: found.text, className: "explained" }) }) };
});

// --- Tab ---
// Who comes by Tab goes on by Tab, until something else is pressed: the way through a page alters no file.
let cameByTab = false;
addEventListener("keydown", (event) => (cameByTab = event.key === "Tab"), true);
addEventListener("pointerdown", () => (cameByTab = false), true);
const tabbing = EditorView.domEventHandlers({
  focus: (_, view) => view.setTabFocusMode(cameByTab),
  pointerdown: (_, view) => view.setTabFocusMode(false),
  keydown: (event, view) => {
    if (!["Tab", "Shift"].includes(event.key)) view.setTabFocusMode(false);
  },
});

const refusing = EditorState.transactionFilter.of((change) => {
  if (!change.docChanged || change.newDoc.length <= Math.max(LONGEST_TEXT, change.startState.doc.length)) return change;
  queueMicrotask(() => tell(`Not pasted: a file here has at most ${LONGEST_TEXT} characters.`));
  return [];
});

// --- folding ---
const DOCSTRING = /^(?:\s|#[^\n]*\n)*[rR]?("""|''')/;
const FOLDED = " The statement stands beside ";
const folding = codeFolding({
  preparePlaceholder: (state, range) => (state.sliceDoc(0, range.from).trim().length < 5 ? FOLDED : "…"),
  placeholderDOM: (_, unfold, words) =>
    Object.assign(document.createElement("span"), { className: "cm-foldPlaceholder", textContent: words, onclick: unfold }),
});

/** Return the range of the docstring of a module that has several lines. */
function docstring(text) {
  const begin = DOCSTRING.exec(text);
  const end = begin ? text.indexOf(begin[1], begin[0].length) : -1;
  return end > 0 && text.slice(begin[0].length, end).includes("\n") ? { from: begin[0].length, to: end } : null;
}

/** Return the range of the docstring of the function between two places, after its first line. */
function docstringIn(text, begin, end) {
  const opens = /:\s*\n\s+[rR]?("""|''')[^\n]*/.exec(text.slice(begin, end));
  const from = opens ? begin + opens.index + opens[0].length : -1;
  const to = opens ? text.indexOf(opens[1], from) : -1;
  return from < to && to < end ? { from, to } : null;
}

/** Return where the work begins in a text, and where the function begins that it belongs to. */
function workplace(text) {
  const open = /^( *)(raise NotImplementedError|\.\.\.$)/m.exec(text);
  const caret = open ? open.index + open[1].length : text.trimEnd().length;
  const starts = [...text.slice(0, caret).matchAll(/^ *(?:def|class) /gm)];
  return { caret, begin: starts.at(-1)?.index ?? 0 };
}

const EDGE = "6px"; // the padding of a line in CodeMirror
const indenting = EditorView.decorations.compute(["doc"], ({ doc }) => {
  const lines = Array.from({ length: doc.lines }, (_, at) => doc.line(at + 1));
  return Decoration.set(lines.map(({ text, from }) => Decoration.line({ attributes: { style: hanging(text, EDGE) } }).range(from)));
});

/**
 * @param {HTMLElement} parent
 * @param {{text: string, label: string, onText?: (text: string) => void, keys?: object[]}} options
 */
export function makeEditor(parent, { text, label, onText = () => {}, keys = [] }) {
  const wrapping = new Compartment();
  const wrapped = () => (narrow.matches ? [EditorView.lineWrapping, indenting] : []);
  const view = new EditorView({
    parent,
    doc: text,
    extensions: [
      Prec.high(keymap.of(keys.filter(({ key }) => key !== "Escape"))),
      lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history({ minDepth: 1000 }), foldGutter(),
      drawSelection(), EditorState.allowMultipleSelections.of(true), indentOnInput(), syntaxHighlighting(highlighting),
      bracketMatching(), closeBrackets(), autocompletion(), rectangularSelection(), highlightActiveLine(),
      highlightSelectionMatches(), indentUnit.of("    "), EditorState.tabSize.of(4), python(), folding,
      marksField, explained, tabbing, refusing, wrapping.of(wrapped()),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of((update) => update.docChanged && onText(update.state.doc.toString())),
      keymap.of([
        ...closeBracketsKeymap, ...searchKeymap, ...completionKeymap,
        ...keys.filter(({ key }) => key === "Escape"), // after what else Escape closes
        ...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab,
      ]),
    ],
  });
  const rewrap = () => view.dispatch({ effects: wrapping.reconfigure(wrapped()) });
  narrow.addEventListener("change", rewrap);
  view.scrollDOM.tabIndex = 0; // so that the keyboard can scroll it

  return {
    view,
    get text() {
      return view.state.doc.toString();
    },

    /** Take another text as one step that can be undone; what is the same at both ends stays, and the caret with it. */
    replace(next) {
      const now = view.state.doc.toString();
      const most = Math.min(now.length, next.length);
      let from = 0;
      let end = 0;
      while (from < most && now[from] === next[from]) from++;
      while (end < most - from && now.at(-1 - end) === next.at(-1 - end)) end++;
      view.dispatch({
        changes: { from, to: now.length - end, insert: next.slice(from, next.length - end) },
        annotations: isolateHistory.of("full"),
      });
    },

    /** Underline places of a text, if it is the one that is here. */
    mark(judged, marks) {
      if (view.state.doc.toString() !== judged) return;
      const ranges = marks.flatMap((mark) => {
        const range = rangeOf(view.state.doc, mark);
        return range ? [Decoration.mark({ class: "in-question", told: mark.text }).range(range.from, range.to)] : [];
      });
      view.dispatch({ effects: setMarks.of(Decoration.set(ranges, true)) });
    },

    /** Show a line, and put the caret at its begin. */
    reveal(number) {
      const line = view.state.doc.line(Math.min(number, view.state.doc.lines));
      view.dispatch({
        selection: { anchor: line.from + Math.max(0, line.text.search(/\S/)) },
        effects: EditorView.scrollIntoView(line.from, { y: "nearest", yMargin: 60 }),
      });
    },

    /** Fold the docstring of the module, put the caret where the work begins, and show the function around it. */
    begin() {
      const fold = docstring(text);
      const { caret, begin } = workplace(text);
      view.dispatch({ selection: { anchor: caret }, effects: fold ? [foldEffect.of(fold)] : [] });
      let isFirst = true;
      const follow = () => {
        const height = view.scrollDOM.clientHeight;
        if (!height) return;
        if (isFirst) requestAnimationFrame(() => requestAnimationFrame(() => open(height))); // once the lines have their heights
        else view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main.head, { y: "nearest", yMargin: Math.min(60, height / 3) }) });
        isFirst = false;
      };
      const open = (height) => {
        const room = (2 * height) / 3; // what is written goes below it
        const bottom = () => view.lineBlockAt(caret).bottom;
        const fits = () => bottom() - view.lineBlockAt(begin).top < room;
        const inner = fits() ? null : docstringIn(text, begin, caret);
        if (inner) view.dispatch({ effects: foldEffect.of(inner) });
        requestAnimationFrame(() => {
          if (bottom() < room) return;
          const [at, yMargin] = fits() ? [begin, 8] : [caret, height / 4];
          view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start", yMargin }) });
        });
      };
      new ResizeObserver(follow).observe(view.dom); // the caret stays in sight when a panel opens
    },

    focus: () => view.focus(),
    destroy() {
      narrow.removeEventListener("change", rewrap);
      view.destroy();
    },
  };
}
