// SPDX-License-Identifier: Apache-2.0
// What somebody with a keyboard or a screen reader meets: the order of stops, whether the one that has the focus is
// seen, names, tables, drawings. And axe over a page of many machines.
'use strict';
const { law, open, close, openAll, accessible } = require('./common.js');

// Every stop of the Tab key from the top, until it comes round.
async function stops(page) {
	const seen = [];
	for (let i = 0; i < 400; i++) {
		await page.keyboard.press('Tab');
		const stop = await page.evaluate(() => {
			const e = document.activeElement;
			if (!e || e === document.body)
				return null;
			const b = e.getBoundingClientRect(), s = getComputedStyle(e), first = !e.dataset.stop;
			e.dataset.stop = 'seen';
			return { tag: e.tagName, id: e.id, name: (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent).trim().slice(0, 60),
				first, top: b.top + scrollY, left: b.left + scrollX, inside: b.top >= -1 && b.bottom <= innerHeight + 1 && b.width > 0,
				ring: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1.5, colour: s.outlineColor,
				tall: b.height > innerHeight };
		});
		if (!stop || !stop.first)
			break;
		seen.push(stop);
	}
	return seen;
}

async function tabOrder(browser) {
	for (const colorScheme of ['light', 'dark']) {
		const page = await open(browser, 'given.html', { colorScheme, reducedMotion: 'reduce' });
		const seen = await stops(page), say = s => [s.tag, s.id, s.name];
		law(`${colorScheme}: Tab reaches many`, seen.length > 40, seen.length);
		const bar = seen.findIndex(s => s.id === 'filter'), order = seen.slice(0, bar + 4).map(s => s.id || s.tag);
		law(`${colorScheme}: the way past, the sections, then the bar`, seen.slice(0, bar).every(s => s.tag === 'A') &&
			['filter', 'unfold', 'fold', 'theme'].every((id, i) => seen[bar + i].id === id), order);
		const back = seen.slice(1).filter((s, i) => s.top < seen[i].top - 40 && i > 0);
		law(`${colorScheme}: Tab goes down the page`, back.length === 0, back.map(say));
		law(`${colorScheme}: each stop has a name`, seen.every(s => s.name), seen.filter(s => !s.name).map(say));
		law(`${colorScheme}: the focus is seen`, seen.every(s => s.ring), seen.filter(s => !s.ring).slice(0, 5).map(say));
		law(`${colorScheme}: and comes into view`, seen.every(s => s.inside || s.tall), seen.filter(s => !s.inside && !s.tall).slice(0, 5).map(say));
		// A ring that has the colour of what lies behind it is none.
		const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		law(`${colorScheme}: the ring is no background`, seen.every(s => s.colour !== ground), ground);
		const stuck = await page.evaluate(() => [...document.querySelectorAll('.wide')].filter(e => e.checkVisibility() &&
			e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0).length);
		law(`${colorScheme}: what scrolls is reached`, stuck === 0, stuck);
		await close(page, `Tab, ${colorScheme}`);
	}
	const page = await open(browser, 'given.html', { viewport: { width: 360, height: 800 } });
	await openAll(page);
	const stuck = await page.evaluate(() => [...document.querySelectorAll('.wide')].filter(e => e.checkVisibility() &&
		e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0).map(e => e.textContent.slice(0, 40)));
	law('narrow: what scrolls is reached', stuck.length === 0, stuck);
	await close(page, 'narrow scrolling');
}

