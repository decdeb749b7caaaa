// SPDX-License-Identifier: Apache-2.0
// What all checks of pages share: laws that are counted, pages that are opened, and axe.
'use strict';
const fs = require('fs');
const path = require('path');
const source = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const folder = process.argv[3];
const url = name => 'file://' + path.resolve(folder, name);
const count = { passed: 0, failed: 0 };

function law(name, ok, detail = '') {
	if (ok)
		count.passed++;
	else {
		count.failed++;
		console.log(`FAIL ${name}: ${JSON.stringify(detail).slice(0, 900)}`);
	}
}

async function open(browser, file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
	const page = await context.newPage();
	page.bad = [];
	page.on('console', m => m.type() === 'error' && page.bad.push(m.text()));
	page.on('pageerror', e => page.bad.push(e.message));
	page.on('dialog', d => { page.bad.push('dialog ' + d.message()); d.dismiss(); });
	page.on('request', r => r.url() !== url(file).split('#')[0] && !r.url().startsWith('data:') && page.bad.push(r.url()));
	await page.goto(url(file));
	return page;
}

async function close(page, name) {
	law(`${name}: no error, no request`, page.bad.length === 0, page.bad);
	await page.context().close();
}

// The page's policy forbids what waitForFunction would do in it.
async function until(page, ready, argument) {
	for (let i = 0; i < 600; i++) {
		if (await page.evaluate(ready, argument))
			return;
		await page.waitForTimeout(50);
	}
	throw new Error(`not within 30 s: ${ready}`);
}

const openAll = page => page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
const ground = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

// Nothing serious or critical; what weighs less is printed.
async function accessible(page, name, context = null) {
	await page.evaluate(source);
	const found = await page.evaluate(c => window.axe.run(c || document, { resultTypes: ['violations'] }), context);
	const grave = found.violations.filter(v => ['serious', 'critical'].includes(v.impact));
	law(`${name}: axe`, grave.length === 0, grave.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200),
		v.nodes[0].failureSummary]));
	const lesser = found.violations.filter(v => !grave.includes(v)).map(v => `${v.id} (${v.nodes.length}) ${v.nodes[0].html.slice(0, 100)}`);
	if (lesser.length)
		console.log(`axe, ${name}, of less weight: ${lesser.join(', ')}`);
	return grave;
}

module.exports = { folder, url, count, law, open, close, until, openAll, ground, accessible };
