// Where heads looked, on the sheet: rings around the tokens, and arcs from the token that looked.

const FAINTEST = 0.03; // weights below it get no arc

/** `looks` are {index, weight, colour}; a token that several heads looked at has the ring of the strongest. */
export function drawLooks(sheet, from, looks) {
  const { root, overlay, tokens } = sheet;
  const home = root.getBoundingClientRect();
  overlay.setAttribute('width', root.scrollWidth);
  overlay.setAttribute('height', root.scrollHeight);
  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2 - home.x, box.y + box.height / 2 - home.y];
  };
  const [x, y] = middle(tokens[from].element);
  const side = sheet.layout === 'flat' ? -1 : 1;
  const half = tokens[from].element.offsetWidth / 2;
  const strongest = new Map();
  for (const { index, weight, colour } of looks) {
    if (!tokens[index]) continue;
    if (weight > (strongest.get(index)?.weight ?? 0)) strongest.set(index, { weight, colour });
    if (weight < FAINTEST) continue;
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', arc(x, y, ...middle(tokens[index].element), side, half));
    path.style.stroke = colour;
    path.style.strokeWidth = 1 + 4.5 * weight;
    path.style.opacity = 0.3 + 0.6 * weight;
    overlay.append(path);
  }
  for (const [index, { weight, colour }] of strongest) {
    const { element } = tokens[index];
    element.classList.add('looked');
    element.style.setProperty('--look', weight.toFixed(3));
    element.style.setProperty('--look-colour', colour);
  }
}

/** A curve between two squares, from edge to edge, so that what stands in them can be read. */
function arc(x, y, to, down, side, half) {
  const [dx, dy] = [to - x, down - y];
  const far = Math.hypot(dx, dy);
  if (far < 2) return `M${x} ${y - 8}a8 8 0 1 1 -0.1 0`;
  const bend = Math.min(0.28, 26 / far + 0.1);
  const [cx, cy] = [x + dx / 2 + side * dy * bend, y + dy / 2 - side * dx * bend];
  const [left, top] = edge(x, y, cx, cy, half);
  const [right, bottom] = edge(to, down, cx, cy, half);
  return `M${left} ${top}Q${cx} ${cy} ${right} ${bottom}`;
}

function edge(x, y, cx, cy, half) {
  const [dx, dy] = [cx - x, cy - y];
  const part = Math.min(0.45, (half * 0.8) / Math.max(1, Math.abs(dx), Math.abs(dy)));
  return [x + dx * part, y + dy * part].map((number) => Number(number.toFixed(1)));
}
