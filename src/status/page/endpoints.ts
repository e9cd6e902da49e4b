import { numberText } from '../../model/number-text.ts'
import type { EndpointState } from '../snapshot.ts'
import { type Html, html, nothing } from './html.ts'
import { ago, until } from './when.ts'

/** The endpoints by chain; empty without a chain. */
export function endpoints(states: readonly EndpointState[], nowMs: number): Html {
  if (states.length === 0) return nothing
  return html`<section aria-labelledby="chains"><h2 id="chains">Chains</h2>
<table class="endpoints" role="table" aria-labelledby="chains"><thead role="rowgroup"><tr role="row">${[
    'Chain',
    'Endpoint',
    'State',
    'Head',
    'Depth',
    'Limits',
  ].map(name => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${states.map(state => endpoint(state, nowMs))}</tbody></table>
</section>`
}

function endpoint(state: EndpointState, nowMs: number): Html {
  return html`<tr role="row"><td role="cell">${state.chain}</td><th role="rowheader" scope="row" class="id">${state.host}</th><td role="cell"${
    state.state === 'well' ? nothing : html` class="old"`
  }>${stateText(state, nowMs)}</td><td role="cell">${headText(state, nowMs)}</td><td role="cell">${depthText(state)}</td><td role="cell">${limitsText(state)}</td></tr>
`
}

/** Why an endpoint could not serve when it was asked last. */
const troubleText: Readonly<Record<NonNullable<EndpointState['trouble']>, string>> = {
  unreachable: 'it did not answer',
  'wrong-id': 'it serves another chain',
  behind: 'it is behind the chain',
  pruned: 'it lacks the state of old blocks',
  limited: 'it limits the rate of calls',
}

function stateText({ state, reason, restsUntilMs, head, trouble, calls }: EndpointState, nowMs: number): Html {
  if (state === 'no-address') return html`${reason ?? 'has no address'}`
  if (state === 'wrong-id') return html`serves another chain`
  if (state === 'quarantine') {
    return html`in quarantine${restsUntilMs === undefined ? nothing : html` until ${until(restsUntilMs, nowMs)}`}: ${reason ?? 'another host answered otherwise'}`
  }
  if (state === 'resting') {
    return html`${trouble === undefined ? 'failed' : troubleText[trouble]}, others are asked first${restsUntilMs === undefined ? nothing : html` until ${until(restsUntilMs, nowMs)}`}`
  }
  if (trouble !== undefined) return html`asked last, ${troubleText[trouble]}`
  // An hour whose block is known already needs no head.
  return head || (calls?.answered ?? 0) > 0 ? html`well` : html`not asked yet`
}

function headText({ head }: EndpointState, nowMs: number): Html {
  if (!head) return html`<span class="quiet">no block seen yet</span>`
  return html`block ${numberText(head.number)}, ${ago(head.atMs, nowMs)}`
}

/** The oldest block whose state was read so far: it may have older ones. */
function depthText({ head, servesStateFrom }: EndpointState): Html {
  if (servesStateFrom === undefined) return html`<span class="quiet">depth not known yet</span>`
  const deep = head ? head.number - servesStateFrom : 0
  const blocks = head ? ` (${numberText(deep)} ${deep === 1 ? 'block' : 'blocks'})` : ''
  return html`state at least from block ${numberText(servesStateFrom)}${blocks}`
}

function limitsText({ callsPerSecondMax, batchCallsMax }: EndpointState): Html {
  const limits = [
    ...(callsPerSecondMax === undefined ? [] : [`${numberText(callsPerSecondMax)} calls a second`]),
    ...(batchCallsMax === undefined ? [] : [`${numberText(batchCallsMax)} calls a request`]),
  ]
  return limits.length === 0 ? html`<span class="quiet">no limit known</span>` : html`${limits.join(', ')}`
}
