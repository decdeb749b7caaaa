/* SPDX-License-Identifier: Apache-2.0 */
/* A document's nodes as HTML, and the page around them. */
#include <sodium.h>
#include <string.h>

#include "render/display_text.h"
#include "render/doc.h"

/*
 * The one style sheet of all pages: colours by name for light, dark and paper, the document's
 * nodes, drawings and charts. Text colours have a contrast of 4.5 to 1 and more on every ground
 * they stand on, marks 3 to 1; tests/golden/report.py computes both.
 */

/* clang-format off */
#define LIGHT \
	"--bg:#fff;--panel:#f4f6f8;--ink:#1a1f24;--soft:#525c66;--line:#d5dbe1;--edge:#7d8894;" \
	"--accent:#0b5cad;--good:#146c43;--warn:#7a4d00;--bad:#b4151c;--unknown:#6d3296;" \
	"--good-bg:#e3f4ea;--warn-bg:#fdf0d8;--bad-bg:#fde6e6;" \
	"--c1:#0b6bbf;--c2:#b85c00;--c3:#1b7f4f;--c4:#a8327a;--c5:#6a4fc0;--c6:#7a6a00;" \
	"--c7:#0f7c85;--c8:#8a4a3a;--band:#cfe3f5;--limit:#b4151c;" \
	"--h0:#f1f6fb;--h1:#dbe9f6;--h2:#c1d9ee;--h3:#a3c6e4;--h4:#82b0d8;--h5:#3f74ad;" \
	"--h6:#2c609a;--h7:#1b4c84;--h8:#0c386b;--h-ink-lo:#10181f;--h-ink-hi:#fff;" \
	"--gpu:#e3f3d3;--gpu-edge:#4d861a;--nic:#dcebfa;--nic-edge:#2f72b6;--disk:#efe4f7;" \
	"--disk-edge:#7f4ca8;--switch:#fdf3d8;--switch-edge:#966f10;--root:#e6eaee;--badge:#b00018;" \
	"--badge-tight:#8a5200;--on-badge:#fff;"
#define DARK \
	"--bg:#14171a;--panel:#1d2227;--ink:#e8ebee;--soft:#a5afb9;--line:#363e46;--edge:#87929d;" \
	"--accent:#7cb8f2;--good:#5fd39b;--warn:#efb54c;--bad:#ff8a86;--unknown:#cfa8ee;" \
	"--good-bg:#173226;--warn-bg:#3a2c10;--bad-bg:#431d1e;" \
	"--c1:#5aa9f0;--c2:#f0974a;--c3:#4cc38a;--c4:#e57fbf;--c5:#a993f0;--c6:#d3bd3c;" \
	"--c7:#4cc5cf;--c8:#d59a88;--band:#23405c;--limit:#ff8a86;" \
	"--h0:#1b2530;--h1:#1d3044;--h2:#1f3c5a;--h3:#214a71;--h4:#235989;--h5:#5a9ad4;" \
	"--h6:#7cb2e2;--h7:#a0caee;--h8:#c8e2f8;--h-ink-lo:#f2f6fa;--h-ink-hi:#0d141b;" \
	"--gpu:#22361a;--gpu-edge:#7fc241;--nic:#17304a;--nic-edge:#5f9fe0;--disk:#33234a;" \
	"--disk-edge:#b287d8;--switch:#3b2f10;--switch-edge:#d0a43c;--root:#2a3138;--badge:#ff8a86;" \
	"--badge-tight:#efb54c;--on-badge:#14171a;"

