/**
 * The grid of hours. A row is a name and 48 cells: on one line if there is room, the name above its cells if there is
 * less, and two lines of 24 cells on a phone.
 */
export const hoursStyle = `
.hours, .hours thead, .hours tbody { display: block; }
.hours tr { display: grid; grid-template-columns: 12.5rem repeat(48, minmax(0, 1fr)); align-items: center; }
.hours th, .hours td { min-width: 0; text-align: left; font-weight: 400; }
.hours thead th { position: relative; height: 1.5rem; }
.mark { position: absolute; left: 0; bottom: .25rem; font-size: .75rem; line-height: 1; color: var(--quiet); white-space: nowrap; }
.mark .day { color: var(--ink); font-weight: 600; } .midnight-hour { display: none; }
.hours th:nth-last-child(-n+3) .mark { left: auto; right: 0; }
.hours tbody tr { padding: .3125rem 0; border-top: 1px solid var(--rule); }
.hours tbody th { padding-right: .75rem; line-height: 1.3; }
.own-id { display: block; font-size: .875rem; font-weight: 500; } .of { color: var(--quiet); font-size: .75rem; }
.hours td { display: grid; padding: 1px; }
.shape { display: block; }
.hours .shape { width: 100%; max-width: 1.125rem; aspect-ratio: 1; }
.shape.delivered { color: var(--level); } .shape.collected { color: var(--sea); } .shape.due { color: var(--quiet); }
.shape.failing, .shape.held { color: var(--amber); } .shape.dead, .shape.gap { color: var(--red); }
.shape.unexpected { color: var(--faint); }
.empty + .hours { margin-top: .75rem; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; padding-top: .75rem; border-top: 1px solid var(--rule); color: var(--quiet); font-size: .8125rem; }
.legend li { display: flex; align-items: center; gap: .4375rem; }
.legend .shape, .balance .shape { width: .75rem; height: .75rem; flex: none; }
.two-days { display: none; }
@media (max-width: 62rem) {
  .hours tr { grid-template-columns: repeat(48, minmax(0, 1fr)); }
  .hours thead th:first-child { position: absolute; }
  .hours tbody th { grid-column: 1 / -1; padding-bottom: .125rem; }
  .own-id { display: inline; margin-right: .25rem; }
}
@media (max-width: 40rem) {
  .hours tr { grid-template-columns: repeat(24, minmax(0, 1fr)); }
  .hours thead th:nth-last-child(n+25) { display: none; }
  .mark .day { display: none; } .midnight-hour { display: inline; }
  .two-days { display: block; margin-top: .5rem; }
}
`
