// A drawer of all katas, which is opened from every view.
import { html, useEffect, useRef, useSignal } from "./vendor/vendor.js";
import { Mark, Named, stands } from "./parts.js";
import { byTrack, found } from "./search.js";

export function Drawer({ app, now }) {
  const isOpen = app.isDrawerOpen.value;
  const box = useRef(null);
  const text = useSignal("");
  useEffect(() => {
    if (!isOpen || box.current.open) return;
    text.value = "";
    box.current.showModal();
    box.current.querySelector("input").focus();
    box.current.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  }, [isOpen]);
  const close = () => {
    app.isDrawerOpen.value = false;
    if (box.current.open) box.current.close();
  };
  const katas = found(app.course.value.katas, text.value);
  const go = (event) => {
    if (event.key !== "Enter" || !katas.length) return;
    close();
    app.goTo(`kata/${katas[0].name}`);
  };
  return html`<dialog class="drawer" ref=${box} aria-label="Katas" onClose=${close} onClick=${(event) => event.target === box.current && close()}>
    ${isOpen &&
    html`<div class="inside">
      <div class="tools">
        <input type="search" placeholder="Search" aria-label="Search the katas" value=${text.value} maxlength="100" onInput=${(event) => (text.value = event.target.value)} onKeyDown=${go} />
        <button type="button" onClick=${close}>Close</button>
      </div>
      <nav aria-label="Katas">
        ${byTrack(katas).map(
          ([track, ones]) => html`<h2 key=${track}>${track}</h2>
            <ul>
              ${ones.map(
                (one) => html`<li key=${one.name}>
                  <a href="#/kata/${one.name}" aria-current=${one.name === now ? "page" : null} onClick=${close}>
                    <${Mark} kind=${stands(one)} /> <${Named} name=${one.name} />
                  </a>
                </li>`,
              )}
            </ul>`,
        )}
        ${!katas.length && html`<p class="quiet">No kata has that in its name, title, track or aliases.</p>`}
      </nav>
    </div>`}
  </dialog>`;
}