static const char *const doc_html_style[] = {
	/* Colours: as the reader's system has it, or as the page's button says, or for paper. */
	":root{color-scheme:light;" LIGHT "}\n",
	"@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;" DARK
	"}}\n:root[data-theme=dark]{color-scheme:dark;" DARK "}\n",
	"@media print{:root,:root[data-theme],:root:not([data-theme=light])"
	"{color-scheme:light;" LIGHT "}}\n",
	/* Text. */
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:88rem;padding:0 clamp(.75rem,3vw,2.5rem) 4rem;"
	"background:var(--bg);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;"
	"text-size-adjust:100%}\n"
	"h1{font-size:1.75rem;line-height:1.2;margin:1.25rem 0 .25rem}"
	"h2{font-size:1.25rem;margin:1.75rem 0 .5rem}"
	"h3{font-size:1.05rem;margin:1.25rem 0 .5rem}h4,h5,h6{font-size:1rem;margin:1rem 0 .25rem}\n"
	"p,li,dd{max-width:50rem;overflow-wrap:anywhere}p{margin:.5rem 0}\n"
	"a{color:var(--accent)}:focus-visible{outline:3px solid var(--accent);outline-offset:2px}\n"
	"main:focus{outline:none}\n"
	"code,pre{font:.9em/1.5 ui-monospace,monospace}code{overflow-wrap:anywhere}\n"
	"pre{background:var(--panel);padding:.75rem;overflow-x:auto;border-radius:.25rem}\n"
	/* What a page says first. */
	".verdict{max-width:none;font-size:1.15rem;padding:.75rem 1rem;margin:1rem 0;"
	"background:var(--panel);border:1px solid var(--line);"
	"border-left:.4rem solid var(--edge);border-radius:.4rem}"
	".verdict>:first-child{font-weight:700}"
	".verdict.edge-good{background:var(--good-bg)}.verdict.edge-warn{background:var(--warn-bg)}"
	".verdict.edge-bad{background:var(--bad-bg)}\n"
	".good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad);font-weight:600}"
	".unknown{color:var(--unknown)}.muted{color:var(--soft)}\n"
	"dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.25rem "
	"1.5rem;margin:.75rem 0}dt{color:var(--soft)}dd{margin:0;min-width:0}\n",
	/* Tables. */
	".wide{overflow-x:auto;margin:1rem 0}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	"caption,.caption,figcaption{text-align:left;font-weight:600;padding:.25rem 0;margin:0}\n"
	"th,td{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top;white-space:nowrap;"
	"border-bottom:1px solid var(--line)}\n"
	"thead th,thead td{color:var(--soft);font-weight:600;font-size:.875rem}"
	"tbody th{font-weight:500}\n"
	"tbody tr>:first-child,thead tr>:first-child{position:sticky;left:0;background:var(--bg)}\n"
	"tbody tr:hover>*{background:var(--panel)}\n"
	".right{text-align:right}td.wrap{white-space:normal;min-width:9rem;"
	"overflow-wrap:anywhere}td.wrap>code:only-child{display:inline-block;min-width:15rem}\n"
	".heat1{background:color-mix(in srgb,var(--warn) 30%,transparent)}"
	".heat2{background:color-mix(in srgb,var(--warn) 15%,transparent)}"
	".heat3{background:color-mix(in srgb,var(--good) 8%,transparent)}"
	".heat4{background:color-mix(in srgb,var(--good) 16%,transparent)}"
	".heat5{background:color-mix(in srgb,var(--good) 28%,transparent)}\n"
	".depth1{padding-left:1.2rem}.depth2{padding-left:2.4rem}.depth3{padding-left:3.6rem}"
	".depth4{padding-left:4.8rem}.depth5{padding-left:6rem}.depth6{padding-left:7.2rem}"
	".depth7{padding-left:8.4rem}.depth8{padding-left:9.6rem}\n"
	"th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;"
	"text-align:inherit}th button::after{content:' \\2195';opacity:.55}"
	"th[aria-sort=ascending] button::after{content:' \\2191';opacity:1}"
	"th[aria-sort=descending] button::after{content:' \\2193';opacity:1}\n",
	/* Findings: a card each, at every width. */
	".findings{list-style:none;padding:0;margin:.75rem 0;display:grid;gap:1rem;"
	"grid-template-columns:repeat(auto-fill,minmax(min(100%,28rem),1fr))}"
	".findings:has(>:last-child:nth-child(3)){grid-template-columns:1fr}"
	"@media (min-width:70rem){.findings:has(>:last-child:nth-child(3)){"
	"grid-template-columns:repeat(3,1fr)}}"
	".finding{max-width:none;border:1px solid var(--line);border-left:.4rem solid var(--edge);"
	"border-radius:.4rem;padding:.75rem 1rem;break-inside:avoid;display:flex;"
	"flex-direction:column;gap:.35rem}"
	".finding p{margin:0;max-width:none}.finding .id{font-weight:600}"
	".finding .on,.finding .more{color:var(--soft)}.finding .more{font-size:.875rem}"
	".finding .now,.finding .wanted{font-weight:600}"
	".finding .fix{margin-top:auto;padding-top:.5rem;border-top:1px solid var(--line);"
	"display:flex;gap:.5rem;align-items:start}"
	".fix>:first-child{font-weight:600;flex:none}"
	".fix code{background:var(--panel);padding:.15rem .5rem;border-radius:.25rem;flex:1}\n"
	".mark{font-weight:700;font-size:.8rem;border-radius:.25rem;padding:.15rem .45rem;"
	"margin-right:.25rem;background:var(--panel);white-space:nowrap}"
	".mark.good{background:var(--good-bg)}"
	".mark.warn{background:var(--warn-bg)}.mark.bad{background:var(--bad-bg)}"
	"[data-badge=critical]>p>.mark{background:var(--badge);color:var(--on-badge)}"
	"[data-badge=low]>p>.mark{background:var(--panel);color:var(--soft)}"
	"[data-badge=low]{border-left-color:var(--edge)!important}"
	".edge-good{border-left-color:var(--good)}.edge-warn{border-left-color:var(--warn)}"
	".edge-bad{border-left-color:var(--bad)}.edge-unknown{border-left-color:var(--unknown)}\n",
	/* Sections and tools. */
	"details{border-top:1px solid var(--line)}"
	"summary{cursor:pointer;padding:.75rem 0;display:flex;flex-wrap:wrap;align-items:baseline;"
	"gap:.25rem .75rem;list-style:none}summary::-webkit-details-marker{display:none}"
	"summary::before{content:'\\25b8';color:var(--soft);width:1em;flex:none}"
	"details[open]>summary::before{content:'\\25be'}"
	"summary>*{margin:0}.body{padding:0 0 1rem 0;scroll-margin-top:6rem}"
	"details details>.body,details details>summary{padding-left:1rem}\n"
	".apart{content-visibility:auto;contain-intrinsic-size:auto 3rem}\n"
	"#bar{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:center;"
	"justify-content:space-between;padding:.5rem 0;background:var(--bg);"
	"border-bottom:1px solid var(--line)}#bar:not(:has(:not([hidden]))){display:none}"
	"nav{min-width:0;flex:0 1 auto;font-size:.9rem}nav ul{display:flex;flex-wrap:wrap;"
	"gap:0 1rem;padding:.25rem 0;margin:0;list-style:none}nav li{white-space:nowrap}"
	"nav a{display:inline-block;padding:.15rem 0}\n"
	".skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;z-index:3;"
	"background:var(--bg);padding:.5rem 1rem}\n"
	"#tools{display:flex;flex-wrap:wrap;gap:.4rem;align-items:center;font-size:.9rem}"
	"#tools p{margin:0;color:var(--soft)}#tools label{white-space:nowrap}\n"
	"input,#tools button,.copy{font:inherit;color:var(--ink);background:var(--panel);"
	"border:1px solid var(--edge);border-radius:.25rem;padding:.25rem .6rem}"
	"input{width:min(12rem,60vw)}input::placeholder{color:var(--soft);opacity:1}"
	"#tools button,.copy{cursor:pointer}\n"
	".copy{font:.8rem/1.3 system-ui,sans-serif;margin-left:.4rem;padding:.2rem .5rem;"
	"vertical-align:baseline;white-space:nowrap}.copy.all{margin:0 0 0 auto}"
	"pre>.copy{float:right}.fix>.copy{margin:.1rem 0 0}\n"
	"@media (min-width:48rem){#bar{position:sticky;top:0;z-index:2}}\n"
	"[hidden],.gone{display:none!important}\n",
	/* Drawings: what stands in them by class, as svg_shape.c has it for a drawing on its own. */
	"figure{margin:1.25rem 0}figure svg{max-width:100%;height:auto}.drawing svg{min-width:40rem}"
	".tall{display:none}.tall svg{min-width:0}"
	"@media screen and (max-width:40rem){.broad{display:none}.tall{display:block}}\n"
	".drawing .paper{fill:var(--bg)}.drawing .node-paper{fill:var(--panel)}"
	".drawing .node{fill:var(--panel);stroke:var(--edge)}"
	".drawing .root{fill:var(--root);stroke:var(--edge)}"
	".drawing .switch{fill:var(--switch);stroke:var(--switch-edge)}"
	".drawing .gpu{fill:var(--gpu);stroke:var(--gpu-edge)}"
	".drawing .nic{fill:var(--nic);stroke:var(--nic-edge)}"
	".drawing .disk{fill:var(--disk);stroke:var(--disk-edge)}"
	".drawing .fabric,.drawing .nvswitch{fill:var(--gpu);stroke:var(--gpu-edge)}"
	".drawing .link{stroke:var(--edge);stroke-width:1.5}"
	".drawing .slow{stroke:var(--bad);stroke-width:4}"
	".drawing .tight{stroke:var(--warn);stroke-width:3;stroke-dasharray:7 3}"
	".drawing .ring-tight{fill:none;stroke:var(--warn);stroke-width:2;stroke-dasharray:7 3}"
	".drawing .badge{fill:var(--badge)}.drawing .badge-tight{fill:var(--badge-tight)}"
	".drawing .ring{fill:none;stroke:var(--bad);stroke-width:3}"
	".drawing .nvlink{stroke:var(--gpu-edge);stroke-width:3}"
	".drawing text{fill:var(--ink)}.drawing text.soft{fill:var(--soft)}"
	".drawing text.strong{font-weight:600}"
	".drawing text.bad{fill:var(--bad);font-weight:600}"
	".drawing text.warn{fill:var(--warn);font-weight:600}"
	".drawing text.on-badge{fill:var(--on-badge);font-weight:600}\n",
	/* Charts: svg_shape.h. */
	"svg.chart{width:100%;max-width:720px;height:auto;font:12px system-ui,sans-serif}"
	"svg.chart text{fill:var(--ink)}svg.chart text.soft{fill:var(--soft)}"
	"svg.chart .axis{stroke:var(--edge);stroke-width:1;fill:none}"
	"svg.chart .grid{stroke:var(--line);stroke-width:1;fill:none}"
	"svg.chart .limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:6 3;fill:none}"
	"svg.chart .band{fill:var(--band)}svg.chart .ci{stroke:var(--ink);stroke-width:1.5;fill:none}"
	"svg.chart .s1{fill:var(--c1)}svg.chart .s2{fill:var(--c2)}svg.chart .s3{fill:var(--c3)}"
	"svg.chart .s4{fill:var(--c4)}svg.chart .s5{fill:var(--c5)}svg.chart .s6{fill:var(--c6)}"
	"svg.chart .s7{fill:var(--c7)}svg.chart .s8{fill:var(--c8)}\n",
	"svg.chart .l1{stroke:var(--c1);fill:none}svg.chart .l2{stroke:var(--c2);fill:none}"
	"svg.chart .l3{stroke:var(--c3);fill:none}svg.chart .l4{stroke:var(--c4);fill:none}"
	"svg.chart .l5{stroke:var(--c5);fill:none}svg.chart .l6{stroke:var(--c6);fill:none}"
	"svg.chart .l7{stroke:var(--c7);fill:none}svg.chart .l8{stroke:var(--c8);fill:none}"
	"svg.chart [class^=l]{stroke-width:2}"
	"svg.chart .heat0{fill:var(--h0)}svg.chart .heat1{fill:var(--h1)}"
	"svg.chart .heat2{fill:var(--h2)}svg.chart .heat3{fill:var(--h3)}"
	"svg.chart .heat4{fill:var(--h4)}svg.chart .heat5{fill:var(--h5)}"
	"svg.chart .heat6{fill:var(--h6)}svg.chart .heat7{fill:var(--h7)}"
	"svg.chart .heat8{fill:var(--h8)}svg.chart text.heat-ink-lo{fill:var(--h-ink-lo)}"
	"svg.chart text.heat-ink-hi{fill:var(--h-ink-hi)}"
	"svg.chart .good{fill:var(--good)}svg.chart .warn{fill:var(--warn)}"
	"svg.chart .bad{fill:var(--bad)}svg.chart .line-good{stroke:var(--good);fill:none}"
	"svg.chart .line-bad{stroke:var(--bad);fill:none}\n",
	"svg.chart text.strong{font-weight:600}svg.chart .mute{fill:var(--soft);fill-opacity:.35}"
	"svg.chart .soft-line,svg.chart .line-soft{stroke:var(--soft);stroke-width:1.5;fill:none}"
	"svg.chart .d2{stroke-dasharray:6 3}svg.chart .d3{stroke-dasharray:2 3}"
	"svg.chart .d4{stroke-dasharray:8 3 2 3}svg.chart .span{fill:var(--bad);fill-opacity:.15}"
	"svg.chart .rule{stroke:var(--ink);stroke-width:1;fill:none}"
	"svg.chart .halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px}\n",
	/* A telephone: rows of sentences stand below each other. */
	"@media screen and (max-width:40rem){dl{grid-template-columns:1fr;gap:0}"
	"dd{margin-bottom:.5rem}nav ul{flex-wrap:nowrap;overflow-x:auto}"
	"#tools,#tools label{flex:1 1 100%}#tools button{flex:1}"
	"input{width:calc(100% - 3.5rem)}}\n"
	"@media screen and (max-width:60rem){.wide.cards{overflow-x:visible}"
	".cards table,.cards tbody,.cards tr,.cards td,.cards tbody th,.cards caption{display:block}"
	".cards thead{display:none}.cards tr{border:1px solid var(--line);border-radius:.25rem;"
	"padding:.5rem .75rem;margin:0 0 .75rem}"
	".cards td,.cards tbody th{border:0;padding:.1rem 0;white-space:normal;text-align:left;"
	"min-width:0;position:static;overflow-wrap:anywhere}"
	".cards td:empty{display:none}.cards td.wrap>code:only-child{display:inline;min-width:0}"
	".cards [data-name]::before{content:attr(data-name) ': ';color:var(--soft);font-weight:400}}\n",
	"@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}\n",
	/* Paper: everything is open, nothing is there to press, colours stay. */
	"@media print{#bar,.copy,.skip{display:none!important}:root{font-size:9.5pt}"
	".findings{grid-template-columns:1fr 1fr!important}body{max-width:none;padding:0;"
	"print-color-adjust:exact;-webkit-print-color-adjust:exact}"
	".wide{overflow:visible}.cards{font-size:7.5pt}.dense{font-size:5.5pt}"
	"thead th,thead td{font-size:inherit}"
	"th,td{white-space:normal;overflow-wrap:break-word;position:static!important;"
	"padding-right:.5em}.dense th,.dense td{white-space:nowrap;padding-right:.25em}"
	"th code{overflow-wrap:normal}th button::after{display:none}"
	".apart{content-visibility:visible;break-before:page}"
	"details::details-content{content-visibility:visible!important;display:block!important;"
	"block-size:auto!important}"
	"summary{break-after:avoid}summary::before{display:none}h1,h2,h3,h4,caption{break-after:avoid}"
	"tr,figure,pre{break-inside:avoid}.drawing svg{min-width:0}a{color:inherit;text-decoration:none}"
	"td.wrap{min-width:4rem}td.wrap>code:only-child{min-width:0}.gone{display:revert!important}"
	"tr.gone{display:table-row!important}}\n",
	NULL
};
/* clang-format on */

