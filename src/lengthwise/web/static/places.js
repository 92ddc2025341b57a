// Where tokens stand on paper: numbers under each other, units under units, a symbol one place right of the units.
//
// `layOut(page, columns)` gives panels, each with its rows and columns, and for every token of the right page a spot:
// {panel, x, y}. Bits are wrapped into lines of at most `columns`.

/** Tokens of one written line: {role, line, indices, digits}. */
function linesOf(page) {
  const lines = [];
  page.tokens.forEach((_, index) => {
    const [role, line] = [page.roles[index], page.lines[index]];
    const last = lines.at(-1);
    const given = index < page.prompt;
    if (last && last.role === role && last.line === line && last.given === given && role !== '$')
      last.indices.push(index);
    else lines.push({ role, line, given, indices: [index] });
  });
  for (const line of lines) line.digits = line.indices.filter((index) => page.places[index] !== null);
  return lines;
}

function plural(role, several) {
  return several ? `${role}s` : role;
}

export function layOut(page, columns) {
  const bits = page.task === 'parity';
  const lines = linesOf(page);
  const panels = [];
  const spots = new Array(page.tokens.length);
  let panel = null;
  let opening = [];
  for (const line of lines) {
    if (!line.digits.length) {
      if (!panel) opening.push(...line.indices);
      else if (line.given || line.indices[0] < page.tokens.length - 1)
        place(panel, panel.rows - 1, line.indices[0], -1);
      else place(panel, panel.rows - 1, line.indices[0], panel.next);
      continue;
    }
    const title = bits ? 'bits' : line.given ? 'given' : line.role;
    if (!panel || panel.title !== title) {
      panel = { title, roles: [], rows: 0, tops: [], labels: [], cells: [] };
      panels.push(panel);
    }
    panel.roles.push(line.role);
    panel.labels.push(line.line);
    const places = line.digits.map((index) => page.places[index]);
    panel.tops.push(Math.max(...places));
    panel.rows += 1;
    for (const index of opening) place(panel, panel.rows - 1, index, panel.tops.at(-1) + 1);
    opening = [];
    const below = Math.min(...places) - 1;
    for (const index of line.indices) place(panel, panel.rows - 1, index, page.places[index] ?? below);
    const rightward =
      (places.length > 1 ? places.at(-1) < places[0] : bits) && line.digits.length === line.indices.length;
    panel.next = rightward ? below : panel.tops.at(-1) + 1; // where the pen would go on
  }
  function place(where, row, index, value) {
    where.cells.push({ index, row, value });
  }
  panels.forEach((each, number) => finish(each, number, bits ? columns : Infinity, spots));
  for (const each of panels) {
    each.name = nameOf(each, page, bits);
    if (new Set(each.labels).size < each.labels.length) each.labels = []; // two factors: no numbers are needed
  }
  return { panels, spots };
}

function finish(panel, number, most, spots) {
  const values = panel.cells.map((cell) => cell.value);
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const wide = high - low + 1;
  panel.columns = Math.min(wide, most);
  const wrapped = wide > most;
  for (const { index, row, value } of panel.cells) {
    const x = high - value;
    const chunk = wrapped ? Math.floor(x / most) : 0;
    spots[index] = { panel: number, x: wrapped ? x % most : x, y: row + chunk * (panel.rows + 1) };
  }
  if (wrapped) {
    const chunks = Math.ceil(wide / most);
    panel.rows = chunks * (panel.rows + 1) - 1;
    panel.labels = [];
  }
  delete panel.cells;
}

function nameOf(panel, page, bits) {
  if (bits) return [...new Set(panel.roles)].join(', under it ');
  if (panel.title === 'given') return page.task === 'multiplication' ? 'given: two numbers' : 'given: the numbers';
  return `written: ${plural(panel.title, panel.rows > 1)}`;
}
