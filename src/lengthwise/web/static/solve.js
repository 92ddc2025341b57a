// The view where a model solves a problem before one's eyes.

import * as api from './api.js';
import { find, make, toast } from './dom.js';
import { Form, taskOf } from './form.js';
import { Inside } from './inside.js';
import { savePng, saveSvg } from './picture.js';
import { Sheet } from './sheet.js';
import { asText } from './text.js';

const SLOWEST = 14; // tokens a second, for a page of a few
const LONGEST = 5; // seconds that showing a long page takes, if the model is that fast

export class Solve {
  /** `models` as the API lists them; `moved()` is called when the address should follow. */
  constructor(models, state, moved) {
    Object.assign(this, { state, moved });
    this.form = new Form(models);
    this.sheet = new Sheet(find('sheet'), (index) => {
      state.at = this.sheet.held ? index : null; // what the mouse only passes over is nobody's choice
      this.inside.show(index);
      moved();
    });
    this.inside = new Inside(find('inside'), this.sheet, state, moved);
    this.#listen();
  }

  /** Show a state: its model, its problem, solved. */
  async enter() {
    const { state } = this;
    if (state.model && this.form.offer(state.model)) this.form.choose(state.model);
    else if (state.model)
      toast(`There is no model ‘${state.model.slice(0, 60)}’ here: another is asked.`, { stay: true });
    this.form.problem = state.problem;
    document.querySelector(`input[name=layout][value=${state.layout}]`).checked = true;
    this.sheet.setLayout(state.layout);
    if (state.problem) await this.solve({ at: state.at, push: false });
  }

  /** Ask the model; `at` is the token to look at in the end. */
  async solve({ at = null, push = true } = {}) {
    const { problem } = this.form;
    if (!problem) {
      this.#say('There is no problem yet: type a sum, a product or bits.', 'bad');
      find('problem').focus();
      return;
    }
    this.stop();
    this.drawing = null;
    this.form.chooseFor(problem);
    const offer = this.form.offer();
    Object.assign(this.state, { problem: problem.replaceAll(' ', ''), model: offer.name, at: null });
    this.moved({ push });
    const running = { asking: new AbortController(), waiting: [], verdict: null, began: false };
    this.running = running;
    this.#busy(true);
    this.#say(`Asking ${offer.name} …`);
    try {
      await api.watch(
        taskOf(problem) ? offer.name : '', // what is no problem of any task is refused as such
        problem,
        (name, data) => this.#happened(running, offer, name, data),
        running.asking.signal,
      );
      await running.shown;
      if (running === this.running && !running.verdict && !running.failed)
        this.#say('The server closed the connection before the end.', 'bad');
    } catch (error) {
      if (error.name !== 'AbortError') {
        this.#say(error.message, 'bad');
        if (error.status && !running.begun) find('work').hidden = true; // what stands there is another problem's
      }
    } finally {
      if (running === this.running) {
        this.running = null;
        this.#busy(false);
      }
    }
    if (at !== null && at < this.sheet.tokens.length) {
      this.sheet.held = true;
      this.sheet.choose(at, { inSight: !running.scrolled });
    }
  }

  stop() {
    if (this.running) {
      this.running.asking.abort();
      cancelAnimationFrame(this.running.frame);
      this.#say('Stopped.');
    }
    this.running = null;
    this.#busy(false);
  }

