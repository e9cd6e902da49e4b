import { numberText } from '../../model/number-text.ts'
import type { Balance } from '../../outbox/contract/balance.ts'
import type { ServiceState } from '../snapshot.ts'
import { type CellLook, shape } from './cell.ts'
import { type Html, html, nothing } from './html.ts'
import { ago, clockText } from './when.ts'

/** The outbox's balance, and the service's last answer. */
export function delivery(balance: Balance, service: ServiceState, nowMs: number): Html {
  return html`<section aria-labelledby="delivery"><h2 id="delivery">Delivery</h2>
${service.waiting === undefined ? nothing : html`<p class="notice">${service.waiting}${nextAttempt(service)}</p>`}
<dl class="balance" aria-label="Metrics in the outbox">
${term('enqueued', balance.enqueued)}${term('delivered', balance.delivered, 'delivered')}${term('dead', balance.dead, 'dead')}${term('held', balance.held, 'held')}${term('due', balance.due, 'due')}
</dl>
${balanceNote(balance)}
<dl class="facts"><div><dt>Service</dt><dd>${service.host}</dd></div><div><dt>Last push</dt><dd>${lastPush(service, nowMs)}</dd></div></dl>
</section>`
}

function term(name: string, count: number, look?: CellLook): Html {
  return html`<div class="${name}${count === 0 ? ' zero' : ''}"><dt>${look ? shape(look) : nothing} ${name}</dt><dd>${numberText(count)}</dd></div>`
}

/** Note when the balance does not add up: a metric in no state was lost. */
function balanceNote({ enqueued, delivered, dead, held, due }: Balance): Html {
  const missing = enqueued - delivered - dead - held - due
  if (enqueued === 0) return html`<p class="quiet">Nothing is enqueued yet.</p>`
  if (missing !== 0) {
    return html`<p class="notice">These numbers do not add up: ${numberText(missing)} of the enqueued metrics are in no state. Keep the outbox file and report this.</p>`
  }
  return html`<p class="quiet">Every metric that was enqueued is delivered, dead, held or due.</p>`
}

function nextAttempt({ nextAttemptMs }: ServiceState): Html {
  return nextAttemptMs === undefined ? nothing : html` (next attempt ${clockText(nextAttemptMs)} UTC)`
}

function lastPush({ lastPush }: ServiceState, nowMs: number): Html {
  if (!lastPush) return html`none yet`
  return html`${lastPush.verdict}, ${ago(lastPush.atMs, nowMs)}`
}
