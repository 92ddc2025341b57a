// The guided tour: five steps on 57+48+96. Each sets the page up and says what is to be seen.

import { find, make } from './dom.js';

const PROBLEM = '57+48+96';
// Here a carry is lost once, in the 24th digit of the third partial sum, and carried on from there.
const SLIPPERY =
  '662610519290221768450351171737+847276375824100794161867134024+845230697514555255984849273809+662455514734009257802296775564';

export class Tour {
  constructor(solve, state, moved, go) {
    Object.assign(this, { solve, state, moved, go });
    find('tour-back').addEventListener('click', () => this.show(this.state.tour - 1));
    find('tour-next').addEventListener('click', () =>
      this.state.tour === this.#steps().length ? this.end() : this.show(this.state.tour + 1),
    );
    find('tour-end').addEventListener('click', () => this.end());
    find('tour').addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.end();
      }
    });
  }

  #model(name) {
    return this.solve.form.offer(name);
  }

  #steps() {
    const tiny = this.#model('adder-tiny');
    const theorem = this.#model('theorem');
    const count = (number) => number.toLocaleString('en');
    return [
      {
        title: 'A scratchpad',
        text: [
          'To add 57, 48 and 96 one does not write 201 at once. One writes 0, then 57, then 57 + 48 = 105, then 105 + 96 = 201.',
          'The model does the same. On the left is what it is given; on the right what it writes, a line for every partial sum, units first, as a child would. Each token is one small step from those before it.',
        ],
        prepare: () => this.#ask({ model: 'adder-tiny', levels: [] }),
      },
      {
        title: 'Position coupling',
        text: [
          'Where a token stands, a Transformer is usually told by a number: 1, 2, 3 … along the sequence. A model trained on short sequences has never seen the later numbers, and told none it loses count.',
          'Here tokens that belong together share their number: digits of the same significance have the same column, numbers of the same order the same row. Everything outlined shares an id with the chosen digit. What is near on paper is near in ids, however long the problem.',
        ],
        prepare: () => this.#ask({ model: 'adder-tiny', levels: null }),
        pointing: true,
      },
      {
        title: 'What the heads do',
        text: [
          'The lines show where head 3 looked to write the chosen digit, the tens of 57 + 48: at the two digits to be added, the 5 of 57 and the 4 of 48, and at the digits to their right, where the carry comes from.',
          'Choose another head in “Look inside”, or all. Not every one is as easy to read: head 2 looks almost only at the number that is not yet due. Training finds its own ways; “matrix” shows a head on all tokens at once.',
        ],
        prepare: () => this.#ask({ model: 'adder-tiny', levels: [], head: 2 }),
        pointing: true,
      },
      {
        title: 'Beyond the training lengths',
        text: [
          `This model has ${count(tiny?.parameters ?? 9296)} parameters and has never seen more than ten numbers of ten digits. Below it adds twenty of twenty, by the same small steps.`,
          'Not every model does. The one with learned position vectors, adder-coupling, is right where it was trained; further out it slips, and what should have been written is marked. The grids show how far each carries.',
        ],
        more: () => [
          make(
            'button',
            { type: 'button', onclick: () => this.#ask({ model: 'adder-coupling', problem: SLIPPERY, levels: null }) },
            'Watch adder-coupling slip',
          ),
          make('button', { type: 'button', onclick: () => this.#grids() }, 'See the grids'),
        ],
        prepare: () => {
          this.#plain({ levels: null });
          return this.solve.surprise('adder-tiny', 20, 20, 1);
        },
      },
      {
        title: 'The theorem',
        text: [
          'Is it luck of training? The paper proves that one layer of four heads can add, by writing the weights down. Here they are at work, in the same program as all the other models.',
          `For thirty numbers of thirty digits it takes ${theorem?.width ?? 41} dimensions and ${count(theorem?.parameters ?? 19926)} parameters, none of them trained. Look at its heads: the first looks at the two digits to add, the second at the two added just before, for the carry; the third asks whether a column is left, the fourth whether a number is. A share of each goes to the $ at the beginning: what is left of it tells how many digits were found.`,
        ],
        prepare: () => this.#ask({ model: 'theorem', levels: null }),
        pointing: true,
      },
    ];
  }

  #grids() {
    Object.assign(this.state, { grid: 'adder-coupling', beside: 'adder-tiny' });
    this.hide();
    this.go('grids');
  }

  #plain(more) {
    Object.assign(this.state, {
      view: 'solve',
      layout: 'paper',
      at: null,
      when: 'writing',
      layer: 0,
      head: null,
      ...more,
    });
    this.go('solve', { quietly: true, push: false });
    this.moved();
  }

  async #ask({ model, problem = PROBLEM, levels, head = null }) {
    this.#plain({ model, problem, levels, head });
    await this.solve.enter();
  }

  /** Point at the tens digit of 57+48, which takes a carry. */
  #point() {
    const { sheet } = this.solve;
    const at = sheet.page?.problem === PROBLEM ? sheet.page.names.indexOf('tens digit of partial sum 2') : -1;
    if (at < 0) return;
    sheet.held = true;
    sheet.choose(at);
  }

  /** A step, counted from 1; the browser's back button leads to the one before, unless one came by it. */
  async show(number, { push = true } = {}) {
    const steps = this.#steps();
    const step = steps[Math.min(Math.max(number, 1), steps.length) - 1];
    this.state.tour = steps.indexOf(step) + 1;
    find('tour').hidden = false;
    document.body.classList.add('touring');
    find('tour-step').textContent = `Step ${this.state.tour} of ${steps.length}`;
    find('tour-title').textContent = step.title;
    find('tour-text').replaceChildren(...step.text.map((words) => make('p', {}, words)));
    find('tour-more').replaceChildren(...(step.more?.() ?? []));
    find('tour-back').disabled = this.state.tour === 1;
    find('tour-next').textContent = this.state.tour === steps.length ? 'Done' : 'Next';
    find('tour-title').focus({ preventScroll: true });
    this.go('solve', { quietly: true, push });
    scrollTo({ top: 0 });
    const own = this.state.tour;
    await step.prepare();
    if (step.pointing && this.state.tour === own) this.#point();
  }

  hide() {
    this.state.tour = 0;
    find('tour').hidden = true;
    document.body.classList.remove('touring');
  }

  end() {
    this.hide();
    this.solve.showLevels(null);
    this.go(this.state.view, { quietly: true, push: false });
    this.moved();
    find('problem').focus({ preventScroll: true });
  }
}
