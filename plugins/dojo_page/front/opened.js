// A site does not work where its files are opened one by one: say so, since no module is loaded then.
if (location.protocol === "file:") {
  addEventListener("DOMContentLoaded", () => {
    const sentence = "This page has to come from a web server. In its folder, run: python -m http.server";
    document.querySelector("#page [role=status]").textContent = sentence;
  });
}
