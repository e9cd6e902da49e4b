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
.reasons ul { display: grid; gap: .375rem; } .reasons ul + ul { margin-top: .625rem; padding-top: .625rem; border-top: 1px solid var(--rule); }
.reasons .quiet { color: inherit; }
.glance { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; color: var(--quiet); font-size: .875rem; }
.glance b { color: var(--ink); font-weight: 600; }
.fix::before { content: "→"; margin-right: .375rem; color: var(--sea); }
.reasons { margin-top: 1rem; padding: .75rem 1rem; background: var(--red-ground); border-left: 3px solid var(--red); border-radius: .25rem; }
.decide { margin-top: 1rem; padding: .625rem .875rem; background: var(--amber-ground); border-left: 3px solid var(--amber); border-radius: .25rem; }
#connection:not(:empty) { position: sticky; top: 0; z-index: 1; margin-top: .5rem; padding: .5rem .875rem; color: var(--amber); background: var(--amber-ground); border-left: 3px solid var(--amber); border-radius: .25rem; }
.lost .badge { color: var(--quiet); background: none; }
footer { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 2rem; margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--quiet); font-size: .8125rem; }
footer nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
@media (max-width: 26rem) { .now { order: 3; width: 100%; } }
@media (forced-colors: active) { .shape, .curve svg { forced-color-adjust: auto; color: CanvasText; } }
`
