// SPDX-License-Identifier: Apache-2.0
// Pages with tools, after copy.js: filter rows, sort columns, fold, choose light or dark. A page is read without it; it makes
// the controls itself or shows those that wait for it. It takes texts of the page as texts and never as markup.
(() => {
const root = document.documentElement, said = $('said');
// Light and dark. A page that was opened from a file may have no storage.
const modes = ['auto', 'light', 'dark'];
let mode = 'auto';
try {
	mode = localStorage.getItem('gputune-theme') || mode;
} catch {}
if (!modes.includes(mode))
	mode = 'auto';
const paint = () => {
	if (mode === 'auto')
		delete root.dataset.theme;
	else
		root.dataset.theme = mode;
	$('theme').textContent = 'Theme: ' + mode;
};
$('theme').onclick = () => {
	mode = modes[(modes.indexOf(mode) + 1) % 3];
	paint();
	try {
		localStorage.setItem('gputune-theme', mode);
	} catch {}
};
// Folding; what a link names is opened; printing opens all and puts it back.
const folds = all('details'), set = v => {
	for (const d of folds)
		d.open = v;
	said.textContent = v ? 'All sections are open.' : 'All sections are folded.';
};
$('unfold').onclick = () => set(true);
$('fold').onclick = () => set(false);
const reveal = () => {
	let e;
	try {
		e = $(decodeURIComponent(location.hash.slice(1)));
	} catch {}
	if (!e || location.hash.length < 2)
		return;
	for (let p = e; p; p = p.parentElement)
		if (p.tagName === 'DETAILS')
			p.open = true;
	e.scrollIntoView();
};
addEventListener('hashchange', reveal);
document.addEventListener('click', e => {
	const a = e.target.closest('a[href^="#"]');
	if (a && a.hash === location.hash)
		reveal();
});
let before = null;
addEventListener('beforeprint', () => {
	before = folds.map(d => d.open);
	for (const d of folds)
		d.open = true;
});
addEventListener('afterprint', () => {
	if (before)
		folds.forEach((d, i) => d.open = before[i]);
	before = null;
});
// Sorting: numbers with their units as numbers, importance by rank, all else by name.
const rank = { critical: 0, high: 1, medium: 2, low: 3, info: 4, unknown: 5, 'n/a': 6, ok: 7, nothing: 8 };
const size = { k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15, n: 1e-9, u: 1e-6, '\u00b5': 1e-6 };
const value = s => {
	const word = s.trim().toLowerCase().split(/[: ]/)[0];
	if (word in rank)
		return rank[word];
	const m = /^[<>=~+ ]*(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*([A-Za-z\u00b5%]*)/.exec(s.trim());
	if (!m)
		return null;
	const n = parseFloat(m[1].replaceAll(',', '')), u = m[2];
	if (/^ms\b/.test(u))
		return n * 1e-3;
	const i = /^([KMGTP])i/.exec(u);
	if (i)
		return n * 1024 ** ('KMGTP'.indexOf(i[1]) + 1);
	const p = /^([kKMGTPnu\u00b5])[A-Za-z]/.exec(u);
	return p ? n * (size[p[1]] ?? size[p[1].toLowerCase()]) : n;
};
const text = (r, k) => r.cells[k] ? r.cells[k].textContent : '';
const sort = (t, k, th) => {
	const up = th.getAttribute('aria-sort') !== 'ascending';
	for (const h of all('thead th', t))
		h.removeAttribute('aria-sort');
	th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
	const b = t.tBodies[0], rows = [...b.rows].map(r => [r, text(r, k), value(text(r, k))]);
	rows.sort((x, y) => {
		const e = (x[1] === '') - (y[1] === '');
		if (e)
			return e;
		const c = x[2] !== null && y[2] !== null ? x[2] - y[2] : (x[2] === null) - (y[2] === null) ||
			x[1].localeCompare(y[1], 'en', { numeric: true });
		return up ? c : -c;
	});
	b.append(...rows.map(x => x[0]));
	said.textContent = 'Sorted by ' + th.textContent + (up ? ', upwards.' : ', downwards.');
};
// Of tables that are seen: of many machines' most are folded.
const arm = e => {
	for (const t of all('table:not(.tree):not([data-sorts])', e)) {
		if (t.closest('details:not([open])'))
			continue;
		t.dataset.sorts = '';
		if (!t.tBodies[0] || t.tBodies[0].rows.length < 3)
			continue;
		for (const th of all('thead th', t)) {
			const k = th.cellIndex, b = document.createElement('button');
			b.type = 'button';
			b.textContent = th.textContent;
			b.onclick = () => sort(t, k, th);
			th.replaceChildren(b);
		}
	}
};
arm(document);
document.addEventListener('toggle', e => e.target.open && arm(e.target), true);
// Filtering: every word has to be in a row or a finding; sections without such a one are left out.
let rows = null, timer = 0;
const filter = () => {
	const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean), hit = new Set();
	let n = 0;
	rows = rows || all('tbody tr,.finding').map(r => [r, r.textContent.toLowerCase()]);
	for (const [r, s] of rows) {
		const ok = words.every(w => s.includes(w));
		r.classList.toggle('gone', !ok);
		if (!ok)
			continue;
		n++;
		for (let p = r.parentElement; p && !hit.has(p); p = p.parentElement)
			hit.add(p);
	}
	for (const s of all('section')) {
		const on = !words.length || hit.has(s);
		s.classList.toggle('gone', !on);
		if (words.length && on)
			s.querySelector(':scope>details').open = true;
	}
	for (const w of all('.wide'))
		if (w.querySelector('tbody'))
			w.classList.toggle('gone', words.length > 0 && !hit.has(w));
	said.textContent = words.length ? n + (n === 1 ? ' row has' : ' rows have') + ' these words.' : '';
};
$('filter').addEventListener('input', () => {
	clearTimeout(timer);
	timer = setTimeout(filter, 120);
});
$('filter').addEventListener('keydown', e => {
	if (e.key === 'Escape') {
		e.target.value = '';
		filter();
	}
});
paint();
$('tools').hidden = false;
reveal();
})();
