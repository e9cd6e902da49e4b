import { type Hour, hourText } from '../../model/hour.ts'
import { exactText, numberText } from '../../model/number-text.ts'
import type { HistoryHour, MetricHistory } from '../history.ts'
import { clockText, dayClockText, dayText, Html, html, nothing } from './html.ts'
import { head, mark } from './page.ts'
import { historyPath, isUnsent, sparkline } from './protocols.ts'

/** Parts of a unit of height in the large curve. */
const curveParts = 4

/** Words for each state; a delivered value needs none about why. */
const stateText: Readonly<Record<HistoryHour['state'], string>> = {
  delivered: 'delivered',
  due: 'due',
  dead: 'dead: refused, kept with the reason',
  held: 'held until something is changed',
  dropped: 'dropped by a person, not sent',
  private: 'private, not sent',
  gap: 'gap, can no longer be read',
  none: 'collected, without a value of this metric',
  unexpected: 'not expected, or pruned',
}

/** The page with a metric's history: only from the history, without script. */
export function historyPage(history: MetricHistory): string {
  const { id, label, nowMs } = history
  return html`${head(`${label} · Tidegauge`)}
<body class="history">
<header class="masthead"><div class="bar"><p class="home"><a href="/">${mark()} Tidegauge</a></p><p class="now">${dayText(nowMs)}, <b>${clockText(nowMs)}</b> UTC</p></div></header>
<main>
<h1>${label}</h1>
${facts(history)}
${curve(history)}
<p><a href="${historyPath(id)}?csv" download>CSV</a> <span class="quiet">of all hours below, with every digit</span></p>
${days(history)}
</main>
</body>
</html>
`.toString()
}

function facts({ id, collector, unit, isRemoved, hours }: MetricHistory): Html {
  const counts = [...Map.groupBy(hours, ({ state }) => state)].map(([state, own]) => `${own.length} ${state}`)
  const fact = (name: string, text: Html | string) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`
  const removed = isRemoved ? html` <span class="removed">no longer configured</span>` : nothing
  return html`<dl class="facts">${fact('Metric id', id)}${fact('Collector', html`${collector}${removed}`)}${fact('Unit', unit ?? 'none')}${fact(
    'Hours',
    counts.join(', '),
  )}</dl>`
}

function curve({ label, unit, hours }: MetricHistory): Html {
  const [first, last] = [hours[0], hours.at(-1)]
  if (!first || !last) return nothing
  // A value that was not sent is no part of the curve that the service has.
  const values = hours.map(hour => (hour.value === undefined || isUnsent(hour) ? null : hour.value))
  return html`<section aria-labelledby="curve"><h2 id="curve">Curve</h2>${sparkline({ label, unit, values, lastHour: last.hour, parts: curveParts })}
<p class="quiet">From ${dayClockText(first.hour)} to ${dayClockText(last.hour)} UTC, without values that are held, dead or dropped; a thin line is midnight UTC.</p></section>`
}

/** A table for each day, the newest first; only that one is open. */
function days({ hours }: MetricHistory): Html {
  const byDay = [...Map.groupBy(hours.toReversed(), ({ hour }) => hourText(hour).slice(0, 10))]
  return html`<section aria-labelledby="values"><h2 id="values">Values</h2>${byDay.map(([day, own], place) => dayDetails(day, own, place === 0))}</section>`
}

function dayDetails(day: string, dayHours: readonly HistoryHour[], isOpen: boolean): Html {
  const hour: Hour | undefined = dayHours[0]?.hour
  if (hour === undefined) return nothing
  const openCount = dayHours.filter(({ state }) => state !== 'delivered').length
  const values = dayHours.flatMap(({ value }) => value ?? [])
  const range = values.length === 0 ? 'no value' : rangeText(values)
  return html`<details id="day-${day}"${isOpen ? Html.trusted(' open') : nothing}><summary>${dayText(hour)} <span class="quiet">${range}${
    openCount > 0 ? `, ${openCount} not delivered` : ''
  }</span></summary>
<table class="metrics"><caption class="unseen">Values of ${day}</caption><thead><tr><th scope="col">Hour</th><th scope="col">Value</th><th scope="col" class="state">State</th><th scope="col">Collected</th><th scope="col">Delivered</th></tr></thead><tbody>${dayHours.map(row)}</tbody></table></details>`
}

function rangeText(values: readonly number[]): string {
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]
  return low === high ? numberText(low) : `${numberText(low)} to ${numberText(high)}`
}

function row({ hour, value, state, reason, collectedMs, deliveredMs, earlier = [] }: HistoryHour): Html {
  const reasonHtml = reason === undefined ? nothing : html`: ${reason}`
  const corrections = earlier.map(one => html`, ${exactText(one.value)} until ${whenText(one.untilMs, hour)}`)
  return html`<tr><th scope="row">${clockText(hour)}</th><td>${value === undefined ? '–' : exactText(value)}</td><td class="state${
    state === 'delivered' ? '' : ' old'
  }">${stateText[state]}${reasonHtml}${corrections}</td><td>${whenText(collectedMs, hour)}</td><td>${whenText(deliveredMs, hour)}</td></tr>
`
}

/** An instant to the second; with its day where it is not that of the hour. */
function whenText(ms: number | undefined, hour: Hour): string {
  if (ms === undefined) return '–'
  const [day = '', time = ''] = new Date(ms).toISOString().split('T')
  return hourText(hour).startsWith(day) ? time.slice(0, 8) : `${day} ${time.slice(0, 8)}`
}
