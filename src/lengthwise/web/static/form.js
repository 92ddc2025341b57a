// Who is asked what: the problem, the model, and the sliders for a random problem.

import { find, make } from './dom.js';

const KINDS = { box: 'In the box', theorem: 'The theorem', folder: 'Your folders' };
const PROBLEMS = { addition: 'sums', multiplication: 'products', parity: 'bits' };
const SIZES = {
  addition: ['digits each', 'numbers'],
  multiplication: ['digits of the first', 'digits of the second'],
  parity: ['bits', ''],
};
const TALLEST = 132; // pixels of the box for a long problem

/** The task that a typed problem is of, as far as its signs tell. */
export function taskOf(problem) {
  if (problem.includes('+')) return 'addition';
  if (/[*×]/.test(problem)) return 'multiplication';
  return /^[01 ]+$/.test(problem) ? 'parity' : null;
}

/** The model that is asked for problems of a task where none is named. */
export function firstChoice(models, task) {
  return models.find((model) => model.task === task && model.first_choice);
}

export class Form {
  constructor(models) {
    this.models = models;
    for (const [kind, label] of Object.entries(KINDS)) {
      const offered = models.filter((model) => model.kind === kind);
      const options = offered.map((model) => make('option', { value: model.name }, model.name));
      if (options.length) find('model').append(make('optgroup', { label }, ...options));
    }
    this.choose((firstChoice(models, 'addition') ?? models[0]).name);
    find('problem').addEventListener('input', () => this.#grow());
    for (const name of ['length', 'count']) find(name).addEventListener('input', () => this.#slid(name));
  }

  /** A model by name; without one, the one that is chosen. */
  offer(name = find('model').value) {
    return this.models.find((model) => model.name === name);
  }

  get problem() {
    return find('problem').value.replace(/\s+/g, ' ').trim();
  }

  set problem(text) {
    find('problem').value = text;
    this.#grow();
  }

  /** The size on the sliders. */
  get size() {
    return { length: find('length').value, count: find('count-label').hidden ? null : find('count').value };
  }

  choose(name) {
    find('model').value = name;
    this.describe();
  }

  /** Take a model that suits the problem, where the chosen one is for another task. */
  chooseFor(problem) {
    const task = taskOf(problem);
    if (!task || this.offer().task === task) return;
    const fitting = firstChoice(this.models, task) ?? this.models.find((model) => model.task === task);
    if (fitting) this.choose(fitting.name);
  }

  /** Say what the chosen model is, and what the sliders mean for it. */
  describe() {
    const model = this.offer();
    const size = Object.values(model.trained_on).join(' × ');
    let trained = size ? `trained on ${PROBLEMS[model.task] ?? model.task} up to ${size}` : 'training unknown';
    if (model.kind === 'theorem') trained = 'weights written down after the proof, none trained';
    find('model-about').textContent = [
      model.task,
      model.kind === 'theorem' ? null : `${model.encoding} positions`,
      `${model.layers} layer${model.layers > 1 ? 's' : ''} of ${model.heads} head${model.heads > 1 ? 's' : ''}`,
      `${model.parameters.toLocaleString('en')} parameters`,
      trained,
    ]
      .filter(Boolean)
      .join(', ');
    const [length, count] = SIZES[model.task] ?? ['length', 'count'];
    find('length-name').textContent = length;
    find('count-name').textContent = count;
    find('count-label').hidden = !count;
    const longest = model.longest_drawn;
    find('surprise').hidden = !longest.some(Boolean);
    find('length').max = Math.max(1, ...longest);
    if (count) {
      find('count').min = longest.findIndex(Boolean);
      find('count').max = longest.length - 1;
    }
    this.#slid('count');
  }

  /** A slider was moved: where both together are more than the model can take, the other one gives way. */
  #slid(moved) {
    const longest = this.offer().longest_drawn;
    const { length, count } = this.size;
    if (count !== null && longest[count] < length) {
      if (moved === 'count') find('length').value = longest[count];
      else find('count').value = longest.findLastIndex((most) => most >= length);
    }
    for (const name of ['length', 'count']) find(`${name}-shown`).textContent = find(name).value;
  }

  #grow() {
    const box = find('problem');
    box.style.height = 'auto';
    box.style.height = `${Math.min(box.scrollHeight, TALLEST) + 2}px`;
  }
}
