// What the browser does by itself: keep what is typed while the server is gone.
(() => {
  const PATIENCE = 3000; // milliseconds without a connection before it is said
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
  };
  document.addEventListener("click", (event) => {
    const act = acts[event.target.dataset?.act];
    if (act) act(document.querySelector("#lost textarea"));
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
      waiting = setTimeout(() => (before = null), PATIENCE); // until then it may refuse this tab, which loads anew
    });
  }
  listen();

  addEventListener("pagehide", () => {
    if (before !== null && text() !== before) sessionStorage.setItem(place(), text());
  });
  addEventListener("beforeunload", (event) => {
    if (document.querySelector(".unsaved")) event.preventDefault();
  });
  window.offerDraft = () => {
    const held = sessionStorage.getItem(place());
    sessionStorage.removeItem(place());
    if (held && held !== text()) show(held);
  };
})();
