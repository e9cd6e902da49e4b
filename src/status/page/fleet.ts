import { type FleetDaemon, type FleetState, rolesText } from '../fleet.ts'
import { type Html, html, nothing } from './html.ts'
import { ago } from './when.ts'

/** The daemons that share the outbox; empty where it belongs to one. */
export function fleet(state: FleetState | undefined, nowMs: number): Html {
  if (!state) return nothing
  const notes = [...state.idleLanes.map(({ reason }) => reason), ...state.differences]
  return html`<section aria-labelledby="fleet"><h2 id="fleet">Fleet</h2>
${notes.length === 0 ? nothing : html`<ul class="warnings">${notes.map(note => html`<li>${note}</li>`)}</ul>`}
<table class="endpoints" role="table" aria-labelledby="fleet"><thead role="rowgroup"><tr role="row">${[
    'Daemon',
    'State',
    'Lanes',
    'Roles',
    'Version',
    'Configuration',
  ].map(name => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${state.daemons.map(each => daemon(each, nowMs))}</tbody></table>
</section>`
}

function daemon({ name, version, configuration, lanes, seenAtMs, isAway, ...roles }: FleetDaemon, nowMs: number): Html {
  return html`<tr role="row"><th role="rowheader" scope="row" class="id">${name}</th><td role="cell"${
    isAway ? html` class="old"` : nothing
  }>${isAway ? 'away, ' : ''}seen ${ago(seenAtMs, nowMs)}</td><td role="cell">${lanes.join(', ')}</td><td role="cell">${rolesText(roles)}</td><td role="cell">${version}</td><td role="cell">${configuration}</td></tr>
`
}
