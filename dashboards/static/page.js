// Keys, anchors and lines to copy of every page.

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const isTyping = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("search");
  if (search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// Only over HTTPS and on the machine itself does a browser let a page write to the clipboard.
document.addEventListener("click", async (event) => {
  const line = event.target instanceof Element && event.target.closest(".next-steps code");
  if (!line || !navigator.clipboard || !getSelection().isCollapsed) return;
  await navigator.clipboard.writeText(line.textContent);
  line.dataset.copied = "";
  setTimeout(() => delete line.dataset.copied, 1500);
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
