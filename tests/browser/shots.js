// SPDX-License-Identifier: Apache-2.0
// Pictures of pages beside those that somebody has looked at (reference/). A picture is compared as means of blocks of
// 16 by 16 pixels: how letters are smoothed does not change a block, but a section that is missing, another colour or a
// few pixels of shift do. Headings, cards, tables and drawings in the picture are compared by their boxes too.
'use strict';
const fs = require('fs');
const path = require('path');
const { folder, law, open, close, until } = require('./common.js');

const reference = path.join(__dirname, 'reference');
const SMALL = 8; // pixels of the page that one of a stored picture stands for
const BLOCK = 2; // pixels of a stored picture that are one block
const FAR = 20; // of 255: so much another block
const SHARE = 0.015; // so many of the blocks may be
const NEAR = 3, LONGER = 0.02; // boxes: pixels, and share of a height or place

async function search(page) {
	await page.fill('#filter', 'net tcp');
	await until(page, () => document.getElementById('said').textContent.includes('these words'));
}

const shots = [
	{ name: 'full-400', file: 'full.html', width: 400, height: 2400 },
	{ name: 'full-800', file: 'full.html', width: 800, height: 2400 },
	{ name: 'full-1400', file: 'full.html', width: 1400, height: 1600 },
	{ name: 'dark-1400', file: 'full.html', width: 1400, height: 1200, colorScheme: 'dark' },
	{ name: 'paper', file: 'full.html', width: 794, height: 2200, colorScheme: 'dark', media: 'print' },
	{ name: 'spark-800', file: 'spark.html', width: 800, height: 1600 },
	{ name: 'orin-400', file: 'orin.html', width: 400, height: 1600 },
	{ name: 'filtered', file: 'full.html', width: 1400, height: 800, steps: search },
	{ name: 'given', file: 'given.html', width: 1400, height: 2400, at: '#proofs' },
	{ name: 'recording', file: 'given.html', width: 1400, height: 1600, at: '#recordings' },
	{ name: 'rack', file: 'many.html', width: 1400, height: 800 },
	{ name: 'fleet', file: 'fleet.html', width: 1400, height: 1200 },
];

// The picture, scaled down and to 32 steps a channel, and the boxes of what structures the page.
async function take(browser, shot, plant) {
	const page = await open(browser, shot.file, { viewport: { width: shot.width, height: 1000 },
		colorScheme: shot.colorScheme || 'light' });
	await page.emulateMedia({ media: shot.media || 'screen', colorScheme: shot.colorScheme || 'light' });
	if (shot.media === 'print')
		await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
	if (shot.steps)
		await shot.steps(page);
	if (plant)
		await page.evaluate(plant);
	await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
	const top = shot.at ? await page.evaluate(at => document.querySelector(at).getBoundingClientRect().top + scrollY, shot.at) : 0;
	// Of what is in the picture: a section far below may grow.
	const boxes = await page.evaluate(([top, bottom]) => [...document.querySelectorAll('h1,h2,h3,#bar,figure,.drawing,table,dl,.verdict,.finding')]
		.filter(e => e.checkVisibility()).map(e => {
			const b = e.getBoundingClientRect();
			const name = /^(H.|TABLE|LI)$/.test(e.tagName) ? (e.caption || e).textContent.trim().slice(0, 40) : '';
			return [e.tagName.toLowerCase() + (e.id ? '#' + e.id : ''), name, Math.round(b.left + scrollX), Math.round(b.top + scrollY - top),
				Math.round(b.width), Math.round(b.height)];
		}).filter(b => b[3] >= 0 && b[3] < bottom - top), [top, top + shot.height]);
	const whole = await page.evaluate(() => document.documentElement.scrollHeight);
	const height = Math.min(shot.height, Math.floor(whole - top)), png = await page.screenshot({ fullPage: true,
		clip: { x: 0, y: Math.floor(top), width: shot.width, height } });
	await close(page, `picture ${shot.name}`);
	return { png, boxes };
}

// What a picture is scaled and read with is a page of its own.
const scaled = (desk, png) => desk.evaluate(async ([data, by]) => {
	const image = new Image();
	image.src = 'data:image/png;base64,' + data;
	await image.decode();
	const canvas = document.createElement('canvas');
	canvas.width = Math.floor(image.width / by);
	canvas.height = Math.floor(image.height / by);
	const context = canvas.getContext('2d');
	context.imageSmoothingQuality = 'high';
	context.drawImage(image, 0, 0, canvas.width * by, canvas.height * by, 0, 0, canvas.width, canvas.height);
	const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
	for (let i = 0; i < pixels.data.length; i++)
		if (i % 4 < 3)
			pixels.data[i] = Math.min(255, Math.round(pixels.data[i] / 8.226) * 8.226);
	context.putImageData(pixels, 0, 0);
	return canvas.toDataURL('image/png').split(',')[1];
}, [png.toString('base64'), SMALL]);

const means = (desk, png) => desk.evaluate(async ([data, block]) => {
	const image = new Image();
	image.src = 'data:image/png;base64,' + data;
	await image.decode();
	const canvas = document.createElement('canvas');
	[canvas.width, canvas.height] = [image.width, image.height];
	const context = canvas.getContext('2d');
	context.drawImage(image, 0, 0);
	const d = context.getImageData(0, 0, image.width, image.height).data, out = [];
	for (let y = 0; y + block <= image.height; y += block)
		for (let x = 0; x + block <= image.width; x += block) {
			const sum = [0, 0, 0];
			for (let j = 0; j < block; j++)
				for (let i = 0; i < block; i++)
					for (let c = 0; c < 3; c++)
						sum[c] += d[((y + j) * image.width + x + i) * 4 + c];
			out.push(sum.map(s => s / block / block));
		}
	return { width: image.width, height: image.height, blocks: out };
}, [png, BLOCK]);

