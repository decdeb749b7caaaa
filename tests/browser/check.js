// SPDX-License-Identifier: Apache-2.0
// Drives the pages of a report with a real browser. Arguments: the browser, a folder with the pages that run.py makes,
// and, if wanted, "renew" or the name of one part; screenshots and the PDF are left in the folder. Prints FAIL lines,
// figures, and "N passed, N failed".
'use strict';
const fs = require('fs');
const path = require('path');
const { execFileSync } = require('child_process');
const { chromium } = require('playwright-core');
const { folder, url, count, law, open, close, until, openAll, ground, accessible } = require('./common.js');
const access = require('./access.js');
const shots = require('./shots.js');

const [browserPath, , action] = process.argv.slice(2);

async function sizes(browser) {
	const grounds = {};
	for (const width of [360, 800, 1400])
		for (const colorScheme of ['light', 'dark']) {
			const page = await open(browser, 'full.html', { viewport: { width, height: 1000 }, colorScheme });
			const name = `${width} ${colorScheme}`;
			await openAll(page);
			const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
			law(`${name}: the page is not wider than the window`, wide[0] <= wide[1], wide);
			const seen = await page.evaluate(() => [...document.querySelectorAll('h1,h2,summary,.drawing svg,svg.chart')]
				.filter(e => e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().right > innerWidth + 1 &&
					!e.closest('.wide')).map(e => e.textContent.slice(0, 40)));
			law(`${name}: nothing is cut off`, seen.length === 0, seen);
			// The verdict and the first fix stand in the window as it opens, on a telephone the verdict.
			const first = await page.evaluate(() => ['.verdict', '.finding .fix'].map(q => document.querySelector(q).getBoundingClientRect().bottom));
			law(`${name}: what to do is seen at once`, first[width < 800 ? 0 : 1] < 900, first);
			const cards = await page.evaluate(() => [...document.querySelectorAll('.finding')].filter(f => f.scrollWidth > f.clientWidth + 1 ||
				[...f.querySelectorAll('code,button')].some(e => e.getBoundingClientRect().right > f.getBoundingClientRect().right)).map(f => f.textContent));
			law(`${name}: each finding is whole`, cards.length === 0, cards);
			await page.screenshot({ path: path.join(folder, `full-${width}-${colorScheme}.png`), fullPage: true });
			grounds[colorScheme] = await ground(page);
			if (name !== '360 light' && name !== '1400 dark') { // axe takes its time
				await close(page, name);
				continue;
			}
			await accessible(page, name);
			await close(page, name);
		}
	law('light is not dark', grounds.light !== grounds.dark, grounds);
}

async function folding(browser) {
	const page = await open(browser, 'full.html');
	const is = id => page.evaluate(i => document.getElementById(i).closest('details').open, id);
	law('predictions are folded at first', !await is('predictions'));
	await page.click('#predictions-h');
	law('a click opens', await is('predictions'));
	await page.locator('#predictions-h').locator('xpath=..').focus();
	await page.keyboard.press('Enter');
	law('Enter folds', !await is('predictions'));
	await page.keyboard.press(' ');
	law('a blank opens', await is('predictions'));
	await page.click('#fold');
	law('fold all', await page.evaluate(() => !document.querySelector('details[open]')));
	law('and it is said', (await page.textContent('#said')).includes('folded'));
	await page.click('nav a[href="#stack"]');
	await until(page, () => document.getElementById('stack').closest('details').open);
	law('a link opens what it names', await is('stack') && !await is('findings'));
	await page.click('#unfold');
	law('open all', await page.evaluate(() => !document.querySelector('details:not([open])')));
	await page.goto(url('full.html') + '#doctor');
	law('an address opens what it names', await is('doctor'));
	await close(page, 'folding');
}

async function filtering(browser) {
	const page = await open(browser, 'full.html');
	const rows = () => page.evaluate(() => [...document.querySelectorAll('tbody tr,.finding')].filter(r => r.offsetParent !== null)
		.map(r => r.textContent.toLowerCase()));
	const all = (await rows()).length;
	await page.fill('#filter', 'NET tcp');
	await until(page, () => document.getElementById('said').textContent.includes('these words'));
	const some = await rows();
	law('every row has the words', some.length > 0 && some.length < all && some.every(r => r.includes('net') && r.includes('tcp')), some);
	law('their number is said', /^\d+ rows? ha/.test(await page.textContent('#said')));
	await page.fill('#filter', 'there is no such word anywhere');
	await until(page, () => document.getElementById('said').textContent.startsWith('0 rows'));
	law('nothing has them', (await rows()).length === 0);
	await page.focus('#filter');
	await page.keyboard.press('Escape');
	law('Escape brings all back', (await rows()).length >= all);
	await close(page, 'filtering');
}

