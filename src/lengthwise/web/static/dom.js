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
/** A few words at the foot of the page, for a moment. */
export function toast(words) {
  const place = find('toast');
  place.textContent = words;
  place.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    place.hidden = true;
  }, 2600);
}

export const percent = (rate) => {
  if (rate >= 1) return '100%';
  const text = (rate * 100).toFixed(rate >= 0.999 || rate < 0.01 ? 2 : 1);
  return text === '0.00' ? (rate > 0 ? '<0.01%' : '0%') : `${rate >= 0.99995 ? '99.99' : text}%`;
};
