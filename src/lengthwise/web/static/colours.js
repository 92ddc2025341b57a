// Colours with a meaning. Ids and heads are CSS variables, so that light and dark each have their own.

export const ID_COLOURS = 8;
export const HEAD_COLOURS = 8;

/** The colour of an id, the same wherever it stands; none for 0, an uncoupled token. */
export function idColour(id) {
  return id > 0 ? `var(--id-${(id - 1) % ID_COLOURS})` : 'transparent';
}

export function headColour(head) {
  return `var(--head-${head % HEAD_COLOURS})`;
}

// Viridis at nine places; it grows lighter all the way, so it reads without colour, too.
const VIRIDIS = ['#440154', '#472d7b', '#3b528b', '#2c728e', '#21918c', '#28ae80', '#5ec962', '#addc30', '#fde725'];

function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}

/** The colour of a rate from 0 to 1. */
export function rateColour(rate) {
  const place = Math.min(Math.max(rate, 0), 1) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const [low, high] = [channels(VIRIDIS[below]), channels(VIRIDIS[below + 1])];
  const mixed = low.map((value, channel) => Math.round(value + (high[channel] - value) * (place - below)));
  return `rgb(${mixed.join(' ')})`;
}

/** Ink that can be read on it. */
export function inkOn(rate) {
  return rate > 0.55 ? '#111' : '#fff';
}
