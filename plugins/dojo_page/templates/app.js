// What the browser does by itself: keep what is typed while the server is gone, fold the statement, drag the columns.
(() => {
  const PATIENCE = 5000; // milliseconds without a connection before it is said
  const editor = () => {
    const box = document.querySelector(".editor");
    return box && getElement(box)?.editor;
  };
  const text = () => editor()?.state.doc.toString() ?? "";
  const place = () => `dojo ${location.pathname.split("/").pop()}`;
  let before = null; // the text when the connection ended; null while there is one
  let timer = 0;

  // A tab that is loaded again has another server, or the same one after a long time: offer the text that it had.
  function show(held) {
    const panel = document.getElementById("lost");
    const area = panel.querySelector("textarea");
    const fill = () => {
      const now = held ?? text();
      area.parentElement.hidden = !now;
      if (area.value !== now) area.value = now;
    };
    panel.querySelector("h2").textContent = held ? "This tab had another text" : "The page has lost its server";
    panel.querySelector("p").hidden = Boolean(held);
    for (const act of ["use", "close"]) panel.querySelector(`[data-act=${act}]`).hidden = !held;
    panel.hidden = false;
    fill();
    clearInterval(timer);
    timer = setInterval(fill, 500);
  }

  function hide() {
    clearInterval(timer);
    document.getElementById("lost").hidden = true;
  }

  const acts = {
    copy(area) {
      area.select();
      document.execCommand("copy");
    },
    use(area) {
      const view = editor();
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } });
      hide();
    },
    close: hide,
    fold() {
      localStorage.setItem("dojo folded", kata().classList.toggle("folded") ? "yes" : "");
    },
    tab(_, button) {
      kata().dataset.tab = button.dataset.name;
      for (const one of button.parentElement.children) one.setAttribute("aria-pressed", one === button);
    },
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-act]");
    if (button) acts[button.dataset.act](document.querySelector("#lost textarea"), button);
  });

  function listen() {
    if (!window.socket) return setTimeout(listen, 100);
    let waiting = 0;
    socket.on("disconnect", () => {
      before ??= text();
      clearTimeout(waiting);
      waiting = setTimeout(show, PATIENCE, null);
    });
    socket.on("connect", () => {
      clearTimeout(waiting);
      hide();
      for (const send of senders) send(); // what was on its way when the connection ended is lost
    });
    socket.onAny((name) => {
      if (name !== "try_reconnect") before = null; // the server knows this tab, and has what was typed
    });
  }
  listen();

  addEventListener("pagehide", () => {
    if (before !== null && text() !== before) sessionStorage.setItem(place(), text());
  });
  addEventListener("beforeunload", (event) => {
    if (document.querySelector(".unsaved")) event.preventDefault();
  });

  // --- one kata: its columns ---
  const kata = () => document.querySelector(".kata");

  function sayWidth(percent) {
    const said = { valuenow: Math.round(percent), valuemin: 15, valuemax: 60, orientation: "vertical" };
    for (const name in said) document.querySelector(".divider").setAttribute(`aria-${name}`, said[name]);
  }

  function setWidth(percent) {
    const now = Math.min(Math.max(percent, 15), 60);
    kata().style.setProperty("--statement", `${now}%`);
    sayWidth(now);
    return now;
  }

  const widthNow = () => (100 * document.querySelector(".statement").offsetWidth) / kata().offsetWidth;
  const keepWidth = (percent) => localStorage.setItem("dojo width", setWidth(percent));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.classList?.contains("divider")) return;
    event.preventDefault();
    const move = ({ clientX }) => keepWidth((100 * clientX) / kata().offsetWidth);
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (step && event.target.classList?.contains("divider")) keepWidth(widthNow() + step);
  });

  // --- the text of an editor, which is the browser's ---
  let senders = [];
  const held = new Map(); // marks that came before their editor

  // Send the whole text after each change: NiceGUI would send the change, which does not fit if one before is lost.
  function connect(CM, box) {
    const component = getElement(box);
    const view = component.editor;
    const longest = Number(box.dataset.longest);
    const send = () => box.isConnected && component.$emit("text", view.state.doc.toString());
    const refuse = (change) => {
      if (change.newDoc.length <= Math.max(longest, change.startState.doc.length)) return change;
      const message = `Not pasted: a file here has at most ${longest} characters.`;
      Quasar.Notify.create({ message, position: "top", timeout: 8000 });
      return [];
    };
    const effects = CM.StateEffect.appendConfig.of([
      CM.EditorView.updateListener.of((update) => update.docChanged && send()),
      CM.EditorState.transactionFilter.of((change) => (change.docChanged ? refuse(change) : change)),
    ]);
    component.emitting = false;
    view.dispatch({ effects });
    if (view.state.doc.toString() !== component.value) send();
    markText(component.$el.id.slice(1), ...(held.get(box.id) ?? []));
    senders = [...senders.filter((other) => other.box.isConnected), Object.assign(send, { box })];
  }

  // Called by the server. It knows the text that was sent last: if there is another one, more was typed.
  window.replaceText = (id, known, text) => {
    const view = getElement(id)?.editor;
    if (!view || view.state.doc.toString() !== known) return;
    let from = 0;
    let end = 0; // what is the same at the begin and at the end stays, and the caret with it
    const most = Math.min(known.length, text.length);
    while (from < most && known[from] === text[from]) from++;
    while (end < most - from && known.at(-1 - end) === text.at(-1 - end)) end++;
    view.dispatch({ changes: { from, to: known.length - end, insert: text.slice(from, text.length - end) } });
  };
  window.markText = (id, text, decorations, tooltips) => {
    const component = getElement(id);
    if (!component?.editor) held.set(`c${id}`, [text, decorations, tooltips]);
    else if (component.editor.state.doc.toString() === text) {
      component.setDecorations(decorations);
      component.setLineTooltips(tooltips);
    }
  };

  // --- one kata: its editor ---
  // Who comes by Tab goes on by Tab, until something else is pressed: the way through a page alters no file.
  let cameByTab = false;
  addEventListener("keydown", (event) => {
    cameByTab = event.key === "Tab";
    const view = event.target.closest?.(".cm-content") && editorAt(event.target);
    if (view && !["Tab", "Shift"].includes(event.key)) view.setTabFocusMode(false);
  }, true);
  addEventListener("pointerdown", (event) => {
    cameByTab = false;
    if (event.target.closest?.(".cm-content")) editorAt(event.target)?.setTabFocusMode(false);
  }, true);
  addEventListener("focusin", (event) => {
    if (event.target.classList?.contains("cm-content")) editorAt(event.target)?.setTabFocusMode(cameByTab);
  });
  const editorAt = (inside) => getElement(inside.closest(".nicegui-codemirror"))?.editor;

  const DOCSTRING = /^(?:\s|#[^\n]*\n)*[rR]?("""|''')/;
  const FOLDED = " The statement stands beside ";

  // Fold the docstring of the module, and put the caret where the work begins.
  function openEditor(CM, view) {
    const code = text();
    const begin = DOCSTRING.exec(code);
    const end = begin ? code.indexOf(begin[1], begin[0].length) : -1;
    const folds = end > 0 && code.slice(begin[0].length, end).includes("\n");
    const open = /^( *)(raise NotImplementedError|\.\.\.$)/m.exec(code);
    const caret = open ? open.index + open[1].length : code.trimEnd().length;
    const placeholderDOM = (_, unfold, words) =>
      Object.assign(document.createElement("span"), { className: "cm-foldPlaceholder", textContent: words, onclick: unfold });
    const preparePlaceholder = (state, range) =>
      state.sliceDoc(0, range.from).trim().length < 5 ? FOLDED : "…";
    const effects = [
      CM.StateEffect.appendConfig.of([CM.scrollPastEnd(), CM.codeFolding({ placeholderDOM, preparePlaceholder })]),
      ...(folds ? [CM.foldEffect.of({ from: begin[0].length, to: end })] : []),
    ];
    view.dispatch({ effects });
    if (!view.hasFocus) view.dispatch({ selection: { anchor: caret } }); // or else somebody is there already
    let isFirst = true;
    const follow = () => {
      const height = view.scrollDOM.clientHeight;
      if (!height) return;
      const head = view.state.selection.main.head;
      const isLow = isFirst && view.lineBlockAt(head).bottom > (2 * height) / 3; // what is written goes below it
      const [y, yMargin] = isLow ? ["start", height / 4] : ["nearest", Math.min(100, height / 3)];
      view.dispatch({ effects: CM.EditorView.scrollIntoView(head, { y, yMargin }) });
      isFirst = false;
    };
    new ResizeObserver(follow).observe(view.dom); // the caret stays in sight when a panel opens
  }

  // The editors follow the colours of the system, also when it changes them.
  const night = matchMedia("(prefers-color-scheme: dark)");
  function paint() {
    for (const box of document.querySelectorAll(".nicegui-codemirror"))
      getElement(box)?.setTheme(night.matches ? "githubDark" : "githubLight");
  }
  night.addEventListener("change", paint);

  // Called once a kata's view is there.
  window.openKata = async () => {
    paint();
    const CM = await import("nicegui-codemirror");
    for (const box of document.querySelectorAll(".nicegui-codemirror")) connect(CM, box);
    document.querySelectorAll(".cm-content").forEach((one) => {
      one.setAttribute("aria-label", one.closest(".lines") ? "Lines to try" : "Your file. Tab indents; Escape, then Tab leaves.");
    });
    document.querySelectorAll(".cm-scroller, pre, .wide").forEach((one) => {
      // So that the keyboard can scroll it; an editor grows.
      if (one.matches(".cm-scroller") || one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    });
    kata().classList.toggle("folded", Boolean(localStorage.getItem("dojo folded")));
    if (localStorage.getItem("dojo width")) setWidth(localStorage.getItem("dojo width"));
    else sayWidth(widthNow());
    if (editor()) openEditor(CM, editor());
    const kept = sessionStorage.getItem(place());
    sessionStorage.removeItem(place());
    if (kept && kept !== text()) show(kept);
  };
})();
