// Buttons that copy, and anchors, of every page.

// Only over HTTPS and on the machine itself does a browser let a page write to the clipboard.
async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.href || source.textContent);
    return "Copied";
  } catch {
    if (source.href) source.textContent = source.href;
    getSelection().selectAllChildren(source);
    return "Selected: press Ctrl+C";
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("button.copy");
  if (!button || button.dataset.done) return;
  const source = button.previousElementSibling;
  const [text, label] = [button.textContent, button.getAttribute("aria-label")];
  const done = await copied(source);
  button.dataset.done = "yes";
  button.removeAttribute("aria-label");
  button.textContent = done;
  document.getElementById("announced").textContent = done;
  setTimeout(() => {
    delete button.dataset.done;
    button.setAttribute("aria-label", label);
    button.textContent = text;
  }, 1500);
});

// A link to a decision opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView({ block: "center" });
  }
}
addEventListener("hashchange", openTarget);
openTarget();
