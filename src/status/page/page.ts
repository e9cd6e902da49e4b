import type { Snapshot } from '../snapshot.ts'
import { bounded } from './bounded.ts'
import { shapeDefinitions } from './cell.ts'
import { delivery } from './delivery.ts'
import { endpoints } from './endpoints.ts'
import { hours } from './hours.ts'
import { Html, html, nothing } from './html.ts'
import { favicon, masthead } from './masthead.ts'
import { protocols } from './protocols.ts'
import { style } from './style/style.ts'
import { warnings } from './warnings.ts'
import { dayClockText, spanText } from './when.ts'

/** Interval at which a browser reloads the page, in seconds. */
const refreshSeconds = 30

/**
 * The whole page as HTML, only from the snapshot. It refers to no other host; its only style is `style`, whose hash is
 * in the Content-Security-Policy.
 */
export function page(snapshot: Snapshot): string {
  const { nowMs } = snapshot
  const shown = bounded(snapshot)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="${refreshSeconds}">
<title>${titleOf(snapshot)}</title>
<link rel="icon" href="${favicon}">
<style>${Html.trusted(style)}</style>
</head>
<body>
${shapeDefinitions()}
${masthead(snapshot)}
<main>
${protocols(shown.protocols, nowMs)}${more(shown.moreProtocols, 'protocols')}
${hours(shown.week)}${more(shown.moreCollectors, 'collectors')}
${delivery(snapshot)}
${endpoints(snapshot.endpoints, nowMs)}
${warnings(
  snapshot.warnings.filter(({ isAcknowledged }) => !isAcknowledged),
  nowMs,
)}
</main>
${footer(snapshot)}
</body>
</html>
`.toString()
}

function more(count: number, what: string): Html {
  if (count === 0) return nothing
  return html`<p class="quiet note">and ${count} more ${what}: <a href="/status.json">status.json</a> has all of them</p>`
}

function titleOf({ ready }: Snapshot): string {
  return ready.ok ? 'Tidegauge' : 'Not ready · Tidegauge'
}

function footer({ version, nowMs, startedAtMs, configuration }: Snapshot): Html {
  return html`<footer>
<p>Tidegauge ${version}, up for ${spanText(nowMs - startedAtMs)}, with its configuration for ${spanText(nowMs - configuration.inForceSinceMs)}. As of ${dayClockText(nowMs)}; all times are UTC.
This page loads itself again every ${refreshSeconds} seconds.</p>
<nav aria-label="The same for programs"><a href="/status.json">status.json</a> <a href="/metrics">metrics</a> <a href="/readyz">readyz</a> <a href="/livez">livez</a></nav>
</footer>`
}
