import { hourAfter, hourAt } from '../../model/hour.ts'
import { numberText } from '../../model/number-text.ts'
import { fingerprint } from '../observe.ts'
import type { Snapshot } from '../snapshot.ts'
import { delivery, endpoints, fleet, warnings } from './delivery.ts'
import { bounded, hours, shapeDefinitions } from './hours.ts'
import { clockText, dayClockText, dayText, Html, html, nothing, spanText, titles, until } from './html.ts'
import { liveScript } from './live-script.ts'
import { protocols } from './protocols.ts'
import { style } from './style.ts'

/** Interval at which a browser without script loads the page again, in seconds. */
const refreshSeconds = 30

/**
 * The whole page as HTML, only from the snapshot. It refers to no other host; the hashes of its only style and
 * its only script are in the Content-Security-Policy.
 *
 * @param events path of its changes, with what only a page of this server knows
 */
export function page(snapshot: Snapshot, events = '/events'): string {
  const { nowMs } = snapshot
  const snapshotShown = bounded(snapshot)
  const news = snapshot.warnings.filter(({ isAcknowledged }) => !isAcknowledged)
  const reload = html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
`
  return html`${head(titleOf(snapshot), reload)}
<body data-state="${fingerprint(snapshot)}" data-now="${nowMs}" data-events="${events}">
${shapeDefinitions()}
<p id="connection" role="status"></p>
<p id="filter" hidden><label>Filter <input type="search" placeholder="protocol, collector or words of a trouble" autocomplete="off" spellcheck="false"></label> <span class="quiet" aria-live="polite"></span></p>
${masthead(snapshot)}
<main>
${part('protocols', protocols(snapshotShown.protocols, nowMs), more(snapshotShown.moreProtocols, 'protocols'))}
${part('hours', hours(snapshotShown.week, snapshotShown.folds), more(snapshotShown.moreCollectors, 'collectors'))}
${part('delivery', delivery(snapshot))}
${part('fleet', fleet(snapshot.fleet, nowMs))}
${part('chains', endpoints(snapshot.endpoints, nowMs))}
${part('warnings', warnings(news, nowMs))}
</main>
${footer(snapshot)}
<script>${Html.trusted(liveScript)}</script>
</body>
</html>
`.toString()
}

/** The beginning of each page, up to its body. */
export function head(title: string, extraHead: Html = nothing): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${extraHead}<title>${title}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${Html.trusted(style)}</style>
</head>`
}

/** A part that the script replaces when it differs; each is there, if empty. */
function part(name: string, ...content: readonly Html[]): Html {
  return html`<div data-part="${name}">${content}</div>`
}

function more(count: number, what: string): Html {
  if (count === 0) return nothing
  return html`<p class="quiet note">and ${count} more ${what}: <a href="/status.json">status.json</a> has all of them</p>`
}

function titleOf({ ready }: Snapshot): string {
  return ready.ok ? titles.ready : titles.notReady
}

function footer({ version, nowMs, startedAtMs, configuration }: Snapshot): Html {
  return html`<footer data-part="footer">
<p>Tidegauge ${version}, up for ${spanText(nowMs - startedAtMs)}, with its configuration for ${spanText(nowMs - configuration.inForceSinceMs)}. As of ${dayClockText(nowMs)}; all times are UTC.
This page follows the daemon; without script it loads again every ${refreshSeconds} seconds.</p>
<nav aria-label="The same for programs"><a href="/status.json">status.json</a> <a href="/metrics">metrics</a> <a href="/readyz">readyz</a> <a href="/livez">livez</a></nav>
</footer>`
}

/** A staff with marks in the water. Both drawings are the same; an icon in a `data:` address needs its own colours. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6470"/><path d="M10 6v20M10 8h5M10 13h3.5M10 18h5" stroke="#fff" stroke-width="2" stroke-linecap="round" fill="none"/><path d="M5 22q3.7-3 7.3 0t7.3 0 7.3 0" stroke="#8fe0e8" stroke-width="2.4" stroke-linecap="round" fill="none"/></svg>`

/** Reasons shown at once, and in all. */
const reasonsShown = 8
const reasonsMax = 60

/** Name, time, and whether all due metrics were delivered; if not, why and what to do. */
export function masthead(snapshot: Snapshot): Html {
  const { ready, nowMs } = snapshot
  return html`<header class="masthead" data-part="masthead">
<div class="bar"><h1>${mark()} Tidegauge</h1>
<p class="now">${dayText(nowMs)}, <b>${clockText(nowMs)}</b> UTC</p>
${ready.ok ? html`<p class="badge ok">${tick()} Ready</p>` : html`<p class="badge not-ok">${cross()} Not ready</p>`}</div>
${ready.ok ? nothing : html`<div class="reasons">${reasons(ready.reasons)}</div>`}
${ready.warnings ? html`<ul class="decide">${ready.warnings.map(warning => html`<li>${warning}</li>`)}</ul>` : nothing}
${glance(snapshot)}
</header>`
}

/** The first reasons, and the others folded. */
function reasons(sentences: readonly string[]): Html {
  const item = (reason: string) => html`<li>${reason}</li>`
  const laterReasons = sentences.slice(reasonsShown, reasonsMax)
  const leftCount = sentences.length - reasonsMax
  return html`<ul aria-label="Why it is not ready">${sentences.slice(0, reasonsShown).map(item)}</ul>${
    laterReasons.length === 0
      ? nothing
      : html`<details id="more-reasons"><summary>${sentences.length - reasonsShown} more reasons</summary><ul>${laterReasons.map(item)}${
          leftCount > 0 ? item(`and ${leftCount} more`) : nothing
        }</ul></details>`
  }`
}

/** The next hour, and what is on its way or waits for a person. */
function glance({ nowMs, balance, warnings }: Snapshot): Html {
  const next = hourAfter(hourAt(nowMs), 1)
  const news = warnings.filter(({ isAcknowledged }) => !isAcknowledged).length
  const waiting = (['due', 'held', 'dead'] as const).filter(state => balance[state] > 0)
  return html`<ul class="glance" aria-label="At a glance"><li>next hour <b>${until(next, nowMs)}</b></li>${waiting.map(
    state => html`<li><a href="#delivery">${numberText(balance[state])} ${state}</a></li>`,
  )}${news > 0 ? html`<li><a href="#warnings">${news} ${news === 1 ? 'warning' : 'warnings'}</a></li>` : nothing}</ul>`
}

/** The drawing before the name. */
export function mark(): Html {
  return html`<svg class="brand" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7"/><path class="staff" d="M10 6v20M10 8h5M10 13h3.5M10 18h5"/><path class="wave" d="M5 22q3.7-3 7.3 0t7.3 0 7.3 0"/></svg>`
}

function tick(): Html {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="m2 6.5 2.8 2.8L10 3.5"/></svg>`
}

function cross(): Html {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="m2.5 2.5 7 7m0-7-7 7"/></svg>`
}
