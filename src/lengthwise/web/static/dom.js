// Making elements.

/** `make('p', {class: 'faint', onclick: …}, 'text', otherElement)` */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style')
      for (const [property, set] of Object.entries(value)) element.style.setProperty(property, set);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (id) => document.getElementById(id);

let hiding;
/** A few words at the foot of the page: for a moment, or, where they `stay`, until they are dismissed or others come. */
export function toast(words, { stay = false } = {}) {
  show(words, stay);
  if (!stay) hiding = setTimeout(dismiss, 2600);
}

function dismiss() {
  show('', false);
}

function show(words, closable) {
  clearTimeout(hiding);
  find('toast').textContent = words; // it is always there, if empty: only then a change of it is read aloud
  if (!closable && document.activeElement === find('toast-close')) find('content').focus({ preventScroll: true });
  find('toast-close').hidden = !closable;
}

/** Let notes that stay be dismissed, by their button or by Escape, whatever else that key would do. */
export function letDismiss() {
  find('toast-close').addEventListener('click', dismiss);
  addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Escape' || find('toast-close').hidden || document.querySelector('dialog[open]')) return;
      event.stopPropagation();
      dismiss();
    },
    { capture: true },
  );
}

export const percent = (rate) => {
  if (rate >= 1) return '100%';
  const text = (rate * 100).toFixed(rate >= 0.999 || rate < 0.01 ? 2 : 1);
  return text === '0.00' ? (rate > 0 ? '<0.01%' : '0%') : `${rate >= 0.99995 ? '99.99' : text}%`;
};
