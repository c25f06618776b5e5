// All that the page takes from others. `make vendor` makes vendor.js of it.
export { render } from "preact";
export { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
export { effect, signal, useSignal } from "@preact/signals";
import htm from "htm";
import { h } from "preact";
export const html = htm.bind(h);

export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export {
  bracketMatching, codeFolding, foldEffect, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
export { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
export { Compartment, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip,
  keymap, lineNumbers, rectangularSelection,
} from "@codemirror/view";
export { tags } from "@lezer/highlight";
