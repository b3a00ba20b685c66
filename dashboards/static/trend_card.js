// The card of a point: the pointer shows it, a click or the arrow keys hold it, and a second click opens its page.

const FAR = 16; // pixels between a point and its card

function element(name, text, parent) {
  const made = document.createElement(name);
  made.textContent = text; // never HTML: subjects and authors are other people's texts
  parent.append(made);
  return made;
}

function link(text, address, parent) {
  const made = element("a", text, parent);
  made.href = address;
  return made;
}

class TrendCard {
  // `placeOf` returns the pixels of a spot ({curveNumber, pointNumber}) in the chart, or null outside of it.
  constructor(chart, box, status, placeOf) {
    this.chart = chart;
    this.box = box;
    this.status = status; // says what the keys reach; the pointer's way is not read out
    this.placeOf = placeOf;
    this.isEmbedded = "embedded" in chart.dataset;
    this.spot = null;
    this.isHeld = false;
    this.cards = [];
    this.pressedAt = null; // until a point is struck
    this.ring = chart.parentElement.appendChild(document.createElement("span"));
    this.ring.className = "ring";
    this.ring.hidden = true;
    document.addEventListener("pointerdown", (event) => {
      this.pressedAt = this.box.contains(event.target) ? null : [event.clientX, event.clientY];
    }, true);
    document.addEventListener("click", (event) => {
      const [x, y] = this.pressedAt || [Infinity, Infinity];
      if (Math.hypot(event.clientX - x, event.clientY - y) < FAR) this.release(); // not the end of a zoom
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.release());
    chart.addEventListener("keydown", (event) => this.move(event));
  }

  numberOf({ curveNumber, pointNumber }) {
    const number = this.chart.data[curveNumber]?.customdata?.[pointNumber];
    return Number.isInteger(number) ? number : null;
  }

  point(spot) {
    if (!this.isHeld) this.show(spot, false);
  }

  leave() {
    if (!this.isHeld) this.hide();
  }

  strike(spot) {
    this.pressedAt = null;
    const number = this.numberOf(spot);
    if (number === null) return;
    if (this.isHeld && number === this.numberOf(this.spot)) this.open();
    else this.show(spot, true);
  }

  open() {
    const { page } = this.cards[this.numberOf(this.spot)];
    if (!page.startsWith("/")) return;
    if (this.isEmbedded) window.open(page, "_blank", "noopener");
    else location.assign(page);
  }

  release() {
    this.isHeld = false;
    this.hide();
  }

  hide() {
    this.spot = null;
    this.box.hidden = true;
    this.ring.hidden = true;
  }

  show(spot, isHeld) {
    const number = this.numberOf(spot);
    if (number === null) return;
    this.spot = spot;
    this.isHeld = isHeld;
    this.write(this.cards[number]);
    this.place();
  }

  write(card) {
    this.box.replaceChildren();
    this.box.classList.toggle("held", this.isHeld);
    if (this.isHeld) {
      const close = element("button", "×", this.box);
      close.type = "button";
      close.ariaLabel = "Close the card";
      close.addEventListener("click", () => {
        this.release();
        this.chart.focus();
      });
    }
    if (card.series) element("small", card.series, this.box);
    element("strong", card.title, this.box);
    element("small", `${card.author} · ${card.commit}`, this.box);
    if (card.level) element("b", card.level, this.box);
    for (const text of [card.value, card.verdict]) element("span", text, this.box);
    if (card.claims) element("span", card.claims, this.box);
    element("small", card.moment, this.box);
    if (!this.isHeld) return;
    const links = element("p", "", this.box);
    link("Open its page", card.page, links);
    if (card.claims) link("Claims", card.run, links);
    if (card.review) link("On Gerrit", card.review, links).rel = "noopener noreferrer";
    if (card.since && !this.isEmbedded) {
      const url = new URL(location.href);
      url.searchParams.set("since", card.since);
      link("Since this one", url.href, links);
    }
    if (this.isEmbedded) links.querySelectorAll("a").forEach((each) => (each.target = "_blank"));
  }

  // The card lies over the chart, above or below its point, so that the point can be tapped again.
  place() {
    const at = this.spot && this.placeOf(this.spot);
    this.box.hidden = !this.spot;
    this.ring.hidden = !at || !this.isHeld;
    if (!this.spot) return;
    const { clientWidth: width, clientHeight: height } = this.chart.parentElement;
    const { x, y } = at || { x: width / 2, y: 0 };
    this.ring.style.left = `${x}px`;
    this.ring.style.top = `${y}px`;
    this.box.style.left = `${Math.max(4, Math.min(x - this.box.offsetWidth / 2, width - this.box.offsetWidth - 4))}px`;
    const top = y > height / 2 ? y - FAR - this.box.offsetHeight : y + FAR;
    this.box.style.top = `${Math.max(4, Math.min(top, height - this.box.offsetHeight - 4))}px`;
  }

  // Left and right lead along a line, up and down to another series.
  move(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && this.isHeld) return this.open();
    const isLine = (trace) => trace.mode === "lines+markers" && trace.visible !== "legendonly";
    const lines = this.chart.data.flatMap((trace, number) => (isLine(trace) ? [number] : []));
    const points = (line) => this.chart.data[line].customdata.flatMap((card, number) => (card === null ? [] : [number]));
    const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
    if (!keys.includes(event.key) || !lines.length) return;
    event.preventDefault();
    const isOnLine = this.spot && lines.includes(this.spot.curveNumber);
    let line = isOnLine ? this.spot.curveNumber : lines[0];
    const before = isOnLine ? this.chart.data[line].x[this.spot.pointNumber] : null;
    let place = isOnLine ? points(line).indexOf(this.spot.pointNumber) : points(line).length;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const next = lines.indexOf(line) + (event.key === "ArrowUp" ? -1 : 1);
      line = lines[Math.max(0, Math.min(next, lines.length - 1))];
      place = points(line).findIndex((number) => before !== null && this.chart.data[line].x[number] >= before);
      if (place < 0) place = points(line).length - 1;
    } else {
      place = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: Infinity }[event.key];
    }
    const found = points(line);
    const pointNumber = found[Math.max(0, Math.min(place, found.length - 1))];
    if (pointNumber === undefined) return;
    this.show({ curveNumber: line, pointNumber }, true);
    const { series, title, level, value, verdict } = this.cards[this.numberOf(this.spot)];
    this.status.textContent = [series, title, level || value, verdict].filter(Boolean).join(", ");
  }
}