async function sorting(browser) {
	const page = await open(browser, 'full.html');
	const table = page.locator('#benches table').filter({ has: page.locator('caption', { hasText: 'collectives' }) }).first();
	const column = () => table.locator('tbody th').allTextContents();
	const before = await column();
	const head = table.locator('thead th', { hasText: 'Case' });
	await head.locator('button').focus();
	await page.keyboard.press('Enter');
	const up = await column();
	law('sorted by name', JSON.stringify(up) === JSON.stringify([...before].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))), up);
	law('and it is marked', await head.getAttribute('aria-sort') === 'ascending');
	await head.locator('button').click();
	law('and the other way', JSON.stringify(await column()) === JSON.stringify([...up].reverse()) &&
		await head.getAttribute('aria-sort') === 'descending');
	await table.locator('thead th', { hasText: 'Median' }).locator('button').click();
	const k = (await table.locator('thead tr > *').allTextContents()).findIndex(t => t === 'Median');
	const figures = (await table.locator(`tbody tr > :nth-child(${k + 1})`).allTextContents()).map(parseFloat);
	law('figures as numbers', figures.length > 2 && figures.every((v, i) => i === 0 || figures[i - 1] <= v), figures);
	await close(page, 'sorting');
}

// Every command has a button; the clipboard gets the command without what is said of where it belongs, also where the browser has no clipboard for pages.
async function copying(browser) {
	for (const [file, name] of [['full.html', 'a report'], ['check.html', 'the page of one verb']]) {
		const page = await open(browser, file, { permissions: ['clipboard-read', 'clipboard-write'] });
		const bare = await page.evaluate(() => [...document.querySelectorAll('code')].filter(c => /^(sudo |gputune )/.test(c.textContent) &&
			c.nextElementSibling?.className !== 'copy').map(c => c.textContent));
		law(`${name}: each command can be copied`, bare.length === 0, bare);
		const fix = page.locator('.fix:has(.copy)').first(), command = await fix.locator('code').textContent();
		await fix.locator('.copy').focus();
		await page.keyboard.press('Enter');
		await until(page, () => document.activeElement.textContent === 'Copied');
		law(`${name}: the clipboard has it`, await page.evaluate(() => navigator.clipboard.readText()) === command, command);
		await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); });
		const other = page.locator('.fix:has(.copy)').nth(1);
		await other.locator('.copy').click();
		await until(page, () => document.activeElement.textContent === 'Copied');
		law(`${name}: where it is refused too`, await page.evaluate(() => navigator.clipboard.readText()) === await other.locator('code').textContent());
		await close(page, name);
	}
	const page = await open(browser, 'full.html', { permissions: ['clipboard-read', 'clipboard-write'] });
	await page.click('.copy.all');
	await until(page, () => document.activeElement.textContent === 'Copied');
	const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split('\n');
	law('all fixes at once', lines.length > 3 && lines.every(l => l.startsWith('sudo gputune ')) && new Set(lines).size === lines.length, lines);
	await close(page, 'copy all');
}

async function themes(browser) {
	const page = await open(browser, 'full.html', { colorScheme: 'light' });
	const light = await ground(page);
	await page.click('#theme');
	law('light when chosen', await ground(page) === light && (await page.textContent('#theme')).includes('light'));
	await page.click('#theme');
	const dark = await ground(page);
	law('dark when chosen', dark !== light, dark);
	await page.emulateMedia({ media: 'print' });
	law('paper is light', await ground(page) === light);
	await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
	await page.click('#theme');
	law('automatic again', await ground(page) === dark);
	await page.click('#theme');
	law('light against the system', await ground(page) === light);
	await page.emulateMedia({ reducedMotion: 'no-preference' });
	const motion = () => page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
	const moves = await motion();
	await page.emulateMedia({ reducedMotion: 'reduce' });
	law('no motion when it is not wanted', moves === 'smooth' && await motion() === 'auto', [moves, await motion()]);
	await close(page, 'themes');
}

async function keyboard(browser) {
	const page = await open(browser, 'full.html');
	await page.keyboard.press('Tab');
	law('first the way past', await page.evaluate(() => document.activeElement.className) === 'skip');
	law('which then is seen', await page.evaluate(() => document.activeElement.getBoundingClientRect().left >= 0));
	await page.keyboard.press('Enter');
	law('to the content', await page.evaluate(() => document.activeElement.id === 'content' || location.hash === '#content'));
	const names = await page.evaluate(() => [...document.querySelectorAll('button,input,a,summary')].filter(e => e.tabIndex < 0).length);
	law('all is reached by keys', names === 0, names);
	// What somebody gets into the page all the same is not run.
	await page.evaluate(() => {
		const e = document.createElement('div');
		e.innerHTML = '<img src="data:," onerror="window.pwned=1">';
		const s = document.createElement('script');
		s.textContent = 'window.pwned=2';
		document.body.append(e, s);
	});
	await until(page, () => document.images[0].complete);
	law('the policy holds', await page.evaluate(() => window.pwned) === undefined);
	law('and says so', page.bad.some(t => t.includes('Content Security Policy')), page.bad);
	await page.context().close();
}

