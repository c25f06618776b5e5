// What the course shows with the student's functions, as they are now, in a frame of its own.
import { html, useEffect, useState } from "./vendor/vendor.js";
import { useKeys } from "./keys.js";
import { Frame } from "./parts.js";

export function SeeView({ app }) {
  const [shown, setShown] = useState("");
  const [told, setTold] = useState("Running your functions …");
  app.title("See");
  useKeys([
    ["k", "List the katas.", app.openDrawer],
    ["p", "Go to the path.", () => app.goTo("")],
  ]);
  useEffect(() => {
    let isGone = false;
    const show = (answer) => {
      if (isGone) return;
      if (answer.kind === "shown") setShown(answer.html);
      else setTold(answer.text || answer.problem || "The judge was needed elsewhere; open this view again.");
    };
    app.judge.ask({ kind: "see" }, (answer) => answer.kind === "progress" && setTold(answer.text)).then(show);
    return () => (isGone = true);
  }, []);
  return html`<main id="main" class="see" tabindex="-1">
    <h1 class="unseen">See</h1>
    ${shown ? html`<${Frame} page=${shown} title="Your functions at work" />` : html`<p class="loading" role="status">${told}</p>`}
  </main>`;
}
