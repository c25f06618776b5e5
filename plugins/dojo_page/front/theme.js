// Before anything is painted: the colours that were chosen, or those of the system.
try {
  document.documentElement.dataset.theme = JSON.parse(localStorage.getItem("dojo theme")) ?? "system";
} catch {
  document.documentElement.dataset.theme = "system";
}