  #happened(running, offer, name, data) {
    if (running !== this.running) return;
    if (name === 'line') this.#say(`Waiting in line: ${data.ahead === 0 ? 'next' : `${data.ahead} ahead`} …`);
    else if (name === 'page') this.#begin(running, offer, data);
    else if (name === 'tokens')
      data.tokens.forEach((token, place) =>
        running.waiting.push({ token, ids: data.ids.map((level) => level[place]), likely: data.probabilities[place] }),
      );
    else if (name === 'verdict') running.verdict = data;
    else if (name === 'error') {
      running.failed = true;
      this.#say(data.error, 'bad');
    }
  }

  #begin(running, offer, page) {
    find('work').hidden = false;
    running.begun = true;
    this.verdict = null;
    this.sheet.layout = this.state.layout;
    this.#fillLevels(page.levels);
    this.sheet.begin(page);
    this.inside.begin(offer);
    const total = page.tokens.length - page.prompt;
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const speed = still ? 1e9 : Math.max(SLOWEST, total / LONGEST);
    for (const kind of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
      addEventListener(
        kind,
        () => {
          running.scrolled = true;
        },
        { once: true, passive: true },
      );
    running.shown = new Promise((resolve) => {
      let [last, owed] = [performance.now(), 1];
      const frame = (now) => {
        if (running !== this.running) {
          resolve();
          return;
        }
        owed = Math.min(owed + (Math.max(0, now - last) / 1000) * speed, running.waiting.length + 1);
        last = now;
        const steps = running.waiting.splice(0, Math.floor(owed));
        owed -= steps.length;
        if (steps.length) this.sheet.write(steps);
        if (steps.length && !still && !running.scrolled && !this.state.tour) this.sheet.follow();
        const done = this.sheet.tokens.length - page.prompt;
        if (running.waiting.length === 0 && running.verdict) {
          this.#judge(running.verdict);
          resolve();
          return;
        }
        if (running.failed) {
          resolve();
          return;
        }
        if (done)
          this.#say(
            `${offer.name} writes: ${done.toLocaleString('en')} of ${total.toLocaleString('en')} tokens`,
            '',
            true,
          );
        running.frame = requestAnimationFrame(frame);
      };
      running.frame = requestAnimationFrame(frame);
    });
  }

  #judge(verdict) {
    this.verdict = verdict;
    const answer = verdict.answer ?? 'No answer';
    const words = verdict.correct
      ? 'right, every token of it'
      : verdict.answer_correct
        ? `the answer is right, but ${verdict.mistake}`
        : `${verdict.answer === null ? '' : 'wrong'}: ${verdict.mistake}`;
    const status = find('status');
    status.className = `status ${verdict.correct ? 'good' : 'bad'}`;
    status.replaceChildren(
      make('span', { class: 'mark', 'aria-hidden': 'true' }, verdict.correct ? '✓' : '✗'),
      make('strong', { class: 'answer' }, answer),
      make('span', {}, `${words.startsWith(':') ? '' : ' '}${words}. `),
      make(
        'span',
        { class: 'faint' },
        `Checked by ${verdict.checked_by}${verdict.answer_correct ? '' : `, which say ${verdict.right_answer}`}; ${verdict.response.length.toLocaleString('en')} tokens in ${verdict.seconds.toFixed(2)} s. `,
      ),
    );
    if (verdict.first_mistake !== null && verdict.first_mistake < this.sheet.tokens.length) {
      status.append(
        make(
          'button',
          {
            type: 'button',
            onclick: () => {
              this.sheet.held = true;
              this.sheet.choose(verdict.first_mistake, { focus: true });
            },
          },
          'Go to the first mistake',
        ),
      );
    }
  }

  // The form and the tools.

  #fillLevels(levels) {
    const place = find('levels');
    const on = new Set((this.state.levels ?? levels).filter((name) => levels.includes(name)));
    if (this.state.levels) this.state.levels = on.size === levels.length ? null : [...on];
    place.replaceChildren(
      place.querySelector('legend'),
      ...levels.map((name) =>
        make(
          'label',
          {},
          make('input', { type: 'checkbox', value: name, checked: on.has(name) }),
          make('span', {}, name),
        ),
      ),
    );
    this.sheet.levels = on;
  }

  /** Draw a problem of a size and solve it. */
  async surprise(model, length, count, seed = Math.floor(Math.random() * 1e9)) {
    this.form.choose(model);
    const drawing = {};
    this.drawing = drawing;
    try {
      const { problem } = await api.get('/api/problem', { model, length, count, seed });
      if (drawing !== this.drawing) return; // something else has been asked meanwhile
      this.form.problem = problem;
    } catch (error) {
      if (drawing === this.drawing) this.#say(error.message, 'bad');
      return;
    }
    await this.solve();
  }

  #listen() {
    find('ask').addEventListener('submit', (event) => {
      event.preventDefault();
      this.solve();
    });
    find('problem').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) {
        event.preventDefault();
        this.solve();
      }
    });
    find('stop').addEventListener('click', () => {
      this.stop();
      find('problem').focus();
    });
    find('model').addEventListener('change', () => {
      this.form.describe();
      const model = this.form.offer();
      if (taskOf(this.form.problem) !== model.task) this.form.problem = model.example;
      this.solve();
    });
    find('dice').addEventListener('submit', (event) => {
      event.preventDefault();
      const { length, count } = this.form.size;
      this.surprise(this.form.offer().name, length, count);
    });
    document
      .querySelectorAll('input[name=layout]')
      .forEach((input) => input.addEventListener('change', () => this.setLayout(input.value)));
    find('levels').addEventListener('change', () => {
      const on = [...find('levels').querySelectorAll('input:checked')].map((input) => input.value);
      this.showLevels(on.length === this.sheet.page.levels.length ? null : on);
    });
    find('copy-text').addEventListener('click', () =>
      copy(`${this.#caption()}\n\n${asText(this.sheet)}\n\n${location.href}\n`, 'The page is copied as text.'),
    );
    find('copy-link').addEventListener('click', () => copy(location.href, 'The link is copied.'));
    find('save-png').addEventListener('click', () => savePng(find('sheet'), this.#caption(), `${this.#file()}.png`));
    find('save-svg').addEventListener('click', () => saveSvg(find('sheet'), this.#caption(), `${this.#file()}.svg`));
  }

  /** Colour by these levels; by all with null. */
  showLevels(levels) {
    this.state.levels = levels;
    if (this.sheet.page) {
      this.#fillLevels(this.sheet.page.levels);
      this.sheet.setLevels(levels ?? this.sheet.page.levels);
    }
    this.moved();
  }

  setLayout(layout) {
    this.state.layout = layout;
    document.querySelector(`input[name=layout][value=${layout}]`).checked = true;
    this.sheet.setLayout(layout);
    if (this.sheet.chosen !== null) this.inside.show(this.sheet.chosen);
    this.moved();
  }

  #caption() {
    const { problem, model } = this.sheet.page;
    const short = problem.length > 60 ? `${problem.slice(0, 40)}…` : problem;
    const verdict = this.verdict
      ? ` = ${this.verdict.answer ?? '?'} (${this.verdict.correct ? 'right' : 'wrong'})`
      : '';
    return `${short}${verdict.length > 70 ? '' : verdict}, written by ${model} with lengthwise`;
  }

  #file() {
    const { problem, model } = this.sheet.page;
    return `${model}-${problem.slice(0, 24).replace(/[^0-9]+/g, '-')}`;
  }

  #busy(busy) {
    find('stop').hidden = !busy;
    find('sheet').setAttribute('aria-busy', String(busy));
  }

  /** Words in the status line; running ones are not read aloud again and again. */
  #say(words, kind = '', running = false) {
    const status = find('status');
    status.setAttribute('aria-live', running ? 'off' : 'polite');
    status.className = `status ${kind}`;
    status.textContent = words;
  }
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    const box = make('textarea', {}, text);
    document.body.append(box);
    box.select();
    const copied = document.execCommand('copy'); // where the page is not served from this machine or by https
    box.remove();
    if (copied) toast(done);
    else toast('The browser does not let this page copy.', { stay: true });
  }
}
