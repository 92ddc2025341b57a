// The view of measured grids: heatmaps whose squares can be pressed.

import * as api from './api.js';
import { inkOn, rateColour } from './colours.js';
import { find, make, percent, toast } from './dom.js';
import { firstChoice } from './form.js';
import { savePng, saveSvg } from './picture.js';

export class Grids {
  /** `draw(model, length, count)` solves a problem of a size, in the other view. */
  constructor(list, models, state, moved, draw) {
    Object.assign(this, { list, models, state, moved, draw });
    this.known = new Map();
    for (const name of ['grid', 'beside']) {
      const select = find(name);
      if (name === 'beside') select.append(make('option', { value: '' }, 'nothing'));
      for (const [label, grids] of grouped(list, models)) {
        select.append(
          make(
            'optgroup',
            { label },
            ...grids.map(({ grid, title }) =>
              make(
                'option',
                { value: grid.name },
                `${title}${grid.problems === 'random' ? '' : ` (${grid.problems})`}`,
              ),
            ),
          ),
        );
      }
      select.addEventListener('change', () => {
        state[name] = select.value;
        moved();
        this.show();
      });
    }
    find('grid-png').addEventListener('click', () => savePng(find('maps'), this.#caption(), 'grids.png'));
    find('grid-svg').addEventListener('click', () => saveSvg(find('maps'), this.#caption(), 'grids.svg'));
  }

  async enter() {
    const { state, list } = this;
    if (!list.some((grid) => grid.name === state.grid))
      state.grid = list.find((grid) => grid.name === 'adder-coupling')?.name ?? list[0]?.name ?? '';
    if (!list.some((grid) => grid.name === state.beside)) state.beside = '';
    find('grid').value = state.grid;
    find('beside').value = state.beside;
    this.moved();
    await this.show();
  }

  async show() {
    const about = find('cell-about');
    const maps = find('maps');
    if (!this.state.grid) {
      about.textContent = 'There are no grids here: lengthwise evaluate makes them.';
      return;
    }
    about.className = 'status';
    about.textContent = '';
    try {
      const names = [this.state.grid, this.state.beside].filter(Boolean);
      const grids = await Promise.all(names.map((name) => this.#load(name)));
      maps.replaceChildren(...grids.map((grid, number) => this.#map(grid, number)), legend());
    } catch (error) {
      about.className = 'status bad';
      about.textContent = error.message;
    }
  }

  async #load(name) {
    if (!this.known.has(name)) this.known.set(name, await api.get(`/api/grids/${encodeURIComponent(name)}`));
    return this.known.get(name);
  }

  #map(measured, number) {
    const { grid } = measured;
    const lone = !grid.axes.count;
    const order = (values) => values.map((value, place) => ({ value, place })).sort((a, b) => a.value - b.value);
    const lengths = order(grid.axes.length);
    const counts = lone ? [{ value: null, place: 0 }] : order(grid.axes.count);
    // Lengths go upward and counts rightward; where there are lengths only, they go rightward.
    const rows = lone ? counts : lengths.toReversed();
    const columns = lone ? lengths : counts;
    const product = measured.task === 'multiplication';
    const words =
      measured.task === 'parity'
        ? ['bits', '']
        : product
          ? ['digits of the first factor', 'digits of the second factor']
          : ['digits of each number', 'numbers'];
    const table = make('table', {
      class: `heat${columns.length > 14 || rows.length > 14 ? ' fine' : ''}`,
      role: 'grid',
      'aria-label': `${measured.title}: accuracy by ${words.filter(Boolean).join(' and ')}`,
    });
    const every = Math.ceil(Math.max(rows.length, columns.length) / 14);
    const ticked = (entries, place) => entries.length <= 14 || entries[place].value % (every < 3 ? every : 5) === 0;
    rows.forEach((row, down) => {
      const line = make(
        'tr',
        { role: 'row' },
        make('th', { scope: 'row', class: 'tick' }, lone || !ticked(rows, down) ? '' : String(row.value)),
      );
      columns.forEach((column, across) => {
        const [length, count] = lone ? [column, row] : [row, column];
        line.append(this.#cell(measured, number, length, count, down, across));
      });
      table.append(line);
    });
    const foot = make(
      'tr',
      {},
      make('th', {}),
      ...columns.map((column, place) =>
        make('th', { scope: 'col', class: 'tick' }, ticked(columns, place) ? String(column.value) : ''),
      ),
    );
    table.append(foot);
    table.addEventListener('keydown', (event) => this.#pressed(event, table, rows.length, columns.length));
    table.querySelector('.cell')?.setAttribute('tabindex', '0');
    return make(
      'figure',
      { class: 'map' },
      make(
        'figcaption',
        {},
        make('h3', {}, measured.title),
        make('p', { class: 'faint', 'data-draw': '' }, this.#about(measured)),
      ),
      make('div', { class: 'axes' }, make('span', { class: 'upward', 'data-draw': '' }, lone ? '' : words[0]), table),
      make('p', { class: 'rightward faint', 'data-draw': '' }, lone ? words[0] : words[1]),
    );
  }

  #about({ grid, model, parameters, encoding, trained_on: trained, samples, lowest }) {
    const size = Object.values(trained).join(' × ');
    const rates = [...new Set(grid.total.flat())];
    return [
      encoding?.name ?? encoding,
      parameters && `${parameters.toLocaleString('en')} parameters`,
      size && `trained up to ${size}`,
      `${(rates.length === 1 ? rates[0] : samples).toLocaleString('en')} ${grid.problems === 'random' ? 'random' : grid.problems} problems a square, ${grid.decoding}`,
      lowest !== null && `lowest ${percent(lowest)}`,
      !model && 'its model is not here',
    ]
      .filter(Boolean)
      .join(' · ');
  }

  #cell(measured, number, length, count, down, across) {
    const { grid, trained_on: trained } = measured;
    const rate = grid.accuracy[length.place][count.place];
    const cell = make('td', {
      class: 'cell',
      tabindex: -1,
      role: 'gridcell',
      'data-draw': '',
      'data-at': `${down},${across}`,
      'data-length': length.value,
      'data-count': count.value ?? '',
      'aria-label': this.#words(measured, length.value, count.value),
    });
    if (rate !== null) {
      cell.style.backgroundColor = rateColour(rate);
      cell.style.color = inkOn(rate);
      if (Math.max(grid.axes.length.length, grid.axes.count?.length ?? 0) <= 12)
        cell.textContent = Math.floor(rate * 100 + 1e-9);
    } else cell.classList.add('unmeasured');
    const within = (size) =>
      size.length <= (trained.length ?? -1) && (size.count === null || size.count <= (trained.count ?? -1));
    if (within({ length: length.value, count: count.value })) {
      cell.classList.add('trained');
      const beyond = (axis, value) => !grid.axes[axis]?.some((other) => other > value && other <= trained[axis]);
      if (beyond('length', length.value)) cell.classList.add(grid.axes.count ? 'edge-top' : 'edge-right');
      if (grid.axes.count && beyond('count', count.value)) cell.classList.add('edge-right');
    }
    const tell = () => this.#tell(length.value, count.value);
    cell.addEventListener('pointerenter', tell);
    cell.addEventListener('focus', tell);
    cell.addEventListener('click', () => this.#press(measured, length.value, count.value));
    return cell;
  }

  #words(measured, length, count) {
    const { grid, title, task } = measured;
    const [row, column] = [grid.axes.length.indexOf(length), count === null ? 0 : grid.axes.count.indexOf(count)];
    const size =
      task === 'multiplication'
        ? `${length} × ${count} digits`
        : count === null
          ? `${length} bits`
          : `${count} numbers of ${length} digits`;
    if (row < 0 || column < 0 || grid.total[row][column] === null) return `${title}, ${size}: not measured`;
    const [low, high] = grid.intervals[row][column];
    return `${title}, ${size}: ${grid.correct[row][column]} of ${grid.total[row][column]} right (${percent(grid.accuracy[row][column])}, 95% interval ${percent(low)} to ${percent(high)})`;
  }

  /** What all grids on view say of a size. */
  #tell(length, count) {
    const shown = [this.state.grid, this.state.beside]
      .filter(Boolean)
      .map((name) => this.known.get(name))
      .filter(Boolean);
    const fitting = shown.filter(({ grid }) => Boolean(grid.axes.count) === (count !== null));
    const about = find('cell-about');
    about.className = 'status';
    about.textContent = `${fitting.map((measured) => this.#words(measured, length, count)).join(';  ')}.`;
    document.querySelectorAll('.cell.twin').forEach((cell) => cell.classList.remove('twin'));
    document
      .querySelectorAll(`.cell[data-length="${length}"][data-count="${count ?? ''}"]`)
      .forEach((cell) => cell.classList.add('twin'));
  }

  async #press(measured, length, count) {
    const model = measured.model ?? firstChoice(this.models, measured.task)?.name;
    const other = measured.model ? '' : `The model of this grid is not here: ${model} is asked instead.`;
    if (!model) {
      find('cell-about').textContent = `There is no model for ${measured.task} here to ask.`;
      return;
    }
    try {
      await api.get('/api/problem', { model, length, count, seed: 0 }); // refused here, where one can read why
      if (other) toast(other, { stay: true });
      this.draw(model, length, count);
    } catch (error) {
      find('cell-about').className = 'status bad';
      find('cell-about').textContent = error.message;
    }
  }

  #pressed(event, table, rows, columns) {
    const cell = event.target.closest('.cell');
    if (!cell) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      cell.click();
      return;
    }
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [down, across] = cell.dataset.at.split(',').map(Number);
    const next = table.querySelector(
      `[data-at="${Math.min(rows - 1, Math.max(0, down + step[0]))},${Math.min(columns - 1, Math.max(0, across + step[1]))}"]`,
    );
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  #caption() {
    return `Whole responses without a mistake; the red line is the training size. ${[this.state.grid, this.state.beside].filter(Boolean).join(', ')}; lengthwise`;
  }
}

/** Grids by the folder they come from, those in the box first: [label, [{grid, title}]]. */
function grouped(list, models) {
  const groups = new Map();
  for (const grid of list) {
    const boxed = models.some((model) => model.name === grid.model && model.kind === 'box');
    const parts = grid.title.split(' / ');
    const label = boxed ? 'In the box' : parts.slice(0, -1).join(' / ') || 'Measured';
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push({ grid, title: parts.at(-1) });
  }
  return groups;
}

function legend() {
  const steps = Array.from({ length: 11 }, (_, step) => {
    const piece = make('span', { 'data-draw': '' });
    piece.style.backgroundColor = rateColour(step / 10);
    return piece;
  });
  return make(
    'div',
    { class: 'legend', 'aria-hidden': 'true' },
    make('span', { class: 'tick' }, '0%'),
    ...steps,
    make('span', { class: 'tick' }, '100%'),
  );
}
