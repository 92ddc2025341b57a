// What the page shows, and the address that brings one back to it.

/** Everything an address may say; what is left out has these values. */
const PLAIN = {
  view: 'solve',
  model: '',
  problem: '',
  layout: 'paper',
  levels: null,
  at: null,
  when: 'writing',
  layer: 0,
  head: null,
  grid: '',
  beside: '',
  tour: 0,
};
const WHOLE = ['at', 'layer', 'head', 'tour'];

/** The state an address stands for. A `+` is a plus, as problems are full of them. */
export function read(search = location.search) {
  const state = { ...PLAIN };
  for (const part of search.replace(/^\?/, '').split('&')) {
    const [name, ...rest] = part.split('=');
    let value;
    try {
      value = decodeURIComponent(rest.join('='));
    } catch {
      continue;
    }
    if (!(name in PLAIN)) continue;
    if (WHOLE.includes(name)) {
      if (/^\d{1,6}$/.test(value)) state[name] = Number(value);
    } else if (name === 'levels') state.levels = value ? value.split(',') : [];
    else state[name] = value;
  }
  if (!['solve', 'grids'].includes(state.view)) state.view = 'solve';
  if (!['paper', 'flat'].includes(state.layout)) state.layout = 'paper';
  if (!['writing', 'reading'].includes(state.when)) state.when = 'writing';
  return state;
}

/** The address of a state: only what differs from plain, and only what its view shows. */
export function address(state) {
  if (state.tour) return `/?tour=${state.tour}`; // a step of the tour sets everything else
  const named =
    state.view === 'grids'
      ? ['view', 'grid', 'beside', 'tour']
      : ['model', 'problem', 'layout', 'levels', 'at', 'when', 'layer', 'head', 'tour'];
  const parts = [];
  for (const name of named) {
    const value = Array.isArray(state[name]) ? state[name].join(',') : state[name];
    if (value === null || value === PLAIN[name] || (value === '' && name !== 'levels')) continue;
    parts.push(`${name}=${encodeURIComponent(value).replaceAll('%2B', '+').replaceAll('%2C', ',')}`);
  }
  return parts.length ? `/?${parts.join('&')}` : '/';
}