/*
 * The script of every page copies its commands; that of pages with tools also filters rows, sorts
 * columns, folds, and chooses light or dark. A page is read without it; it makes the controls
 * itself or shows those that wait for it. It takes texts of the page as texts and never as markup.
 */

/* clang-format off */
static const char *const copying[] = {
	"'use strict';\n"
	"const $=id=>document.getElementById(id),all=(q,e=document)=>[...e.querySelectorAll(q)];\n"
	/* The clipboard, or, where the browser refuses, what is selected. */
	"const copy=async(s,b)=>{let ok=true;try{await navigator.clipboard.writeText(s)}catch{"
	"const t=document.createElement('textarea');t.value=s;t.className='skip';b.after(t);t.select();"
	"ok=document.execCommand('copy');t.remove();b.focus()}\n"
	"const was=b.textContent;b.textContent=ok?'Copied':'Not copied';"
	"setTimeout(()=>b.textContent=was,2000)};\n"
	"const button=(word,name,s)=>{const b=document.createElement('button');b.type='button';"
	"b.className='copy';b.textContent=word;b.setAttribute('aria-label',name);"
	"b.onclick=()=>{if(b.textContent===word)copy(s,b)};return b};\n"
	"for(const c of all('code'))if(/^(sudo |gputune )/.test(c.textContent))"
	"c.after(button('Copy','Copy: '+c.textContent,c.textContent));\n"
	"for(const f of all('.findings')){const s=all('.fix code',f).map(c=>c.textContent)"
	".filter(s=>s.startsWith('sudo '));if(s.length>3){const b=button("
	"'Copy '+s.length+' commands','Copy '+s.length+' commands',s.join('\\n')+'\\n');"
	"b.className+=' all';f.before(b)}}\n",
	NULL
};
static const char *const tools_script[] = {
	"(()=>{\n"
	"const root=document.documentElement,said=$('said');\n",
	/* Light and dark. A page that was opened from a file may have no storage. */
	"const modes=['auto','light','dark'];let mode='auto';\n"
	"try{mode=localStorage.getItem('gputune-theme')||mode}catch{}\n"
	"if(!modes.includes(mode))mode='auto';\n"
	"const paint=()=>{if(mode==='auto')delete root.dataset.theme;else root.dataset.theme=mode;"
	"$('theme').textContent='Theme: '+mode};\n"
	"$('theme').onclick=()=>{mode=modes[(modes.indexOf(mode)+1)%3];paint();"
	"try{localStorage.setItem('gputune-theme',mode)}catch{}};\n",
	/* Folding; what a link names is opened; printing opens all and puts it back. */
	"const folds=all('details'),set=v=>{for(const d of folds)d.open=v;"
	"said.textContent=v?'All sections are open.':'All sections are folded.'};\n"
	"$('unfold').onclick=()=>set(true);$('fold').onclick=()=>set(false);\n"
	"const reveal=()=>{let e;try{e=$(decodeURIComponent(location.hash.slice(1)))}catch{}"
	"if(!e||location.hash.length<2)return;"
	"for(let p=e;p;p=p.parentElement)if(p.tagName==='DETAILS')p.open=true;e.scrollIntoView()};\n"
	"addEventListener('hashchange',reveal);\n"
	"document.addEventListener('click',e=>{const a=e.target.closest('a[href^=\"#\"]');"
	"if(a&&a.hash===location.hash)reveal()});\n"
	"let before=null;\n"
	"addEventListener('beforeprint',()=>{before=folds.map(d=>d.open);for(const d of folds)"
	"d.open=true});\n"
	"addEventListener('afterprint',()=>{if(before)folds.forEach((d,i)=>d.open=before[i]);"
	"before=null});\n",
	/* Sorting: numbers with their units as numbers, importance by rank, all else by name. */
	"const rank={critical:0,high:1,medium:2,low:3,info:4,unknown:5,'n/a':6,ok:7};\n"
	"const size={k:1e3,m:1e6,g:1e9,t:1e12,p:1e15,n:1e-9,u:1e-6,'\\u00b5':1e-6};\n"
	"const value=s=>{s=s.trim();if(s.toLowerCase() in rank)return rank[s.toLowerCase()];"
	"const m=/^[<>=~+ ]*(-?[\\d,]*\\.?\\d+(?:e[+-]?\\d+)?)\\s*([A-Za-z\\u00b5%]*)/.exec(s);"
	"if(!m)return null;const n=parseFloat(m[1].replaceAll(',','')),u=m[2];"
	"if(/^ms\\b/.test(u))return n*1e-3;"
	"const i=/^([KMGTP])i/.exec(u);if(i)return n*1024**('KMGTP'.indexOf(i[1])+1);"
	"const p=/^([kKMGTPnu\\u00b5])[A-Za-z]/.exec(u);"
	"return p?n*(size[p[1]]??size[p[1].toLowerCase()]):n};\n"
	"const text=(r,k)=>r.cells[k]?r.cells[k].textContent:'';\n"
	"const sort=(t,k,th)=>{const up=th.getAttribute('aria-sort')!=='ascending';"
	"for(const h of all('thead th',t))h.removeAttribute('aria-sort');"
	"th.setAttribute('aria-sort',up?'ascending':'descending');"
	"const b=t.tBodies[0],rows=[...b.rows].map(r=>[r,text(r,k),value(text(r,k))]);"
	"rows.sort((x,y)=>{const e=(x[1]==='')-(y[1]==='');if(e)return e;"
	"const c=x[2]!==null&&y[2]!==null?x[2]-y[2]:(x[2]===null)-(y[2]===null)||"
	"x[1].localeCompare(y[1],'en',{numeric:true});"
	"return up?c:-c});b.append(...rows.map(x=>x[0]));"
	"said.textContent='Sorted by '+th.textContent+(up?', upwards.':', downwards.')};\n"
	/* Of tables that are seen: of many machines' most are folded. */
	"const arm=e=>{for(const t of all('table:not(.tree):not([data-sorts])',e)){"
	"if(t.closest('details:not([open])'))continue;t.dataset.sorts='';"
	"if(!t.tBodies[0]||t.tBodies[0].rows.length<3)continue;"
	"for(const th of all('thead th',t)){const k=th.cellIndex,b=document.createElement('button');"
	"b.type='button';b.textContent=th.textContent;b.onclick=()=>sort(t,k,th);"
	"th.replaceChildren(b)}}};\n"
	"arm(document);document.addEventListener('toggle',e=>{if(e.target.open)arm(e.target)},true);\n",
	/* Filtering: every word has to be in a row; sections without such a row are left out. */
	"let rows=null,timer=0;\n"
	"const filter=()=>{if(!rows)rows=all('tbody tr,.finding').map(r=>[r,r.textContent.toLowerCase()]);"
	"const words=$('filter').value.toLowerCase().split(/\\s+/).filter(Boolean);let n=0;"
	"const hit=new Set();"
	"for(const [r,s] of rows){const ok=words.every(w=>s.includes(w));r.classList.toggle('gone',!ok);"
	"if(ok){n++;for(let p=r.parentElement;p&&!hit.has(p);p=p.parentElement)hit.add(p)}}\n"
	"for(const s of all('section')){const on=!words.length||hit.has(s);"
	"s.classList.toggle('gone',!on);"
	"if(words.length&&on)s.querySelector(':scope>details').open=true}"
	"for(const w of all('.wide'))if(w.querySelector('tbody'))"
	"w.classList.toggle('gone',words.length>0&&!hit.has(w));"
	"said.textContent=words.length?n+(n===1?' row has':' rows have')+' these words.':''};\n"
	"$('filter').addEventListener('input',()=>{clearTimeout(timer);timer=setTimeout(filter,120)});\n"
	"$('filter').addEventListener('keydown',e=>{if(e.key==='Escape'){e.target.value='';filter()}});\n",
	"paint();$('tools').hidden=false;reveal();\n"
	"})();\n",
	NULL
};
/* clang-format on */