// Sentences about what differs; none: it is the same page.
async function differences(desk, shot, now) {
	const stored = path.join(reference, shot.name);
	const out = [], want = JSON.parse(fs.readFileSync(stored + '.json', 'utf8'));
	const a = await means(desk, fs.readFileSync(stored + '.png').toString('base64'));
	const b = await means(desk, await scaled(desk, now.png));
	if (a.width !== b.width || Math.abs(a.height - b.height) > BLOCK)
		out.push(`the picture is ${b.width} by ${b.height}, not ${a.width} by ${a.height}`);
	const n = Math.min(a.blocks.length, b.blocks.length);
	let far = 0;
	for (let i = 0; i < n; i++)
		far += Math.max(...a.blocks[i].map((v, c) => Math.abs(v - b.blocks[i][c]))) > FAR;
	if (far > n * SHARE)
		out.push(`${far} of ${n} blocks have another colour`);
	const key = box => box[0] + ' ' + box[1], lost = want.filter(w => !now.boxes.some(x => key(x) === key(w)));
	const fresh = now.boxes.filter(x => !want.some(w => key(x) === key(w)));
	if (lost.length || fresh.length || want.length !== now.boxes.length)
		out.push(`missing: ${lost.map(key).slice(0, 4)}; new: ${fresh.map(key).slice(0, 4)}; ${now.boxes.length} for ${want.length} boxes`);
	for (let i = 0; i < want.length && want.length === now.boxes.length; i++) {
		const off = [2, 3, 4, 5].some(k => Math.abs(want[i][k] - now.boxes[i][k]) > NEAR + (k % 2 ? LONGER * want[i][k] : 0));
		if (off && out.length < 4)
			out.push(`${key(want[i])} lies at ${now.boxes[i].slice(2)}, not at ${want[i].slice(2)}`);
	}
	return out;
}

// Each has to be seen: what is planted in a page of which the picture is known.
const plants = [
	['a section that is missing', 'full-1400', () => document.getElementById('findings').closest('section').remove()],
	['the other colours', 'full-1400', () => { document.documentElement.dataset.theme = 'dark'; }],
	['a margin that is lost', 'full-1400', () => { document.body.style.padding = '0'; }],
	['a page that is too wide', 'full-400', () => { document.querySelector('main').style.width = '500px'; }],
	['a drawing that is missing', 'recording', () => document.querySelector('#recordings svg').remove()],
	['larger letters', 'full-400', () => { document.documentElement.style.fontSize = '17px'; }],
	['cards without their severity', 'full-400', () => document.querySelectorAll('.mark').forEach(e => e.remove())],
	['a row that the filter let through', 'filtered', () => document.querySelectorAll('.gone').forEach(e => e.classList.remove('gone'))],
];

// Edges that another version of the browser would smooth otherwise are no difference.
async function smoothing(browser) {
	const desk = await browser.newPage(), soften = () => { document.querySelector('main').style.filter = 'blur(0.5px)'; };
	for (const shot of shots.filter(s => ['full-400', 'full-1400'].includes(s.name))) {
		const now = await take(browser, shot, soften), found = await differences(desk, shot, now), plain = await take(browser, shot);
		law(`${shot.name}: edges smoothed otherwise are no difference`, found.length === 0, found);
		law(`${shot.name}: though not one picture is the other`, !now.png.equals(plain.png));
	}
	await desk.close();
}

async function planted(browser) {
	const desk = await browser.newPage();
	for (const [what, name, plant] of plants) {
		const shot = shots.find(s => s.name === name), found = await differences(desk, shot, await take(browser, shot, plant));
		law(`the comparison sees ${what}`, found.length > 0, found);
		console.log(`planted, ${what}: ${found[0]}`);
	}
	await desk.close();
}

async function compare(browser) {
	const desk = await browser.newPage();
	for (const shot of shots) {
		const now = await take(browser, shot);
		fs.writeFileSync(path.join(folder, `shot-${shot.name}.png`), now.png);
		const found = await differences(desk, shot, now);
		law(`picture ${shot.name} (${shot.width} px) as it was looked at`, found.length === 0, found);
	}
	await desk.close();
}

async function renew(browser) {
	const desk = await browser.newPage();
	let bytes = 0;
	fs.mkdirSync(reference, { recursive: true });
	for (const shot of shots) {
		const now = await take(browser, shot), small = Buffer.from(await scaled(desk, now.png), 'base64');
		fs.writeFileSync(path.join(folder, `shot-${shot.name}.png`), now.png);
		fs.writeFileSync(path.join(reference, shot.name + '.png'), small);
		fs.writeFileSync(path.join(reference, shot.name + '.json'), '[\n' + now.boxes.map(b => JSON.stringify(b)).join(',\n') + '\n]\n');
		bytes += small.length;
		console.log(`${shot.name}: ${small.length >> 10} KiB, ${now.boxes.length} boxes`);
	}
	console.log(`${bytes >> 10} KiB together`);
	await desk.close();
}

module.exports = { parts: [compare, planted, smoothing], renew };
