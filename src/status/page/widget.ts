import { type Hour, hourAt } from '../../model/hour.ts'
import { hourMs, overdueMs } from '../../model/limits.ts'
import { numberText, signedText } from '../../model/number-text.ts'
import type { ProtocolState, WidgetMetric } from '../snapshot.ts'
import { historyPath } from './history-path.ts'
import { type Html, html, nothing } from './html.ts'
import { sparkline } from './sparkline.ts'
import { clockText, dayClockText, hourTime, spanText } from './when.ts'

/**
 * Length of a value with its unit, in digits, from which the font is smaller, so that it fits on one line of a card.
 */
const longValueChars = 14

/** Width of a character of the unit, in digits of the value. */
const unitCharWidth = 0.6

/** One metric: its value with the unit, its changes, its curve. */
export function widget(metric: WidgetMetric, nowMs: number): Html {
  const { id, label, unit, hour, curve } = metric
  return html`<li class="widget">
<div class="widget-head"><h4><a href="${historyPath(id)}" title="${id}">${label}</a></h4>${hour === undefined ? nothing : asOf(hour, isOld(metric, nowMs), nowMs)}</div>
${value(metric)}${isWithheld(metric) ? html`<p class="as-of old">${metric.state}: it was not sent</p>` : nothing}${metric.isRemoved ? html`<p><span class="removed">collector no longer configured</span></p>` : nothing}
<dl class="changes">${change('1 h', '1 hour', metric.change1h, unit)}${change('24 h', '24 hours', metric.change24h, unit)}</dl>
${sparkline({ label, unit, values: curve, lastHour: hourAt(nowMs) })}
</li>`
}

/** The card of a collector that has given no value, with why and what to do. */
export function valuelessWidget(
  { collector, reason, fix }: NonNullable<ProtocolState['withoutValue']>[number],
  protocolId: string,
): Html {
  const own = collector.startsWith(`${protocolId}/`) ? collector.slice(protocolId.length + 1) : collector
  return html`<li class="widget">
<div class="widget-head"><h4>${own}</h4></div>
<p class="value none">no value yet</p>
${reason === undefined ? html`<p class="quiet">Its first hour is being collected.</p>` : html`<p>${reason}</p>`}${fix === undefined ? nothing : html`<p class="fix">${fix}</p>`}
</li>`
}

/** Whether the service will not get the value unless a person decides. */
function isWithheld({ state }: WidgetMetric): boolean {
  return state === 'held' || state === 'dead' || state === 'dropped'
}

/** Whether the next hour's value should be there. */
export function isOld({ hour }: Pick<WidgetMetric, 'hour'>, nowMs: number): boolean {
  return hour !== undefined && nowMs - hour > hourMs + overdueMs
}

function asOf(hour: Hour, isLate: boolean, nowMs: number): Html {
  if (!isLate) return html`<p class="as-of"><span class="unseen">as of </span>${hourTime(hour, clockText(hour))}</p>`
  return html`<p class="as-of old"><span class="unseen">as of </span>${hourTime(hour, dayClockText(hour))}, ${spanText(nowMs - hour)} old</p>`
}

function value({ value, unit }: WidgetMetric): Html {
  if (value === undefined) return html`<p class="value none">no value yet</p>`
  const text = numberText(value)
  const exact = `${value}${unit === undefined ? '' : ` ${unit}`}`
  const isLong = text.length + (unit?.length ?? 0) * unitCharWidth >= longValueChars
  return html`<p class="value${isLong ? ' long' : ''}" title="${exact}"><data value="${value}">${text}</data>${
    unit === undefined ? nothing : html` <span class="unit">${unit}</span>`
  }</p>`
}

/** A change in the metric's unit, exactly as the service gives it: the interface does not say how it is computed. */
function change(short: string, long: string, difference: number | undefined, unit: string | undefined): Html {
  const term = html`<dt><abbr title="change over ${long}">${short}</abbr></dt>`
  if (difference === undefined) return html`<div>${term}<dd class="none" title="not known">–</dd></div>`
  const exact = `${difference}${unit === undefined ? '' : ` ${unit}`} over ${long}`
  const { arrow, words } = directionOf(difference)
  return html`<div>${term}<dd title="${exact}"><span role="img" class="arrow" aria-label="${words}">${arrow}</span> ${signedText(difference)}</dd></div>`
}

function directionOf(difference: number): { readonly arrow: string; readonly words: string } {
  if (difference > 0) return { arrow: '↑', words: 'up' }
  if (difference < 0) return { arrow: '↓', words: 'down' }
  return { arrow: '→', words: 'unchanged' }
}