// What the browser tells a screen reader.
async function reader(browser) {
	const page = await open(browser, 'given.html');
	await openAll(page);
	const tables = await page.evaluate(() => [...document.querySelectorAll('table')].map(t => {
		const before = t.closest('.wide') || t;
		let e = before;
		// Its own caption, or the heading of the section that it is all of.
		while (e && !/^(H[1-6]|SUMMARY)$/.test(e.tagName))
			e = e.previousElementSibling || e.parentElement;
		return { caption: t.caption?.textContent || '', heading: e ? e.textContent : '', text: t.textContent.slice(0, 60),
			heads: [...t.querySelectorAll('thead th')].length, bad: [...t.querySelectorAll('th')].filter(h => !['col', 'row'].includes(h.scope)).length,
			rows: [...t.tBodies[0].rows].filter(r => r.querySelectorAll('th[scope=row]').length !== 1).length };
	}));
	law('there are tables', tables.length > 20, tables.length);
	law('each has a caption or a heading', tables.every(t => t.caption || t.heading), tables.filter(t => !t.caption && !t.heading));
	law('heads have a scope', tables.every(t => t.heads > 0 && t.bad === 0), tables.filter(t => !t.heads || t.bad));
	law('each row has one name', tables.every(t => t.rows === 0), tables.filter(t => t.rows).slice(0, 4));
	const drawings = await page.evaluate(() => [...document.querySelectorAll('svg')].map(s => ({ role: s.getAttribute('role'),
		title: s.querySelector(':scope>title')?.textContent || '', desc: s.querySelector(':scope>desc')?.textContent || '', chart: s.classList.contains('chart') })));
	law('drawings say what they are', drawings.length > 10 && drawings.every(d => d.role === 'img' && d.title.length > 3), drawings.filter(d => !d.title));
	law('charts say what they show', drawings.filter(d => d.chart).every(d => /\d/.test(d.desc) && d.desc.length > 20),
		drawings.filter(d => d.chart && !/\d/.test(d.desc)));
	const marks = await page.evaluate(() => ({ said: document.getElementById('said').getAttribute('aria-live') || document.getElementById('said').getAttribute('role'),
		nav: document.querySelector('nav').getAttribute('aria-label'), main: document.querySelectorAll('main').length, lang: document.documentElement.lang,
		filter: document.querySelector('label[for=filter]') !== null || document.getElementById('filter').labels.length > 0, title: document.title }));
	law('landmarks, language, what the bar did is told', marks.said && marks.nav && marks.main === 1 && marks.lang === 'en' && marks.filter && marks.title, marks);
	const tree = (await page.locator('body').ariaSnapshot()).split('\n');
	law('the tree has them all', ['navigation', 'main', 'table', 'img', 'columnheader', 'rowheader'].every(r => tree.some(l => l.includes(`- ${r}`))),
		tree.slice(0, 10));
	const colour = await page.evaluate(() => [...document.querySelectorAll('td span.bad,td span.good,td span.warn')].filter(e => !e.textContent.trim()).length);
	law('nothing is told by colour alone', colour === 0, colour);
	await close(page, 'screen reader');
	// The same where tables are cards.
	const narrow = await open(browser, 'given.html', { viewport: { width: 360, height: 800 } });
	await openAll(narrow);
	const roles = (await narrow.locator('.wide.cards').first().ariaSnapshot()).split('\n');
	law('narrow: cards are tables still', ['table', 'row', 'rowheader', 'cell'].every(r => roles.some(l => l.match(`- '?${r} `))), roles.slice(0, 12));
	await close(narrow, 'screen reader, narrow');
	// Enlarged to twice: WCAG 1.4.4 and 1.4.10 (320 pixels).
	const large = await open(browser, 'given.html', { viewport: { width: 320, height: 640 } });
	await openAll(large);
	const wide = await large.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
	law('320 pixels are enough', wide[0] <= wide[1], wide);
	await close(large, '320 pixels');
}

async function axeMany(browser) {
	const page = await open(browser, 'many.html');
	// Kinds of machines repeat: some of them with all that they have.
	await page.evaluate(() => {
		for (const id of ['m1', 'm2', 'm3', 'm4']) {
			const top = document.getElementById(id).closest('details');
			for (const d of [top, ...top.querySelectorAll('details')])
				d.open = true;
		}
	});
	await accessible(page, '64 machines, four of them open');
	await close(page, 'axe, 64 machines');
	for (const [file, colorScheme] of [['given.html', 'dark'], ['fleet.html', 'light']]) {
		const other = await open(browser, file, { colorScheme });
		await openAll(other);
		await accessible(other, `${file} ${colorScheme}`);
		await close(other, `axe, ${file}`);
	}
}

module.exports = { parts: [tabOrder, reader, axeMany] };
