/**
 * Bar of an hour by its shape: distinguishable without colour, also where an hour is two pixels wide. From the bottom: on
 * its way. In the middle: waits for a person. From the top: lost or refused.
 */
export const barByShape = {
  delivered: { top: 0, height: 10 },
  collected: { top: 3, height: 7 },
  due: { top: 7.5, height: 2.5 },
  failing: { top: 5, height: 5 },
  held: { top: 3, height: 4 },
  dead: { top: 0, height: 7 },
  gap: { top: 0, height: 4 },
  unexpected: { top: 4.5, height: 1 },
} as const

/** The thickness of each shape's line. */
export const barsStyle = Object.entries(barByShape)
  .map(([shape, { height }]) => `.strip .${shape} { stroke-width: ${height}; }`)
  .join('\n')

/**
 * Colours for light and dark, type, and the frame of the page. Every text colour has a contrast of at least 4.5:1 on
 * both grounds.
 */
export const base = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f3; --card: #fdfdfc; --rule: #dcdfdc; --faint: #8b9598;
  --ink: #15222a; --quiet: #55636b;
  --sea: #0b6470; --level: #33808b; --water: #0b64701f;
  --amber: #8f5600; --amber-ground: #fbf0dc; --red: #b3261e; --red-ground: #fbe9e7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1417; --card: #141d21; --rule: #26333a; --faint: #64737a;
    --ink: #e4eaeb; --quiet: #9caab1;
    --sea: #5fc3d0; --level: #2b7d89; --water: #5fc3d024;
    --amber: #e8b25c; --amber-ground: #2a2112; --red: #ff8f84; --red-ground: #2d1715;
  }
}
* { box-sizing: border-box; margin: 0; padding: 0; }
html { overflow-anchor: none; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  max-width: 78rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem) 2rem;
  background: var(--ground); color: var(--ink);
  font: 400 .9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums lining-nums; overflow-wrap: anywhere;
}
ul { list-style: none; }
a { color: var(--sea); text-underline-offset: .2em; text-decoration-thickness: 1px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--sea); outline-offset: 2px; border-radius: 2px; }
code, pre { font: .875em/1.55 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
abbr { text-decoration: none; }
h2 { font-size: 1.125rem; font-weight: 600; letter-spacing: -.005em; line-height: 1.3; }
h3, h4 { font-size: 1rem; font-weight: 600; line-height: 1.35; }
h3.minor { font-size: .9375rem; margin-top: 1.5rem; }
summary { cursor: pointer; color: var(--sea); }
section { margin-top: 2.75rem; }
section > h2 { margin-bottom: 1rem; }
.quiet { color: var(--quiet); font-size: .8125rem; }
.note { margin: -.75rem 0 1rem; }
.empty { max-width: 44rem; color: var(--quiet); }
.empty pre { margin-top: .75rem; padding: .875rem 1rem; overflow-x: auto; color: var(--ink); background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; }
.notice { max-width: 60rem; margin-bottom: 1rem; padding: .625rem .875rem; background: var(--amber-ground); border-left: 3px solid var(--amber); border-radius: .25rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.definitions { position: absolute; }
.masthead { padding-top: 1.25rem; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding-bottom: 1rem; border-bottom: 1px solid var(--rule); }
h1 { display: flex; align-items: center; gap: .625rem; margin-right: auto; font-size: 1.25rem; font-weight: 650; letter-spacing: -.015em; }
.brand { width: 1.75rem; height: 1.75rem; fill: none; stroke-linecap: round; }
.brand rect { fill: #0b6470; } .brand .staff { stroke: #fff; stroke-width: 2; } .brand .wave { stroke: #8fe0e8; stroke-width: 2.4; }
.now { color: var(--quiet); } .now b { color: var(--ink); font-weight: 600; }
.badge { display: inline-flex; align-items: center; gap: .4375rem; padding: .1875rem .75rem .1875rem .625rem; border: 1px solid; border-radius: 2rem; font-size: .875rem; font-weight: 600; white-space: nowrap; }
.badge svg { width: .75rem; height: .75rem; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
.badge.ok { color: var(--sea); } .badge.not-ok { color: var(--red); background: var(--red-ground); }
.reasons ul { display: grid; gap: .375rem; }
.reasons .quiet { color: inherit; }
.glance { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; color: var(--quiet); font-size: .875rem; }
.glance b { color: var(--ink); font-weight: 600; }
.fix::before { content: "→"; margin-right: .375rem; color: var(--sea); }
.reasons { margin-top: 1rem; padding: .75rem 1rem; background: var(--red-ground); border-left: 3px solid var(--red); border-radius: .25rem; }
.decide { margin-top: 1rem; padding: .625rem .875rem; background: var(--amber-ground); border-left: 3px solid var(--amber); border-radius: .25rem; }
[hidden] { display: none !important; }
#filter { margin: .75rem 0 0; }
#filter input { font: inherit; width: min(26rem, 100%); padding: .375rem .625rem; border: 1px solid var(--rule); border-radius: .375rem; background: transparent; color: inherit; }
#connection:not(:empty) { position: sticky; top: 0; z-index: 1; margin-top: .5rem; padding: .5rem .875rem; color: var(--amber); background: var(--amber-ground); border-left: 3px solid var(--amber); border-radius: .25rem; }
.lost .badge { color: var(--quiet); background: none; }
footer { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 2rem; margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--quiet); font-size: .8125rem; }
footer nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
@media (max-width: 26rem) { .now { order: 3; width: 100%; } }
@media (forced-colors: active) { .shape, .curve svg { forced-color-adjust: auto; color: CanvasText; } }
`

/**
 * The hours. A row is a name and a strip of seven days: on one line if there is room, the name above its strip if there
 * is less, and the strip in two lines on a phone.
 */
const hoursStyle = `
.hours, .hours thead, .hours tbody { display: block; }
.hours tr { display: grid; grid-template-columns: 12.5rem minmax(0, 1fr); align-items: center; }
.hours th, .hours td { min-width: 0; text-align: left; font-weight: 400; }
.hours tbody tr { padding: .3125rem 0; border-top: 1px solid var(--rule); }
.hours tbody th { padding-right: .75rem; line-height: 1.3; }
.own-id { display: block; font-size: .875rem; font-weight: 500; } .of { color: var(--quiet); font-size: .75rem; }
.removed { display: inline-block; padding: 0 .375rem; border: 1px solid var(--rule); border-radius: .25rem; color: var(--amber); font-size: .75rem; }
.strip { display: grid; grid-template-columns: 1fr 1fr; }
.strip svg { display: block; width: 100%; height: 1.25rem; fill: none; stroke: currentColor; shape-rendering: crispEdges; overflow: visible; }
.strip path { stroke: currentColor; }
.axis svg { shape-rendering: auto; }
.strip .night, .night { stroke: var(--ground); stroke-width: 2; pointer-events: none; vector-effect: non-scaling-stroke; }
.axis text { fill: var(--quiet); stroke: none; font-size: .75rem; } .axis line { stroke: var(--faint); }
.shape { display: block; }
:is(.shape, .strip path).delivered { color: var(--level); } :is(.shape, .strip path).collected { color: var(--sea); } :is(.shape, .strip path).due { color: var(--quiet); }
:is(.shape, .strip path):is(.failing, .held) { color: var(--amber); } :is(.shape, .strip path):is(.dead, .gap) { color: var(--red); }
:is(.shape, .strip path).unexpected { color: var(--faint); }
.folds-axis { padding-left: 12.5rem; }
.fold { border-top: 1px solid var(--rule); } .fold > summary { padding: .625rem 0; color: inherit; } .fold .note { margin: .375rem 0 .75rem; }
.in-trouble { margin-left: .375rem; color: var(--amber); font-weight: 500; }
.empty + .hours { margin-top: .75rem; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; padding-top: .75rem; border-top: 1px solid var(--rule); color: var(--quiet); font-size: .8125rem; }
.legend li { display: flex; align-items: center; gap: .4375rem; }
.legend .shape, .balance .shape { width: .75rem; height: .75rem; flex: none; }
.two-lines { display: none; }
.axis .on-two-lines { display: none; }
@media (max-width: 62rem) {
  .hours tr { grid-template-columns: minmax(0, 1fr); }
  .folds-axis { padding-left: 0; }
  .hours thead th:first-child { position: absolute; }
  .hours tbody th { padding-bottom: .1875rem; }
  .own-id { display: inline; margin-right: .25rem; }
}
@media (max-width: 40rem) {
  .strip { grid-template-columns: 1fr; row-gap: .25rem; }
  .axis { row-gap: 0; } .axis .on-two-lines { display: inline; } .axis .on-one-line { display: none; }
  .two-lines { display: block; margin-top: .5rem; }
}
`

/** Troubles, the balance of the outbox, and warnings. */
const listsStyle = `
.troubles, .warnings { display: grid; gap: .75rem; max-width: 60rem; }
.troubles { margin-top: .625rem; }
.troubles li { display: flex; gap: .625rem; }
.troubles .shape { flex: none; width: .8125rem; height: .8125rem; margin-top: .3125rem; }
#more-troubles { margin-top: .75rem; }
.troubles b { font-weight: 600; margin-right: .25rem; }
.balance { display: flex; flex-wrap: wrap; gap: .875rem 0; margin-bottom: .625rem; }
.balance div { position: relative; padding-right: 2.75rem; }
.balance dt { display: flex; align-items: center; gap: .375rem; color: var(--quiet); font-size: .8125rem; }
.balance dd { font-size: 1.375rem; font-weight: 600; line-height: 1.35; letter-spacing: -.015em; }
.balance div:not(:last-child)::after { position: absolute; right: .9375rem; bottom: .1875rem; font-size: 1.125rem; color: var(--faint); }
.balance .enqueued::after { content: "="; } .balance .delivered::after, .balance .dead::after, .balance .held::after { content: "+"; }
.balance .zero dd { color: var(--quiet); font-weight: 400; }
.balance .zero .shape.shape { color: var(--faint); }
.facts { display: flex; flex-wrap: wrap; gap: .375rem 2.5rem; margin-top: 1.125rem; }
.facts dt { color: var(--quiet); font-size: .8125rem; }
.due-list { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin-top: .5rem; }
.commands { margin-top: .5rem; } .gate { margin-bottom: .75rem; }
.endpoints { width: 100%; border-collapse: collapse; font-size: .875rem; }
.endpoints th, .endpoints td { padding: .3125rem .75rem .3125rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: baseline; font-weight: 400; overflow-wrap: break-word; }
.endpoints thead th { color: var(--quiet); font-size: .8125rem; }
.endpoints .old { color: var(--amber); }
.warnings li { padding-left: .875rem; border-left: 2px solid var(--rule); }
@media (max-width: 40rem) {
  .endpoints, .endpoints tbody, .endpoints tr, .endpoints th, .endpoints td { display: block; padding: 0; border: 0; }
  .endpoints thead { position: absolute; clip-path: inset(50%); }
  .endpoints tr { padding: .5rem 0; border-bottom: 1px solid var(--rule); }
  .balance { display: grid; gap: .25rem; }
  .balance div { display: flex; justify-content: space-between; align-items: baseline; padding: .1875rem 0; border-bottom: 1px solid var(--rule); }
  .balance div:not(:last-child)::after { content: none; }
  .balance dt { font-size: .9375rem; } .balance dd { font-size: 1.0625rem; }
}
`

/** The protocols and their widgets. */
const widgetsStyle = `
.protocols { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); gap: 2rem .875rem; }
.protocol { grid-column: 1 / -1; min-width: 0; } .protocol.one { grid-column: auto; }
@media (min-width: 36rem) { .protocol.two { grid-column: span 2; } }
.protocol > header { display: flex; align-items: center; gap: .75rem; margin-bottom: .875rem; }
.initials { flex: none; display: grid; place-items: center; width: 2.25rem; height: 2.25rem; border-radius: .5625rem; color: var(--sea); background: var(--water); font-size: .8125rem; font-weight: 650; letter-spacing: .02em; }
.id { font-size: .9375em; }
.widgets { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); gap: .875rem; }
.widget { display: flex; flex-direction: column; min-width: 0; padding: .875rem 1rem .75rem; background: var(--card); border: 1px solid var(--rule); border-radius: .625rem; }
.widget-head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 0 .75rem; }
.widget h4 { font-size: .875rem; color: var(--quiet); }
.widget h4 a { color: inherit; text-decoration-color: var(--rule); } .widget h4 a:hover { color: var(--sea); text-decoration-color: currentColor; }
.metrics { width: 100%; margin-top: .875rem; border-collapse: collapse; font-size: .875rem; }
.metrics th, .metrics td { padding: .25rem 0 .25rem .75rem; border-bottom: 1px solid var(--rule); font-weight: 400; text-align: right; vertical-align: baseline; }
.metrics th:first-child { padding-left: 0; text-align: left; }
.metrics .mini { width: 25%; } .mini svg { display: block; width: 100%; height: 1.25rem; fill: none; stroke: var(--sea); stroke-linecap: round; overflow: visible; } .mini path { vector-effect: non-scaling-stroke; }
.metrics th[colspan] { padding-top: .875rem; } .metrics b { font-weight: 600; margin-right: .25rem; }
.metrics thead th, .metrics .unit { color: var(--quiet); font-size: .8125rem; }
.as-of { color: var(--quiet); font-size: .75rem; } .as-of.old { color: var(--amber); }
.value { margin-top: .125rem; font-size: 1.625rem; font-weight: 600; line-height: 1.3; letter-spacing: -.02em; }
.value.long { font-size: 1.25rem; line-height: 1.69; }
.value .unit { white-space: nowrap; font-size: .875rem; font-weight: 400; letter-spacing: 0; color: var(--quiet); }
.value.none { font-size: 1.125rem; line-height: 1.88; font-weight: 400; letter-spacing: 0; color: var(--quiet); }
.changes { display: grid; grid-template-columns: max-content 1fr; gap: 0 .625rem; font-size: .8125rem; }
.changes div { display: contents; }
.changes dt { color: var(--quiet); }
.changes .none { color: var(--quiet); }
.arrow { color: var(--sea); font-weight: 600; }
.curve { padding-top: .75rem; }
.curve svg { display: block; width: 100%; height: 3.5rem; overflow: visible; fill: none; }
.curve path { vector-effect: non-scaling-stroke; stroke-linecap: round; stroke-linejoin: round; }
.curve .water { fill: var(--water); }
.curve .line { stroke: var(--sea); stroke-width: 1.5; }
.curve .line.alone { stroke-width: 4; }
.curve .tip { stroke: var(--sea); stroke-width: 6; }
.curve .midnight { stroke: var(--rule); stroke-width: 1; }
.curve figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75rem; margin-top: .375rem; color: var(--quiet); font-size: .75rem; line-height: 1.35; }
.empty-curve { display: grid; place-items: center; height: 4.875rem; border: 1px dashed var(--rule); border-radius: .375rem; color: var(--quiet); font-size: .75rem; }
.metrics td:not(.mini) { white-space: nowrap; overflow-wrap: normal; }
.history h1 { margin-top: 1.5rem; } .history .home { margin-right: auto; font-size: 1.25rem; font-weight: 650; } .home a { display: flex; align-items: center; gap: .625rem; color: inherit; text-decoration: none; }
.history .curve svg { height: 12rem; } .history details { margin-bottom: .5rem; } .history main > p { margin-top: 1rem; }
.metrics .state { text-align: left; white-space: normal; } .metrics .state.old { color: var(--amber); }
.history .metrics { max-width: 50rem; }
@media (max-width: 40rem) { .metrics .mini, .metrics thead th.mini { display: none; } }
`

/** The page's style: constant, so that its hash can be in the Content-Security-Policy. */
export const style = [base, widgetsStyle, hoursStyle, barsStyle, listsStyle].join('\n')
