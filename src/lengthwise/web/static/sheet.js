// The sheet: the page a model was given and what it writes on it, as squares of an exercise book or in sequence.

import { idColour } from './colours.js';
import { find } from './dom.js';
import { drawLooks } from './looks.js';
import { layOut } from './places.js';

const LARGEST_CELL = 40;
const SMALLEST_CELL = 13;
const ROOMY = 36; // from so many pixels on, a square has room for its ids
const GUTTER = 34; // for the numbers of the lines
const BETWEEN = 28;
const AROUND = 20; // pixels kept free above and below a token that is brought into sight

export class Sheet {
  /** `pick(index)` is called when a token is chosen, with null when none is. */
  constructor(root, pick) {
    this.root = root;
    this.pick = pick;
    this.layout = 'paper';
    this.levels = new Set();
    this.tokens = [];
    this.chosen = null;
    root.addEventListener('click', (event) => this.#clicked(event));
    root.addEventListener('keydown', (event) => this.#pressed(event));
    root.addEventListener('pointerover', (event) => {
      if (event.pointerType === 'mouse' && event.target.closest('.token') && !this.held)
        this.#point(event.target.closest('.token'));
    });
    new ResizeObserver(() => this.#fit()).observe(root.parentElement);
  }

  /** A new page: what is given stands there, what is to be written is still blank. */
  begin(page) {
    this.page = page;
    this.chosen = null;
    this.held = false;
    this.slipped = false;
    this.shifted = false;
    this.tokens = page.tokens.slice(0, page.prompt).map((token, index) => ({
      index,
      token,
      ids: page.ids.map((level) => level[index]),
      name: page.names[index],
      right: null,
      likely: null,
    }));
    this.draw();
  }

  /** Tokens just written: {token, ids, likely} each. */
  write(steps) {
    const made = steps.map(({ token, ids, likely }) => {
      const index = this.tokens.length;
      const expected = this.page.tokens[index];
      const right = token === expected ? null : (expected ?? 'nothing');
      const first = right !== null && !this.slipped;
      if (first) this.slipped = true;
      const shifted = this.shifted;
      if (right !== null && isDigit(token) !== isDigit(expected)) this.shifted = true; // nothing stands in its place now
      const entry = {
        index,
        token,
        ids,
        likely,
        right,
        first,
        shifted,
        name: this.page.names[index] ?? 'beyond the end',
      };
      this.tokens.push(entry);
      return entry;
    });
    this.#add(made);
  }

  /** Keep what was written last in sight. */
  follow() {
    const box = this.tokens.at(-1).element.getBoundingClientRect();
    if (box.bottom > innerHeight - 24)
      scrollBy({ top: Math.min(box.bottom - innerHeight + 0.3 * innerHeight, 400), behavior: 'smooth' });
  }

  setLayout(layout) {
    this.layout = layout;
    const focused = this.root.contains(document.activeElement);
    if (this.page) this.draw();
    if (focused && this.chosen !== null) this.tokens[this.chosen].element.focus({ preventScroll: true });
  }

  setLevels(levels) {
    this.levels = new Set(levels);
    this.#fit();
    for (const entry of this.tokens) this.#paint(entry);
    this.#kin();
  }

  /** The whole sheet anew. */
  draw() {
    this.root.replaceChildren();
    this.root.className = `sheet ${this.layout}`;
    this.overlay = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    this.overlay.classList.add('arcs');
    this.overlay.setAttribute('aria-hidden', 'true');
    if (this.layout === 'paper') this.#rule();
    else this.#line();
    this.root.append(this.overlay);
    this.#add(this.tokens);
    this.#fit();
    if (this.chosen !== null) this.choose(this.chosen, { quietly: true });
  }

  #rule() {
    const columns = Math.max(8, Math.floor((this.#room() - 2 * GUTTER) / 22));
    const { panels, spots } = layOut(this.page, columns);
    this.panels = panels;
    this.spots = spots;
    panels.forEach((panel) => {
      const box = document.createElement('div');
      box.className = 'panel';
      const title = document.createElement('h3');
      title.textContent = panel.name;
      panel.squares = document.createElement('div');
      panel.squares.className = 'squares';
      panel.squares.style.setProperty('--rows', panel.rows);
      panel.squares.style.setProperty('--columns', panel.columns);
      panel.labels.forEach((label, row) => {
        if (panel.rows < 2) return;
        const mark = document.createElement('span');
        mark.className = 'line-number';
        mark.textContent = label;
        mark.style.setProperty('--y', row);
        panel.squares.append(mark);
      });
      box.append(title, panel.squares);
      this.root.append(box);
    });
  }

  #line() {
    this.strip = document.createElement('div');
    this.strip.className = 'strip';
    this.root.append(this.strip);
  }

  #add(entries) {
    const pieces = new Map();
    for (const entry of entries) {
      const home = this.#home(entry);
      if (!pieces.has(home)) pieces.set(home, document.createDocumentFragment());
      pieces.get(home).append(this.#make(entry));
    }
    for (const [home, piece] of pieces) home.append(piece);
  }

  #home(entry) {
    if (this.layout === 'flat') return this.strip;
    const spot = this.spots[entry.index];
    if (spot) return this.panels[spot.panel].squares;
    return this.#beyond();
  }

  /** Where tokens go that a right page has no place for. */
  #beyond() {
    let box = this.root.querySelector('.panel.beyond .strip');
    if (!box) {
      const panel = document.createElement('div');
      panel.className = 'panel beyond';
      const title = document.createElement('h3');
      title.textContent = 'written beyond the end';
      box = document.createElement('div');
      box.className = 'strip';
      panel.append(title, box);
      this.overlay.before(panel);
    }
    return box;
  }

  #make(entry) {
    const element = document.createElement('span');
    element.className = 'token';
    element.tabIndex = -1;
    element.setAttribute('role', 'button');
    element.dataset.index = entry.index;
    const glyph = document.createElement('b');
    glyph.textContent = entry.token;
    const ids = document.createElement('small');
    element.append(glyph, ids);
    if (entry.index >= this.page.prompt) element.classList.add('written');
    if (!isDigit(entry.token)) element.classList.add('symbol');
    element.classList.toggle('shifted', Boolean(entry.shifted));
    const spot = this.layout === 'paper' && this.spots[entry.index];
    if (spot) {
      element.style.setProperty('--x', spot.x);
      element.style.setProperty('--y', spot.y);
    }
    let label = `${entry.token}, ${entry.name}`;
    if (entry.right !== null) {
      element.classList.add('wrong');
      element.classList.toggle('first', entry.first);
      element.dataset.right = entry.right === 'nothing' ? '∅' : entry.right;
      label += `, wrong: ${entry.right === 'nothing' ? 'the page should have ended' : `${entry.right} belongs here`}`;
    }
    element.setAttribute('aria-label', label);
    if (entry.index === 0) element.tabIndex = 0;
    entry.element = element;
    this.#paint(entry);
    return element;
  }

  /** The first level that is on fills the square, further ones are bars at its foot. */
  #paint(entry) {
    const on = this.page.levels.map((name, level) => level).filter((level) => this.levels.has(this.page.levels[level]));
    const style = entry.element.style;
    const flat = this.layout === 'flat';
    const chips =
      flat || this.roomy
        ? on.map((level) => {
            const chip = document.createElement('i');
            chip.textContent = entry.ids[level] || (flat ? '0' : '');
            chip.style.backgroundColor = idColour(entry.ids[level]);
            if (!entry.ids[level]) chip.className = 'none';
            return chip;
          })
        : [];
    entry.element.lastChild.replaceChildren(...chips);
    style.backgroundColor = on.length && !flat ? idColour(entry.ids[on[0]]) : '';
    const bars = on.slice(1).map((level, bar) => `${idColour(entry.ids[level])} ${bar * 20}% ${(bar + 1) * 20}%`);
    const drawn = bars.length && !flat && !this.roomy;
    style.backgroundImage = drawn
      ? `linear-gradient(to top, ${bars.join(', ')}, transparent ${bars.length * 20}%)`
      : '';
  }

