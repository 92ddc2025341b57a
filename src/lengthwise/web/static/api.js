// Talking to the server. A refusal becomes an Error whose message is the server's sentence.

/** `status` is the server's; 0 where it could not be reached. */
export class Refused extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

async function sentence(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `The server answers ${response.status}.`;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused('The server cannot be reached: is lengthwise serve still running?');
  }
  if (!response.ok) throw new Refused(await sentence(response), response.status);
  return response;
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

export async function get(path, values = {}) {
  const asked = query(values);
  return (await ask(asked ? `${path}?${asked}` : path)).json();
}

export async function post(path, body, signal) {
  const headers = { 'Content-Type': 'application/json' };
  return (await ask(path, { method: 'POST', headers, body: JSON.stringify(body), signal })).json();
}

/** Watch a model solve a problem: `on(name, data)` for every event, in order. */
export async function watch(model, problem, on, signal) {
  const response = await ask(`/api/solve/stream?${query({ model, problem })}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split('\n\n');
    rest = pieces.pop();
    for (const piece of pieces) {
      const [first, second] = piece.split('\n');
      on(first.slice('event: '.length), JSON.parse(second.slice('data: '.length)));
    }
  }
}
