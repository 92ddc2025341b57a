// Inside the model: where each head looked to write a token, and what it held likely.

import * as api from './api.js';
import { headColour, idColour } from './colours.js';
import { find, make, percent } from './dom.js';
import { openMatrix } from './matrix.js';

const PAUSE = 90; // milliseconds a token must be pointed at before the server is asked
const SHOWN = 3; // keys a head

export class Inside {
  /** `state` is the page's; `changed()` is called when the choice of layer, head or moment changes. */
  constructor(root, sheet, state, changed) {
    Object.assign(this, { root, sheet, state, changed });
    this.known = new Map();
    this.offer = null;
    this.rest();
    sheet.resized = () => this.#shade();
  }

  /** Another page: what was known of the last one is forgotten. */
  begin(offer) {
    this.offer = offer;
    this.known.clear();
    this.rest();
  }

  rest() {
    clearTimeout(this.waiting);
    this.asking?.abort();
    this.look = null;
    this.sheet.unlook();
    this.root.replaceChildren(
      make('h2', {}, 'Look inside'),
      make(
        'p',
        { class: 'faint' },
        'Point at a token, tap it, or go to it with the keys: you will see where every head looked to write it, which other tokens share its ids, and how likely the model held each token to be. Tokens of one column stand under each other; those of one row belong to the same step.',
      ),
    );
  }

  /** Show what was going on at a token. */
  show(index) {
    clearTimeout(this.waiting);
    this.asking?.abort();
    if (index === null) {
      this.rest();
      return;
    }
    const at = this.#query(index);
    this.look = this.known.get(at) ?? null;
    this.#draw(index);
    if (at === null || this.look) return;
    this.waiting = setTimeout(() => this.#ask(index, at), PAUSE);
  }

  /** The token that looks: to write a token, the one before it does. */
  #query(index) {
    const written = index >= this.sheet.page.prompt;
    return written && this.state.when === 'writing' ? index - 1 : index;
  }