  // Sizes.

  #room() {
    return this.root.parentElement.clientWidth;
  }

  #fit() {
    if (!this.page || this.layout !== 'paper') {
      this.root.style.setProperty('--cell', '26px');
      return;
    }
    const bars = Math.max(0, this.levels.size - 1);
    const room = this.#room() - 16;
    const columns = this.panels.map((panel) => panel.columns);
    const rows = Math.max(...this.panels.map((panel) => panel.rows));
    const beside =
      (room - this.panels.length * GUTTER - (this.panels.length - 1) * BETWEEN) / columns.reduce((a, b) => a + b, 0);
    const alone = (room - GUTTER) / Math.max(...columns);
    const wanted = beside >= 20 && room > 560 ? beside : alone; // on a phone larger squares are worth more
    const large = rows > 14 ? 30 : LARGEST_CELL + 6 * Math.max(0, bars - 1); // many rows need not be tall
    const cell = Math.floor(Math.max(SMALLEST_CELL, Math.min(wanted, large)));
    this.root.style.setProperty('--cell', `${cell}px`);
    this.root.style.setProperty('--bars', bars);
    const roomy = cell >= ROOMY;
    this.root.classList.toggle('roomy', roomy);
    if (roomy !== this.roomy) {
      this.roomy = roomy;
      for (const entry of this.tokens) this.#paint(entry);
    }
    this.root.classList.toggle('tight', cell < 18);
    this.resized?.();
  }

  // Choosing tokens.

  /** Choose a token; its kin, those with the same ids, light up. `inSight` scrolls to it. */
  choose(index, { quietly = false, focus = false, inSight = focus } = {}) {
    this.root.querySelectorAll('.chosen').forEach((element) => element.classList.remove('chosen'));
    this.chosen = index !== null && index < this.tokens.length ? index : null;
    this.#kin();
    if (this.chosen !== null) {
      const element = this.tokens[this.chosen].element;
      element.classList.add('chosen');
      this.root.querySelectorAll('.token[tabindex="0"]').forEach((other) => {
        other.tabIndex = -1;
      });
      element.tabIndex = 0;
      if (focus) element.focus({ preventScroll: true });
    }
    if (quietly) return;
    this.pick(this.chosen);
    if (inSight && this.chosen !== null) reveal(this.tokens[this.chosen].element);
  }

  #kin() {
    this.root.querySelectorAll('.kin').forEach((element) => element.classList.remove('kin', 'kin-0', 'kin-1', 'kin-2'));
    if (this.chosen === null || !this.tokens[this.chosen]) return;
    const own = this.tokens[this.chosen];
    this.page.levels.forEach((name, level) => {
      if (!this.levels.has(name) || !own.ids[level]) return;
      for (const other of this.tokens) {
        if (other.ids[level] === own.ids[level]) other.element.classList.add('kin', `kin-${Math.min(level, 2)}`);
      }
    });
  }

  #point(element) {
    const index = Number(element.dataset.index);
    if (index !== this.chosen) this.choose(index);
  }

  #clicked(event) {
    const element = event.target.closest('.token');
    if (!element) {
      this.held = false;
      this.choose(null);
      return;
    }
    const index = Number(element.dataset.index);
    this.held = !(this.held && index === this.chosen); // a second press lets go
    this.choose(index, { focus: true });
  }

  #pressed(event) {
    const element = event.target.closest('.token');
    if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
    const index = Number(element.dataset.index);
    let next = null;
    if (event.key === 'Escape') {
      this.held = false;
      this.choose(null);
      event.stopPropagation();
      return;
    }
    if (event.key === ',') next = index - 1;
    else if (event.key === '.') next = index + 1;
    else if (event.key === 'Home') next = 0;
    else if (event.key === 'End') next = this.tokens.length - 1;
    else if (event.key === 'Enter' || event.key === ' ') next = index;
    else if (event.key.startsWith('Arrow')) next = this.#neighbour(element, event.key.slice(5));
    if (next === null || next < 0 || next >= this.tokens.length) return;
    event.preventDefault();
    this.held = true;
    this.choose(next, { focus: true });
  }

  /** The nearest token in a direction, as the eye sees it. */
  #neighbour(element, direction) {
    const from = element.getBoundingClientRect();
    const [x, y] = [from.x + from.width / 2, from.y + from.height / 2];
    const level = direction === 'Left' || direction === 'Right';
    let [best, least] = [null, Infinity];
    for (const entry of this.tokens) {
      if (entry.element === element) continue;
      const box = entry.element.getBoundingClientRect();
      const [right, down] = [box.x + box.width / 2 - x, box.y + box.height / 2 - y];
      const ahead = { Left: -right, Right: right, Up: -down, Down: down }[direction];
      const aside = Math.abs(level ? down : right);
      if (ahead < 3) continue;
      const far = ahead + 6 * aside;
      if (far < least) [best, least] = [entry.index, far];
    }
    return best;
  }

  /** Show looks: [{index, weight, colour}] from a token. */
  look(from, looks) {
    this.unlook();
    if (from !== null && this.tokens[from]) drawLooks(this, from, looks);
  }

  unlook() {
    this.overlay?.replaceChildren();
    this.root.querySelectorAll('.looked').forEach((element) => element.classList.remove('looked'));
  }
}

function isDigit(token) {
  return /^\d$/.test(token ?? '');
}

/** Bring a token where nothing covers it: below the status line, and on small screens above what goes on inside. */
function reveal(element) {
  element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
  const small = matchMedia('(max-width: 900px)').matches && !document.body.classList.contains('touring');
  const box = element.getBoundingClientRect();
  const top = find('status').offsetHeight + AROUND;
  const bottom = innerHeight - (small ? find('inside').offsetHeight : 0) - AROUND;
  const off = box.bottom > bottom ? box.bottom - bottom : Math.min(0, box.top - top);
  scrollBy({ top: off, behavior: 'instant' }); // by nothing, too: it ends what still moves
}
