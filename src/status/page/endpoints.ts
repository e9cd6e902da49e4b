import { numberText } from '../../model/number-text.ts'
import type { EndpointState } from '../snapshot.ts'
import { type Html, html, nothing } from './html.ts'
import { ago, clockText } from './when.ts'

/** The endpoints by chain; empty without a chain. */
export function endpoints(states: readonly EndpointState[], nowMs: number): Html {
  if (states.length === 0) return nothing
  const byChain = [...Map.groupBy(states, ({ chain }) => chain)]
  return html`<section aria-labelledby="chains"><h2 id="chains">Chains</h2>
<ul class="warnings">${byChain.map(([chain, own]) => html`<li><p>${chain}</p>${own.map(state => endpoint(state, nowMs))}</li>`)}</ul>
</section>`
}

function endpoint(state: EndpointState, nowMs: number): Html {
  return html`<p class="quiet"><span class="id">${state.host}</span> · ${stateText(state)}${headText(state, nowMs)}${limitsText(state)}</p>`
}

function stateText({ state, reason, restsUntilMs, head }: EndpointState): Html {
  if (state === 'no-address') return html`${reason ?? 'has no address'}`
  if (state === 'wrong-id') return html`serves another chain`
  if (state === 'resting') {
    return html`failed, others are asked first${restsUntilMs === undefined ? nothing : html` until ${clockText(restsUntilMs)} UTC`}`
  }
  return head ? html`well` : html`not asked yet`
}

function headText({ head, servesStateFrom }: EndpointState, nowMs: number): Html {
  if (!head) return nothing
  const state = servesStateFrom === undefined ? nothing : html`, read back to block ${numberText(servesStateFrom)}`
  return html` · last seen block ${numberText(head.number)}, ${ago(head.atMs, nowMs)}${state}`
}

function limitsText({ callsPerSecondMax }: EndpointState): Html {
  return callsPerSecondMax === undefined ? nothing : html` · at most ${numberText(callsPerSecondMax)} calls a second`
}