  #asked(more) {
    const { page, tokens } = this.sheet;
    return {
      model: page.model,
      problem: page.problem,
      response: tokens.slice(page.prompt).map((entry) => entry.token),
      ...more,
    };
  }

  async #ask(index, at) {
    this.asking = new AbortController();
    try {
      const look = await api.post('/api/attention', this.#asked({ at }), this.asking.signal);
      this.known.set(at, look);
      if (this.sheet.chosen === index && this.#query(index) === at) {
        this.look = look;
        this.#draw(index);
      }
    } catch (error) {
      if (error.name !== 'AbortError') this.root.append(make('p', { class: 'refusal' }, error.message));
    }
  }

  #draw(index) {
    const entry = this.sheet.tokens[index];
    const { page } = this.sheet;
    const written = index >= page.prompt;
    const parts = [
      make('h2', {}, make('span', { class: `glyph${entry.right === null ? '' : ' bad'}` }, entry.token), entry.name),
    ];
    if (entry.right !== null) {
      parts.push(
        make(
          'p',
          { class: 'refusal' },
          entry.right === 'nothing'
            ? 'Wrong: the page should have ended before it.'
            : `Wrong: ${entry.right} belongs here.`,
        ),
      );
    }
    parts.push(
      make(
        'p',
        { class: 'chips' },
        ...page.levels.map((name, level) => {
          const chip = make('span', { class: 'chip' }, `${name} ${entry.ids[level] || 'uncoupled'}`);
          chip.style.backgroundColor = idColour(entry.ids[level]);
          return chip;
        }),
      ),
    );
    if (written) parts.push(this.#moments());
    if (this.look) parts.push(this.#likely(entry, written), this.#heads(index));
    else parts.push(make('p', { class: 'faint' }, 'Looking …'));
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.root.replaceChildren(...parts);
    if (focused) this.root.querySelector(`[data-key="${focused}"]`)?.focus();
    this.#shade();
  }

  #moments() {
    const button = (when, text, title) =>
      make(
        'button',
        {
          type: 'button',
          'data-key': when,
          title,
          'aria-pressed': String(this.state.when === when),
          onclick: () => {
            this.state.when = when;
            this.changed();
            this.show(this.sheet.chosen);
          },
        },
        text,
      );
    return make(
      'div',
      { class: 'choice', role: 'group', 'aria-label': 'When' },
      button('writing', 'to write it', 'Where the heads looked at the token before, whose output this token is'),
      button('reading', 'having read it', 'Where the heads looked at this token, to write the next'),
    );
  }

  #likely(entry, written) {
    const about = written && this.state.when === 'writing' ? 'How likely, here' : 'How likely to come next';
    const bars = this.look.next
      .slice(0, 4)
      .map(({ token, probability }) =>
        make(
          'li',
          {},
          make('b', {}, token),
          make('span', { class: 'bar' }, make('span', { style: { '--part': probability } })),
          make('span', { class: 'number' }, percent(probability)),
        ),
      );
    const flat =
      'The proof parts right from wrong by 1 before the softmax, so nothing looks certain; the largest counts.';
    const note = this.offer.kind === 'theorem' ? make('p', { class: 'faint' }, flat) : null;
    return make('div', {}, make('h3', {}, about), make('ul', { class: 'likely' }, ...bars), note);
  }

  #heads(index) {
    const box = make('div', { class: 'heads' });
    const layers = this.look.heads.length;
    this.state.layer = Math.min(this.state.layer, layers - 1);
    const title = make('h3', {}, layers > 1 ? 'Heads of ' : 'Heads');
    if (layers > 1) {
      const select = make(
        'select',
        {
          'aria-label': 'Layer',
          'data-key': 'layer',
          onchange: (event) => {
            this.state.layer = Number(event.target.value);
            this.changed();
            this.#draw(index);
          },
        },
        ...Array.from({ length: layers }, (_, layer) =>
          make('option', { value: layer, selected: layer === this.state.layer }, `layer ${layer + 1}`),
        ),
      );
      title.append(select);
    }
    box.append(title);
    const heads = this.look.heads[this.state.layer];
    if (this.state.head !== null && this.state.head >= heads.length) this.state.head = null;
    box.append(
      make(
        'button',
        {
          type: 'button',
          class: 'all',
          'data-key': 'all',
          'aria-pressed': String(this.state.head === null),
          onclick: () => this.choose(null),
        },
        'all heads',
      ),
    );
    heads.forEach((look, head) => box.append(this.#head(look, head)));
    return box;
  }

  #head({ keys, weights }, head) {
    const { tokens } = this.sheet;
    const list = keys
      .slice(0, SHOWN)
      .map((key, place) =>
        make(
          'li',
          {},
          make('span', { class: 'number' }, percent(weights[place])),
          make('b', {}, tokens[key]?.token ?? '?'),
          make('span', {}, tokens[key]?.name ?? ''),
        ),
      );
    const rest = weights.slice(SHOWN).reduce((sum, weight) => sum + weight, 0);
    if (rest > 0.005)
      list.push(
        make(
          'li',
          { class: 'faint' },
          make('span', { class: 'number' }, percent(rest)),
          make('b', {}, ''),
          make('span', {}, `on ${keys.length - SHOWN} more`),
        ),
      );
    return make(
      'div',
      { class: `head head-${head % 8}`, 'data-chosen': String(this.state.head === null || this.state.head === head) },
      make(
        'div',
        { class: 'head-line' },
        make(
          'button',
          {
            type: 'button',
            'data-key': `head-${head}`,
            'aria-pressed': String(this.state.head === head),
            onclick: () => this.choose(this.state.head === head ? null : head),
          },
          `head ${head + 1}`,
        ),
        make(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'data-key': `matrix-${head}`,
            title: `The whole attention matrix of head ${head + 1}`,
            onclick: () => this.matrix(head),
          },
          'matrix',
        ),
      ),
      make('ul', {}, ...list),
    );
  }

  /** One head, or all with null. */
  choose(head) {
    this.state.head = head;
    this.changed();
    if (this.sheet.chosen !== null && this.look) this.#draw(this.sheet.chosen);
  }

  /** The whole matrix of a head, in a window of its own. */
  matrix(head = this.state.head ?? 0) {
    if (!this.sheet.page || this.sheet.tokens.length === this.sheet.page.prompt) return;
    const { chosen, page } = this.sheet;
    const from = chosen === null ? page.prompt - 1 : this.#query(chosen);
    openMatrix(find('matrix'), this.offer, page, this.#asked({}), from, this.state.layer, head, (index) => {
      this.state.when = 'reading'; // a row of the matrix is where its own token looks
      this.sheet.held = true;
      this.sheet.choose(index, { focus: true });
    });
  }

  #shade() {
    const index = this.sheet.chosen;
    if (index === null || !this.look) {
      this.sheet.unlook();
      return;
    }
    const heads = this.look.heads[this.state.layer] ?? [];
    const looks = [];
    heads.forEach(({ keys, weights }, head) => {
      if (this.state.head !== null && this.state.head !== head) return;
      keys.forEach((key, place) => looks.push({ index: key, weight: weights[place], colour: headColour(head) }));
    });
    this.sheet.look(index, looks);
  }
}
