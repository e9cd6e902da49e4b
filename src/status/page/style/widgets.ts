/** The protocols and their widgets. */
export const widgetsStyle = `
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