static const char *const classes[STYLES] = {
	[STYLE_GOOD] = "good",	     [STYLE_WARN] = "warn",   [STYLE_BAD] = "bad",
	[STYLE_UNKNOWN] = "unknown", [STYLE_MUTED] = "muted", [STYLE_STRONG] = "strong",
	[STYLE_CODE] = "code",
};

static const char *class_of(const struct cell *c)
{
	return classes[c->style] ? classes[c->style] : "plain";
}

static void cell_html(struct text *t, const struct cell *c)
{
	const char *class = classes[c->style];
	const char *tag = c->style == STYLE_CODE     ? "code"
			  : c->style == STYLE_STRONG ? "strong"
						     : "span";

	if (!c->text || !*c->text)
		return;
	if (c->link)
		text_printf(t, "<a href=\"#%s\">", c->link);
	if (class)
		text_printf(t,
			    c->style == STYLE_CODE || c->style == STYLE_STRONG
				    ? "<%s>"
				    : "<%s class=\"%s\">",
			    tag, class);
	display_escape(t, c->text);
	if (class)
		text_printf(t, "</%s>", tag);
	if (c->link)
		text_add(t, "</a>");
}

static void paragraph(struct text *t, const struct node *n)
{
	if (n->verdict)
		text_printf(t, "<p class=\"verdict edge-%s\">", class_of(&n->rows[0].cells[0]));
	else
		text_add(t, "<p>");
	for (size_t i = 0; i < n->n_rows; i++)
		cell_html(t, &n->rows[i].cells[0]);
	text_add(t, "</p>\n");
}

