/**
 * The hours. A row is a name and a strip of seven days: on one line if there is room, the name above its strip if there
 * is less, and the strip in two lines on a phone.
 */
export const hoursStyle = `
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
