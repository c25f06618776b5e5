// Where the files lie in the browser: take them out as a zip, and bring them in.
import { html, useRef, useSignal } from "./vendor/vendor.js";
import { Dialog } from "./parts.js";

const MOST = 32; // MiB of a zip, as in kept_files.py

export function FilesDialog({ app }) {
  const told = useSignal("");
  const input = useRef(null);
  const close = () => {
    app.isFilesOpen.value = false;
    told.value = "";
  };
  const takeOut = async () => {
    const answer = await app.judge.ask({ kind: "take_out" });
    if (answer.kind !== "archive") return (told.value = answer.text || answer.problem);
    const bytes = Uint8Array.from(atob(answer.zip), (letter) => letter.charCodeAt(0));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
    link.download = "decoder-dojo.zip";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    told.value = "decoder-dojo.zip has your files and what is remembered. Unpack it in a clone of the course to go on there.";
  };
  const bringIn = async () => {
    const [file] = input.current.files;
    if (!file) return;
    const size = Math.ceil(file.size / (1 << 20));
    if (size > MOST) return (told.value = `This is no zip of a course's files: it has ${size} MiB, and ${MOST} are the most.`);
    told.value = "";
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 1 << 15) text += String.fromCharCode(...bytes.subarray(at, at + (1 << 15)));
    const answer = await app.judge.ask({ kind: "bring_in", zip: btoa(text) });
    told.value = answer.told || answer.text || answer.problem || "";
    if (input.current) input.current.value = ""; // the dialog may be closed
    app.refresh();
  };
  return html`<${Dialog} isOpen=${app.isFilesOpen.value} close=${close} label="Files" class="files">
    <h2>Files</h2>
    <p>Your files lie in this browser. Take them out now and then: a browser may clear what it keeps.</p>
    <p><button type="button" class="first" onClick=${takeOut}>Take them out</button></p>
    <p>
      <label for="zip">Bring in a zip that was taken out</label>
      <input id="zip" type="file" accept=".zip,application/zip" ref=${input} onChange=${bringIn} />
    </p>
    <p role="status">${told.value}</p>
    <button type="button" onClick=${close}>Close</button>
  </${Dialog}>`;
}