static void doc_html_bullets(struct text *t, const struct node *n)
{
	text_add(t, "<ul>\n");
	for (size_t i = 0; i < n->n_rows; i++) {
		text_add(t, "<li>");
		cell_html(t, &n->rows[i].cells[0]);
		text_add(t, "</li>\n");
	}
	text_add(t, "</ul>\n");
}

static void title(struct text *t, const char *open, const struct node *n, const char *close)
{
	if (!n->title)
		return;
	text_add(t, open);
	display_escape(t, n->title);
	text_add(t, close);
}

static void doc_html_pairs(struct text *t, const struct node *n)
{
	title(t, "<p class=\"caption\">", n, "</p>\n");
	text_add(t, "<dl>\n");
	for (size_t i = 0; i < n->n_rows; i++) {
		text_add(t, "<dt>");
		cell_html(t, &n->rows[i].cells[0]);
		text_add(t, "</dt><dd>");
		cell_html(t, &n->rows[i].cells[1]);
		text_add(t, "</dd>\n");
	}
	text_add(t, "</dl>\n");
}

/* Classes that the style sheet has; columns that paper takes only in small letters. */
enum { DEPTH_MAX = 8, DENSE = 12 };

static void classes_of(struct text *t, const struct node *n, const struct row *r, size_t c)
{
	unsigned depth = r->depth < DEPTH_MAX ? r->depth : DEPTH_MAX;

	if (!c && depth)
		text_printf(t, " class=\"depth%u\"", depth);
	else if (r->cells[c].heat)
		text_printf(t, " class=\"right heat%u\"", r->cells[c].heat);
	else if (n->columns[c].right)
		text_add(t, " class=\"right\"");
	else if (n->columns[c].wrap)
		text_add(t, " class=\"wrap\"");
}

