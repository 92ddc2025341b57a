// The whole attention matrix of a head, one row a token that looks, one column a token that is looked at.

import * as api from './api.js';
import { make, percent } from './dom.js';
import { saveCanvas } from './picture.js';

/** Written lines of a page, for the axes: {name, from, to} each. */
function linesOf(page, count) {
  const lines = [];
  for (let index = 0; index < count; index += 1) {
    const [role, line] = [page.roles[index] ?? '', page.lines[index] ?? 0];
    const last = lines.at(-1);
    if (last && last.role === role && last.line === line && role !== '$') last.to = index + 1;
    else lines.push({ role, line, from: index, to: index + 1 });
  }
  const several = (role) => lines.filter((line) => line.role === role).length > 1;
  for (const line of lines)
    line.name =
      line.role === '$' ? page.names[line.from] : several(line.role) ? `${line.role} ${line.line}` : line.role;
  return lines;
}

/** Open the window; `asked` is what the API wants to know, `from` the row to begin at, and
 *  `choose(index)` goes to a token of the page. */
export async function openMatrix(dialog, offer, page, asked, from, layer, head, choose) {
  let matrix = null;
  let [row, column] = [from, 0];
  const title = make('h2', { id: 'matrix-title' }, '');
  const canvas = make('canvas', { tabindex: 0, role: 'img', 'aria-label': 'Attention', autofocus: true });
  const about = make('p', { class: 'status', role: 'status', 'aria-live': 'polite' }, 'Looking …');
  const labels = make(
    'p',
    { class: 'faint' },
    'Rows look, columns are looked at. Point, or use the arrow keys; Enter goes to the row’s token on the page.',
  );
  const select = (name, count, chosen, word) =>
    make(
      'select',
      {
        'aria-label': word,
        onchange: (event) => {
          if (name === 'layer') layer = Number(event.target.value);
          else head = Number(event.target.value);
          load();
        },
      },
      ...Array.from({ length: count }, (_, number) =>
        make('option', { value: number, selected: number === chosen }, `${word} ${number + 1}`),
      ),
    );
  dialog.replaceChildren(
    title,
    make(
      'div',
      { class: 'pickers' },
      select('layer', offer.layers, layer, 'layer'),
      select('head', offer.heads, head, 'head'),
      make(
        'button',
        { type: 'button', onclick: () => saveCanvas(canvas, `${offer.name}-layer${layer + 1}-head${head + 1}.png`) },
        'Save PNG',
      ),
      make('form', { method: 'dialog' }, make('button', { class: 'primary' }, 'Close')),
    ),
    about,
    make('div', { class: 'matrix-frame' }, canvas),
    labels,
  );
  if (!dialog.open) dialog.showModal();

  async function load() {
    title.textContent = `${offer.name}: layer ${layer + 1}, head ${head + 1}`;
    about.textContent = 'Looking …';
    const wanted = [layer, head];
    try {
      const found = await api.post('/api/attention/head', { ...asked, layer, head });
      if (wanted[0] !== layer || wanted[1] !== head) return; // another has been chosen meanwhile
      matrix = found;
      about.textContent = `${matrix.tokens.length} tokens; weights below ${percent(matrix.least)} are left out.`;
      row = Math.min(row, matrix.tokens.length - 1);
      column = matrix.rows[row].keys[matrix.rows[row].weights.indexOf(Math.max(...matrix.rows[row].weights))] ?? 0;
      canvas.setAttribute('aria-label', `Attention of head ${head + 1}: ${matrix.tokens.length} rows and columns`);
      draw();
    } catch (error) {
      about.textContent = error.message;
    }
  }

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function measures() {
    const count = matrix.tokens.length;
    const room = Math.max(240, Math.min(dialog.clientWidth - 48, innerHeight - 250));
    const cell =
      count <= 60
        ? Math.max(9, Math.min(18, Math.floor((room - 130) / count)))
        : Math.max(1, Math.min(8, (room - 100) / count));
    const top = cell >= 9 ? cell + 6 : 4;
    return { count, cell, top, left: top + 96 };
  }

  function draw() {
    const { count, cell, top, left } = measures();
    const [width, height] = [Math.ceil(left + count * cell) + 2, Math.ceil(top + count * cell) + 2];
    const sharp = window.devicePixelRatio || 1;
    Object.assign(canvas, { width: width * sharp, height: height * sharp });
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ink = canvas.getContext('2d');
    ink.scale(sharp, sharp);
    ink.fillStyle = style('--card');
    ink.fillRect(0, 0, width, height);
    ink.fillStyle = style('--paper');
    ink.beginPath();
    ink.moveTo(left, top);
    ink.lineTo(left, height);
    ink.lineTo(width, height);
    ink.closePath();
    ink.fill();
    frame(ink, count, cell, top, left);
    ink.fillStyle = style(`--head-${head % 8}`);
    const square = Math.max(cell - (cell > 5 ? 1 : 0), 0.8);
    matrix.rows.forEach(({ keys, weights }, query) =>
      keys.forEach((key, place) => {
        ink.globalAlpha = 0.1 + 0.9 * weights[place];
        ink.fillRect(left + key * cell, top + query * cell, square, square);
      }),
    );
    ink.globalAlpha = 1;
    ink.fillStyle = ink.strokeStyle = style('--ink');
    if (cell >= 9) {
      ink.font = `${Math.min(12, cell)}px ui-monospace, monospace`;
      ink.textAlign = 'center';
      ink.textBaseline = 'middle';
      matrix.tokens.forEach((token, index) => {
        ink.fillText(token, left - top / 2, top + (index + 0.5) * cell);
        ink.fillText(token, left + (index + 0.5) * cell, top / 2);
      });
    }
    ink.lineWidth = 1.5;
    ink.strokeRect(left + column * cell - 1, top + row * cell - 1, cell + 1, cell + 1);
  }

  /** Lines between the written lines, the one between given and written stronger, and their names on the left. */
  function frame(ink, count, cell, top, left) {
    const given = count - asked.response.length;
    ink.textAlign = 'right';
    ink.textBaseline = 'middle';
    let free = 0;
    for (const line of linesOf(page, count)) {
      ink.strokeStyle = style(line.from === given ? '--line-strong' : '--square');
      ink.lineWidth = 1;
      const [x, y] = [left + line.from * cell - 0.5, top + line.from * cell - 0.5];
      ink.beginPath();
      ink.moveTo(left, y);
      ink.lineTo(left + count * cell, y);
      ink.moveTo(x, top);
      ink.lineTo(x, top + count * cell);
      ink.stroke();
      const middle = top + ((line.from + line.to) / 2) * cell;
      if (middle - free < 11) continue;
      free = middle;
      ink.fillStyle = style('--faint');
      ink.font = '10.5px system-ui, sans-serif';
      ink.fillText(line.name, left - (cell >= 9 ? top : 4) - 4, middle);
    }
  }

  function say() {
    const { keys, weights } = matrix.rows[row];
    const place = keys.indexOf(column);
    const weight =
      column > row ? 'not yet written' : place < 0 ? `below ${percent(matrix.least)}` : percent(weights[place]);
    about.textContent = `From ${matrix.names[row]} (${matrix.tokens[row]}) to ${matrix.names[column]} (${matrix.tokens[column]}): ${weight}.`;
    draw();
  }

  /** Go to the cell under the pointer; false if it is there already, or if there is none. */
  function pointed(event) {
    const { count, cell, top, left } = measures();
    const [x, y] = [Math.floor((event.offsetX - left) / cell), Math.floor((event.offsetY - top) / cell)];
    if (x < 0 || y < 0 || x >= count || y >= count || (x === column && y === row)) return false;
    [row, column] = [y, x];
    say();
    return true;
  }

  canvas.onpointermove = (event) => matrix && pointed(event);
  canvas.onkeydown = (event) => {
    if (!matrix) return;
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const last = matrix.tokens.length - 1;
    if (step) {
      event.preventDefault();
      row = Math.max(0, Math.min(last, row + step[0]));
      column = Math.max(0, Math.min(last, column + step[1]));
      say();
    } else if (event.key === 'Enter') {
      dialog.close();
      choose(row);
    }
  };
  canvas.onclick = (event) => {
    if (!matrix || pointed(event)) return; // a finger chooses a cell first, and goes there with the second tap
    dialog.close();
    choose(row);
  };
  await load();
}
