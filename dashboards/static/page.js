// Buttons that copy, and anchors, of every page.

// Only over HTTPS and on the machine itself does a browser let a page write to the clipboard. Elsewhere a field is
// copied as a person would; where even that is refused, it stays, selected, until the focus leaves it.
async function copied(button) {
  const source = button.previousElementSibling;
  const text = source.href || source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    const field = document.createElement("input");
    field.className = "to-copy";
    field.readOnly = true;
    field.value = text;
    field.setAttribute("aria-label", button.getAttribute("aria-label"));
    button.after(field);
    field.select();
    if (document.execCommand("copy")) {
      field.remove();
      button.focus();
      return "Copied";
    }
    field.addEventListener("blur", () => field.remove());
    return "Selected: copy it now";
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("button.copy");
  if (!button || button.dataset.done) return;
  const announced = document.getElementById("announced");
  const [text, label] = [button.textContent, button.getAttribute("aria-label")];
  const done = await copied(button);
  button.dataset.done = "yes";
  button.removeAttribute("aria-label");
  button.textContent = done;
  announced.textContent = done;
  setTimeout(() => {
    delete button.dataset.done;
    button.setAttribute("aria-label", label);
    button.textContent = text;
    announced.textContent = "";
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