static void doc_html_table_row(struct text *t, const struct node *n, const struct row *r,
			       bool cards)
{
	size_t name = n->n_keys - 1;

	text_add(t, cards ? "<tr role=\"row\">" : "<tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		const char *tag = c == name ? "th" : "td";

		text_printf(t, "<%s", tag);
		if (c == name)
			text_add(t, " scope=\"row\"");
		/* Laid out as blocks a table is none any more for who cannot see it, unless said.
		 */
		if (cards)
			text_add(t, c == name ? " role=\"rowheader\"" : " role=\"cell\"");
		if (cards && *n->columns[c].title) {
			text_add(t, " data-name=\"");
			display_escape(t, n->columns[c].title);
			text_addc(t, '"');
		}
		classes_of(t, n, r, c);
		text_addc(t, '>');
		cell_html(t, &r->cells[c]);
		text_printf(t, "</%s>", tag);
	}
	text_add(t, "</tr>\n");
}

static void table_head(struct text *t, const struct node *n, bool cards)
{
	const char *role = cards ? " role=\"columnheader\"" : "";

	text_add(t, cards ? "<thead role=\"rowgroup\"><tr role=\"row\">" : "<thead><tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		if (!*n->columns[c].title) { /* a header without words heads nothing */
			text_printf(t, "<td%s></td>", cards ? " role=\"cell\"" : "");
			continue;
		}
		text_printf(t, "<th scope=\"col\"%s%s>", role,
			    n->columns[c].right ? " class=\"right\"" : "");
		display_escape(t, n->columns[c].title);
		text_add(t, "</th>");
	}
	text_printf(t, "</tr></thead>\n<tbody%s>\n", cards ? " role=\"rowgroup\"" : "");
}

/* Where rows hold sentences, a telephone shows them below each other. */
static bool is_cards(const struct node *n)
{
	for (size_t c = 0; c < n->n_columns; c++)
		if (n->columns[c].wrap)
			return n->kind == NODE_TABLE;
	return false;
}

