import { numberText } from '../../model/number-text.ts'
import { commandLine } from '../../model/text.ts'
import type { Warning } from '../../outbox/contract/warnings.ts'
import { type Html, html, nothing } from './html.ts'
import { ago } from './when.ts'

/** Warnings shown; further ones are counted. */
const warningsMax = 20

/** The service's warnings that no person has acknowledged, each with its count. @param states the latest first @param named as `ConfigurationState.named` */
export function warnings(states: readonly Warning[], nowMs: number, named?: string): Html {
  const rest = states.length - warningsMax
  return html`<section aria-labelledby="warnings"><h2 id="warnings">Warnings of the service</h2>${
    states.length === 0
      ? html`<p class="empty">None. What the service remarks about a push is kept here.</p>`
      : html`<ul class="warnings">${states.slice(0, warningsMax).map(state => warning(state, nowMs))}${
          rest > 0 ? html`<li class="quiet">and ${rest} more</li>` : nothing
        }</ul><p class="quiet commands"><code>${commandLine('warnings', named)}</code> lists them; <code>${commandLine('warnings ack --all', named)}</code> takes them off this page.</p>`
  }</section>`
}

function warning({ metricId, text, count, firstSeenMs, lastSeenMs }: Warning, nowMs: number): Html {
  const times = count === 1 ? html`once, ${ago(lastSeenMs, nowMs)}` : repeated(count, firstSeenMs, lastSeenMs, nowMs)
  return html`<li><p>${text}</p><p class="quiet">${metricId === undefined ? '' : html`<span class="id">${metricId}</span> · `}${times}</p></li>`
}

function repeated(count: number, firstSeenMs: number, lastSeenMs: number, nowMs: number): Html {
  return html`${numberText(count)} times, last ${ago(lastSeenMs, nowMs)}, first ${ago(firstSeenMs, nowMs)}`
}
