// The page as a whole: which view is shown, the address, keys, light and dark.

import * as api from './api.js';
import { find, letDismiss, toast } from './dom.js';
import { Grids } from './grids.js';
import { Solve } from './solve.js';
import { address, read } from './state.js';
import { Tour } from './tour.js';

const state = read();
let solve;
let grids;
let tour;

/** Let the address follow; `push` leaves the last one for the back button. */
function moved({ push = false } = {}) {
  const here = address(state);
  if (here === location.pathname + location.search) return;
  if (push) history.pushState(null, '', here);
  else history.replaceState(null, '', here);
}

/** Show a view; `quietly` leaves what is in it alone. */
async function go(view, { quietly = false, push = true } = {}) {
  state.view = view;
  for (const name of ['solve', 'grids']) find(name).hidden = name !== view;
  document.querySelectorAll('nav [data-view]').forEach((link) => {
    if (link.dataset.view === (state.tour ? 'learn' : view)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  });
  if (push && address(state) !== location.pathname + location.search) history.pushState(null, '', address(state));
  if (quietly) return;
  if (view === 'grids') await grids.enter();
  else await solve.enter();
}

async function draw(model, length, count) {
  tour.hide();
  Object.assign(state, { view: 'solve', at: null });
  await go('solve', { quietly: true, push: false }); // the address follows when the problem is drawn
  scrollTo({ top: 0 });
  await solve.surprise(model, length, count);
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem('theme', root.dataset.theme);
  } catch {
    /* a browser that keeps nothing keeps no theme */
  }
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape') {
    if (solve.running) solve.stop();
    else if (solve.sheet.chosen !== null) {
      solve.sheet.held = false;
      solve.sheet.choose(null);
    } else if (state.tour) tour.end();
    return;
  }
  if (event.target.matches('input, textarea, select')) return;
  if (event.key === '/') {
    event.preventDefault();
    if (state.view !== 'solve') go('solve', { quietly: true });
    find('problem').focus();
    find('problem').select();
  } else if (event.key === '?') find('keys').showModal();
  else if (state.view !== 'solve' || !solve.sheet.page) return;
  else if (event.key === 'l') solve.setLayout(state.layout === 'paper' ? 'flat' : 'paper');
  else if (event.key === 'm') solve.inside.matrix();
  else if (/^\d$/.test(event.key) && solve.sheet.chosen !== null) {
    const head = Number(event.key) - 1;
    if (head < 0) solve.inside.choose(null);
    else if (head < solve.inside.offer.heads) solve.inside.choose(head);
  }
}

function listen() {
  document.querySelectorAll('[data-view]').forEach((link) =>
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (link.dataset.view === 'learn') tour.show(state.tour || 1);
      else {
        if (state.tour) tour.end();
        go(link.dataset.view, { quietly: link.dataset.view === 'solve' && Boolean(solve.sheet.page) });
      }
    }),
  );
  addEventListener('popstate', () => {
    if (address(read()) === address(state)) return; // within the page, such as to #content
    Object.assign(state, read());
    start();
  });
  addEventListener('keydown', pressed);
  find('theme').addEventListener('click', theme);
  find('keys-open').addEventListener('click', () => find('keys').showModal());
}

async function start() {
  if (state.tour) {
    await go('solve', { quietly: true, push: false });
    await tour.show(state.tour, { push: false });
  } else {
    tour.hide();
    if (!state.problem && state.view === 'solve') state.problem = '57+48+96';
    await go(state.view, { push: false });
  }
}

letDismiss();
try {
  const kept = localStorage.getItem('theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
} catch {
  /* as above */
}

try {
  const [{ models }, { grids: list }] = await Promise.all([api.get('/api/models'), api.get('/api/grids')]);
  solve = new Solve(models, state, moved);
  grids = new Grids(list, models, state, moved, draw);
  tour = new Tour(solve, state, moved, go);
  listen();
  await start();
} catch (error) {
  find('status').textContent = error.message;
  toast(error.message, { stay: true });
  if (!(error instanceof api.Refused)) throw error;
}
