// The description of the API: examples with the address of this very page, and the theme chosen on it.

try {
  const kept = localStorage.getItem('theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
} catch {
  /* a browser that keeps nothing keeps no theme */
}
for (const example of document.querySelectorAll('pre')) {
  example.textContent = example.textContent.replaceAll('http://localhost:8421', location.origin);
}
