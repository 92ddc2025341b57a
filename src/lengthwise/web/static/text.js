// The page as text, for copying.

/** What stands on the sheet: as on paper, or the bare sequence. */
export function asText(sheet) {
  if (sheet.layout === 'flat') return sheet.tokens.map((entry) => entry.token).join('');
  const grids = sheet.panels.map((panel) =>
    Array.from({ length: panel.rows }, () => new Array(panel.columns).fill(' ')),
  );
  let beyond = '';
  for (const entry of sheet.tokens) {
    const spot = sheet.spots[entry.index];
    if (spot) grids[spot.panel][spot.y][spot.x] = entry.token;
    else beyond += entry.token;
  }
  const blocks = grids.map((grid, number) =>
    [`${sheet.panels[number].name}:`, ...grid.map((row) => row.join('').trimEnd())].join('\n'),
  );
  if (beyond) blocks.push(`written beyond the end: ${beyond}`);
  return blocks.join('\n\n');
}
