// Saving what is seen: squares and arcs become a drawing (SVG), and a drawing a picture (PNG).

const NS = 'http://www.w3.org/2000/svg';

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveCanvas(canvas, name) {
  canvas.toBlob((blob) => save(blob, name));
}

function put(parent, tag, attributes, text) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** A drawing of the visible boxes, words and arcs under an element, with a line of words below. */
export function drawing(root, caption) {
  const home = root.getBoundingClientRect();
  const [width, height] = [Math.ceil(Math.max(root.scrollWidth, 320)) + 32, Math.ceil(root.scrollHeight) + 60];
  const page = getComputedStyle(document.body);
  const svg = document.createElementNS(NS, 'svg');
  Object.entries({
    xmlns: NS,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    'font-family': 'system-ui, sans-serif',
  }).forEach(([name, value]) => svg.setAttribute(name, value));
  put(svg, 'rect', { width, height, fill: page.backgroundColor });
  const drawn = put(svg, 'g', { transform: 'translate(16 16)' });
  const at = (box) => ({
    x: (box.x - home.x).toFixed(1),
    y: (box.y - home.y).toFixed(1),
    width: box.width.toFixed(1),
    height: box.height.toFixed(1),
  });
  for (const element of root.querySelectorAll(
    '[data-draw], .squares, .token, .token b, .token i, h3, .line-number, .tick',
  )) {
    const [box, style] = [element.getBoundingClientRect(), getComputedStyle(element)];
    if (!box.width || style.visibility === 'hidden' || style.display === 'none') continue;
    const filled = style.backgroundColor !== 'rgba(0, 0, 0, 0)';
    const edged = parseFloat(style.borderTopWidth) > 0 && style.borderTopStyle !== 'none';
    if (filled || edged)
      put(drawn, 'rect', {
        ...at(box),
        rx: 2,
        fill: filled ? style.backgroundColor : 'none',
        ...(edged ? { stroke: style.borderTopColor } : {}),
      });
    if (element.classList.contains('token')) bars(drawn, element, box, style, home);
    if (element.childElementCount === 0 && element.textContent) {
      const anchor = style.textAlign === 'center' || element.tagName === 'B' ? 'middle' : 'start';
      const x = anchor === 'middle' ? box.x + box.width / 2 : box.x;
      put(
        drawn,
        'text',
        {
          x: (x - home.x).toFixed(1),
          y: (box.y - home.y + box.height / 2).toFixed(1),
          'text-anchor': anchor,
          'dominant-baseline': 'central',
          'font-size': style.fontSize,
          'font-weight': style.fontWeight,
          'font-family': style.fontFamily.replaceAll('"', "'"),
          fill: style.color,
        },
        element.textContent,
      );
    }
    if (element.classList.contains('wrong'))
      put(drawn, 'rect', { ...at(box), rx: 2, fill: 'none', stroke: style.outlineColor, 'stroke-width': 2 });
    if (element.classList.contains('chosen'))
      put(drawn, 'rect', { ...at(box), rx: 2, fill: 'none', stroke: style.color, 'stroke-width': 2.5 });
  }
  for (const path of root.querySelectorAll('svg.arcs path')) {
    const style = getComputedStyle(path);
    put(drawn, 'path', {
      d: path.getAttribute('d'),
      fill: 'none',
      stroke: style.stroke,
      'stroke-width': style.strokeWidth,
      opacity: style.opacity,
      'stroke-linecap': 'round',
    });
  }
  put(svg, 'text', { x: 16, y: height - 16, 'font-size': 12, fill: page.color }, caption);
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

/** The bars at the foot of a square, which are a gradient on the page. */
function bars(drawn, element, box, style, home) {
  const stops = [...style.backgroundImage.matchAll(/(rgba?\([^)]*\)) ([\d.]+)% ?([\d.]+)?%?/g)].filter(
    (stop) => stop[3],
  );
  for (const [, colour, from, to] of stops) {
    const [low, high] = [Number(from) / 100, Number(to) / 100];
    put(drawn, 'rect', {
      x: (box.x - home.x).toFixed(1),
      y: (box.y - home.y + box.height * (1 - high)).toFixed(1),
      width: box.width.toFixed(1),
      height: (box.height * (high - low)).toFixed(1),
      fill: colour,
    });
  }
}

export function saveSvg(root, caption, name) {
  save(new Blob([drawing(root, caption).text], { type: 'image/svg+xml' }), name);
}

export async function savePng(root, caption, name) {
  const { text, width, height } = drawing(root, caption);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = document.createElement('canvas');
  const sharp = Math.min(2, 8000 / Math.max(width, height));
  Object.assign(canvas, { width: width * sharp, height: height * sharp });
  const ink = canvas.getContext('2d');
  ink.scale(sharp, sharp);
  ink.drawImage(image, 0, 0);
  URL.revokeObjectURL(image.src);
  saveCanvas(canvas, name);
}
