// SPDX-License-Identifier: Apache-2.0
// The script of every page: a button beside each command, and one for all commands of a list.
'use strict';
const $ = id => document.getElementById(id), all = (q, e = document) => [...e.querySelectorAll(q)];
// The clipboard, or, where the browser refuses, what is selected.
const copy = async (s, b) => {
	const was = b.textContent;
	let ok = true;
	try {
		await navigator.clipboard.writeText(s);
	} catch {
		const t = document.createElement('textarea');
		t.value = s;
		t.className = 'skip';
		b.after(t);
		t.select();
		ok = document.execCommand('copy');
		t.remove();
		b.focus();
	}
	b.textContent = ok ? 'Copied' : 'Not copied';
	setTimeout(() => b.textContent = was, 2000);
};
const button = (word, name, s) => {
	const b = document.createElement('button');
	b.type = 'button';
	b.className = 'copy';
	b.textContent = word;
	b.setAttribute('aria-label', name);
	b.onclick = () => b.textContent === word && copy(s, b);
	return b;
};
for (const c of all('code'))
	if (/^(sudo |gputune )/.test(c.textContent))
		c.after(button('Copy', 'Copy: ' + c.textContent, c.textContent));
for (const f of all('.findings')) {
	const those = q => all(q + ' .fix code', f).map(c => c.textContent).filter(s => s.startsWith('sudo '));
	const s = those('.finding:not([data-careful])'), left = those('.finding[data-careful]').length;
	const word = `Copy ${s.length} commands` + (left ? `, without ${left} of higher risk` : '');
	if (s.length > 3) {
		f.before(button(word, word, s.join('\n') + '\n'));
		f.previousSibling.className += ' all';
	}
}