static void doc_html_table(struct text *t, const struct node *n, bool tools)
{
	bool cards = tools && is_cards(n);

	/* The wrapper scrolls, so that a wide table never makes the page itself wide. */
	text_printf(t, "<div class=\"wide%s%s\" tabindex=\"0\"", cards ? " cards" : "",
		    tools && n->n_columns > DENSE ? " dense" : "");
	if (tools) {
		text_add(t, " role=\"group\" aria-label=\"");
		display_escape(t, n->title ? n->title : "Table");
		text_addc(t, '"');
	}
	text_printf(t, "><table%s>\n",
		    n->kind == NODE_TREE ? " class=\"tree\""
		    : cards		 ? " role=\"table\""
					 : "");
	title(t, "<caption>", n, "</caption>\n");
	table_head(t, n, cards);
	for (size_t i = 0; i < n->n_rows; i++)
		doc_html_table_row(t, n, &n->rows[i], cards);
	text_add(t, "</tbody>\n</table></div>\n");
}

/* A piece of a finding in an element of its class. */
static void found_part(struct text *t, const char *class, const struct cell *c)
{
	if (cell_empty(c))
		return;
	text_printf(t, " <span class=\"%s\">", class);
	cell_html(t, c);
	text_add(t, "</span>");
}

static void found_line(struct text *t, const char *open, const struct cell *c)
{
	if (cell_empty(c))
		return;
	text_add(t, open);
	cell_html(t, c);
	text_add(t, "</p>\n");
}

static void found_one(struct text *t, const struct row *r)
{
	const struct cell *c = r->cells;
	const char *style = class_of(&c[FOUND_BADGE]);

	text_printf(t, "<li class=\"finding edge-%s\" data-badge=\"", style);
	display_escape(t, c[FOUND_BADGE].text);
	text_printf(t, "\"><p><span class=\"mark %s\">", style);
	display_escape(t, c[FOUND_BADGE].text);
	text_add(t, "</span>");
	found_part(t, "id", &c[FOUND_ID]);
	found_part(t, "on", &c[FOUND_ON]);
	text_add(t, "</p>\n");
	if (!cell_empty(&c[FOUND_NOW]) || !cell_empty(&c[FOUND_WANTED])) {
		text_add(t, "<p>");
		found_part(t, "now", &c[FOUND_NOW]);
		if (!cell_empty(&c[FOUND_WANTED]))
			text_add(t, " \xe2\x86\x92");
		found_part(t, "wanted", &c[FOUND_WANTED]);
		text_add(t, "</p>\n");
	}
	found_line(t, "<p>", &c[FOUND_WHY]);
	for (size_t k = 0; k < r->n_more; k += 2) {
		text_add(t, k ? " \xc2\xb7 " : "<p class=\"more\">");
		display_escape(t, r->more[k].text);
		text_add(t, ": ");
		cell_html(t, &r->more[k + 1]);
	}
	if (r->n_more)
		text_add(t, "</p>\n");
	found_line(t, "<p class=\"fix\"><span>Fix:</span> ", &c[FOUND_FIX]);
	text_add(t, "</li>\n");
}

static void doc_html_findings(struct text *t, const struct node *n)
{
	title(t, "<p class=\"caption\">", n, "</p>\n");
	text_add(t, "<ul class=\"findings\">\n");
	for (size_t i = 0; i < n->n_rows; i++)
		found_one(t, &n->rows[i]);
	text_add(t, "</ul>\n");
}

static void code(struct text *t, const char *s)
{
	text_add(t, "<pre><code>");
	display_escape(t, s);
	text_add(t, "</code></pre>\n");
}

/* A drawing without its own style sheet: the page has one for all, in the reader's colours. In
 * letters where there is too little for one. */
static void html_figure(struct text *t, const struct node *n)
{
	bool chart = n->svg && strstr(n->svg, "class=\"chart\"");
	const char *p = n->svg, *from, *to;

	if (!p) {
		code(t, n->text ? n->text : "");
		return;
	}
	text_printf(t, "<figure class=\"wide %s\">\n", chart ? "plot" : "drawing");
	title(t, "<figcaption>", n, "</figcaption>\n");
	while ((from = strstr(p, "<style>")) && (to = strstr(from, "</style>"))) {
		text_addn(t, p, (size_t)(from - p));
		p = to + strlen("</style>");
	}
	text_add(t, p);
	text_add(t, "</figure>\n");
}

/* What a link names lies inside of what is folded: browsers then open it without a script. */
static void section(struct text *t, const struct node *n, unsigned level)
{
	/* Below these a section is no landmark: dozens of one name would be no help. */
	text_printf(t, "<section%s", n->apart ? " class=\"apart\"" : "");
	if (level <= 2)
		text_printf(t, " aria-labelledby=\"%s-h\"", n->id);
	text_printf(t, "><details%s><summary><h%u id=\"%s-h\">", n->open ? " open" : "", level,
		    n->id);
	display_escape(t, n->title);
	text_printf(t, "</h%u> ", level);
	cell_html(t, &n->say);
	text_printf(t, "</summary>\n<div class=\"body\" id=\"%s\">\n", n->id);
}