async function withoutScript(browser) {
	const page = await open(browser, 'full.html', { javaScriptEnabled: false });
	law('no control that does nothing', !await page.isVisible('#tools'));
	law('no button at all', await page.locator('button:visible').count() === 0);
	law('findings are read', (await page.textContent('#findings')).includes('sudo gputune apply --only cpu.governor'));
	law('and seen', await page.isVisible('#findings .finding'));
	await page.click('#predictions-h');
	law('folds open', await page.isVisible('#predictions'));
	await page.click('nav a[href="#stack"]');
	await page.waitForSelector('#stack', { state: 'visible', timeout: 30000 });
	law('links open what they name', await page.isVisible('#stack'));
	await close(page, 'without script');
}

async function paper(browser) {
	for (const js of [true, false]) {
		const page = await open(browser, 'full.html', { javaScriptEnabled: js, colorScheme: 'dark' });
		const name = js ? 'PDF' : 'PDF without script', file = path.join(folder, js ? 'full.pdf' : 'full-no-script.pdf');
		await page.pdf({ path: file, format: 'A4', printBackground: true, margin: { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' } });
		const raw = fs.readFileSync(file, 'latin1');
		const pages = (raw.match(/\/Type\s*\/Page\b/g) || []).length;
		law(`${name}: has pages`, raw.startsWith('%PDF') && pages > 1 && pages < 200, pages);
		console.log(`${name}: ${pages} pages, ${raw.length >> 10} KiB`);
		let text = null;
		try {
			text = execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' });
		} catch (e) {
			console.log(`${name}: its text is not looked at: no pdftotext`);
		}
		if (text !== null) {
			for (const want of ['hgx01: report', 'Bottleneck: GPU 5', 'cpu.governor', 'tokens/s of one request', 'Not tested'])
				law(`${name}: ${want}`, text.includes(want));
			law(`${name}: no control`, !text.includes('Fold all') && !text.includes('Theme:') && !/Copy/.test(text));
		}
		await close(page, name);
	}
}

async function many(browser) {
	const page = await open(browser, 'many.html');
	const t = await page.evaluate(() => {
		const n = performance.getEntriesByType('navigation')[0], p = performance.getEntriesByName('first-contentful-paint')[0];
		return { interactive: n.domInteractive, loaded: n.loadEventEnd, paint: p ? p.startTime : NaN };
	});
	console.log(`64 machines, ${fs.statSync(path.join(folder, 'many.html')).size >> 10} KiB: first paint ${t.paint.toFixed(0)} ms, ` +
		`script done ${t.interactive.toFixed(0)} ms, loaded ${t.loaded.toFixed(0)} ms`);
	law('64 machines at the front', await page.locator('main > .wide tbody tr').count() === 64);
	await page.click('main > .wide thead th:nth-child(2) button');
	law('the worst machine first', (await page.textContent('main > .wide tbody tr')).includes('critical'));
	await page.reload();
	await page.click('main > .wide tbody tr:nth-child(40) a');
	await until(page, () => document.getElementById('m40').closest('details').open);
	law('one of them is opened by its link', await page.isVisible('#m40'));
	await page.fill('#filter', 'pcie.acs');
	await until(page, () => document.getElementById('said').textContent.includes('these words'));
	law('filter finds machines', await page.evaluate(() => { const n = document.querySelectorAll('section.apart:not(.gone)').length; return n > 0 && n < 64; }));
	await close(page, '64 machines');
}

async function few(browser) {
	const page = await open(browser, 'few.html');
	await openAll(page);
	await accessible(page, 'several machines');
	await close(page, 'several machines');
}

async function hostile(browser) {
	const page = await open(browser, 'hostile.html');
	await openAll(page);
	await page.click('#unfold');
	await page.fill('#filter', 'script');
	await until(page, () => document.getElementById('said').textContent.includes('these words'));
	for (const button of await page.locator('th button:visible').all())
		await button.click();
	law('a name is shown as it is', (await page.textContent('h1')).includes('<script>alert(1)</script>'));
	law('and nothing of it is markup', await page.evaluate(() => document.images.length === 0 && document.scripts.length === 1));
	await close(page, 'hostile names');
}

(async () => {
	const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--font-render-hinting=none',
		'--force-device-scale-factor=1', '--hide-scrollbars'] });
	const parts = [sizes, folding, filtering, sorting, copying, themes, keyboard, withoutScript, paper, many, few, hostile, ...access.parts,
		...shots.parts];
	console.log(`browser ${browser.version()}`);
	for (const part of action === 'renew' ? [shots.renew] : parts.filter(p => !action || p.name === action))
		try {
			const begun = Date.now();
			await part(browser);
			console.log(`${part.name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
		} catch (e) {
			law(part.name, false, e.message);
		}
	await browser.close();
	console.log(`${count.passed} passed, ${count.failed} failed`);
	process.exit(count.failed > 0 ? 1 : 0);
})();