static void doc_html_draw(struct text *t, const struct node *n, bool tools)
{
	unsigned level = n->level < 1 ? 1 : n->level < 6 ? n->level : 6;

	switch (n->kind) {
	case NODE_HEADING:
		text_printf(t, "<h%u>", level);
		display_escape(t, n->title);
		text_printf(t, "</h%u>\n", level);
		break;
	case NODE_PARAGRAPH:
		paragraph(t, n);
		break;
	case NODE_PAIRS:
		doc_html_pairs(t, n);
		break;
	case NODE_TABLE:
	case NODE_TREE:
		doc_html_table(t, n, tools);
		break;
	case NODE_BULLETS:
		doc_html_bullets(t, n);
		break;
	case NODE_FINDINGS:
		doc_html_findings(t, n);
		break;
	case NODE_CODE:
		code(t, n->text);
		break;
	case NODE_FIGURE:
		html_figure(t, n);
		break;
	case NODE_SECTION:
		section(t, n, level);
		break;
	case NODE_SECTION_END:
		text_add(t, "</div></details></section>\n");
		break;
	}
}

void doc_html(FILE *out, const struct doc *d, const char *page_title)
{
	TEXT_AUTO t = { 0 };

	if (page_title)
		doc_html_begin(out, page_title, d->tools, d->tools ? d : NULL);
	for (size_t i = 0; i < d->n; i++) {
		if (node_nothing(d->nodes[i]))
			continue;
		text_clear(&t);
		doc_html_draw(&t, d->nodes[i], d->tools);
		fputs(t.s ? t.s : "", out);
	}
	if (page_title)
		doc_html_end(out, d->tools);
}

/* The frame of an HTML page: its head with a policy that lets nothing in but our own style sheet
 * and script, the ways to its sections, and its tools. */

/* "sha256-..." of the pieces, and of more where it is not NULL, as a policy names them; arena. */
static const char *doc_html_hash(struct arena *a, const char *const *pieces,
				 const char *const *more)
{
	enum { VARIANT = sodium_base64_VARIANT_ORIGINAL };
	uint8_t sum[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(sizeof(sum), VARIANT)];
	crypto_hash_sha256_state s;

	crypto_hash_sha256_init(&s);
	for (; *pieces; pieces++)
		crypto_hash_sha256_update(&s, (const uint8_t *)*pieces, strlen(*pieces));
	for (; more && *more; more++)
		crypto_hash_sha256_update(&s, (const uint8_t *)*more, strlen(*more));
	crypto_hash_sha256_final(&s, sum);
	sodium_bin2base64(text, sizeof(text), sum, sizeof(sum), VARIANT);
	return arena_printf(a, "sha256-%s", text);
}

static void put(FILE *out, const char *const *pieces)
{
	for (; *pieces; pieces++)
		fputs(*pieces, out);
}

static void doc_html_head(FILE *out, const char *title, bool tools)
{
	struct arena a = { 0 };
	TEXT_AUTO t = { 0 };

	text_add(&t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	text_printf(&t,
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src '%s'; script-src '%s'; ",
		    doc_html_hash(&a, doc_html_style, NULL),
		    doc_html_hash(&a, copying, tools ? tools_script : NULL));
	text_add(&t, "base-uri 'none'; form-action 'none'\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta name=\"referrer\" content=\"no-referrer\">\n"
		     "<meta name=\"generator\" content=\"gputune " GPUTUNE_VERSION "\">\n<title>");
	display_escape(&t, title);
	text_add(&t, "</title>\n<style>");
	fputs(t.s, out);
	put(out, doc_html_style);
	fputs("</style>\n</head>\n", out);
	arena_free(&a);
}

/* The least level that any section has: those are listed. */
static unsigned top_level(const struct doc *d)
{
	unsigned level = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->nodes[i]->kind == NODE_SECTION && (!level || d->nodes[i]->level < level))
			level = d->nodes[i]->level;
	return level;
}

static void navigation(FILE *out, const struct doc *d)
{
	unsigned level = top_level(d);
	TEXT_AUTO t = { 0 };

	text_add(&t, "<nav aria-label=\"Sections\"><ul>\n");
	for (size_t i = 0; i < d->n; i++) {
		const struct node *n = d->nodes[i];

		if (n->kind != NODE_SECTION || n->level != level)
			continue;
		text_printf(&t, "<li><a href=\"#%s\">", n->id);
		display_escape(&t, n->title);
		text_add(&t, "</a></li>\n");
	}
	text_add(&t, "</ul></nav>\n");
	if (level)
		fputs(t.s, out);
}

void doc_html_begin(FILE *out, const char *title, bool tools, const struct doc *sections)
{
	doc_html_head(out, title, tools);
	fputs("<body>\n", out);
	if (tools)
		fputs("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
		      "<header id=\"bar\">\n",
		      out);
	if (sections)
		navigation(out, sections);
	/* Controls that do nothing without the script are not shown without it. */
	if (tools)
		fputs("<div id=\"tools\" hidden>\n"
		      "<label>Filter <input id=\"filter\" type=\"search\" autocomplete=\"off\" "
		      "placeholder=\"words in a row\"></label>\n"
		      "<button type=\"button\" id=\"unfold\">Open all</button>\n"
		      "<button type=\"button\" id=\"fold\">Fold all</button>\n"
		      "<button type=\"button\" id=\"theme\">Theme: auto</button>\n"
		      "<p id=\"said\" role=\"status\"></p>\n</div>\n</header>\n",
		      out);
	fputs(tools ? "<main id=\"content\" tabindex=\"-1\">\n" : "<main>\n", out);
}

void doc_html_end(FILE *out, bool tools)
{
	fputs("</main>\n", out);
	fputs("<script>", out);
	put(out, copying);
	if (tools)
		put(out, tools_script);
	fputs("</script>\n", out);
	fputs("</body>\n</html>\n", out);
}
