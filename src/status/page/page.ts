import { fingerprint } from '../fingerprint.ts'
import type { Snapshot } from '../snapshot.ts'
import { bounded } from './bounded.ts'
import { shapeDefinitions } from './cell.ts'
import { delivery } from './delivery.ts'
import { endpoints } from './endpoints.ts'
import { fleet } from './fleet.ts'
import { hours } from './hours.ts'
import { Html, html, nothing } from './html.ts'
import { liveScript } from './live-script.ts'
import { favicon, masthead } from './masthead.ts'
import { protocols } from './protocols.ts'
import { style } from './style/style.ts'
import { warnings } from './warnings.ts'
import { dayClockText, spanText } from './when.ts'

/** Interval at which a browser without script loads the page again, in seconds. */
const refreshSeconds = 30

/**
 * The whole page as HTML, only from the snapshot. It refers to no other host; the hashes of its only style and
 * its only script are in the Content-Security-Policy.
 */
export function page(snapshot: Snapshot): string {
  const { nowMs } = snapshot
  const shown = bounded(snapshot)
  const news = snapshot.warnings.filter(({ isAcknowledged }) => !isAcknowledged)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
<title>${titleOf(snapshot)}</title>
<link rel="icon" href="${favicon}">
<style>${Html.trusted(style)}</style>
</head>
<body data-state="${fingerprint(snapshot)}" data-now="${nowMs}">
${shapeDefinitions()}
<p id="connection" role="status"></p>
${masthead(snapshot)}
<main>
${part('protocols', protocols(shown.protocols, nowMs), more(shown.moreProtocols, 'protocols'))}
${part('hours', hours(shown.week, shown.folds, snapshot.configuration.named), more(shown.moreCollectors, 'collectors'))}
${part('delivery', delivery(snapshot))}
${part('fleet', fleet(snapshot.fleet, nowMs))}
${part('chains', endpoints(snapshot.endpoints, nowMs))}
${part('warnings', warnings(news, nowMs, snapshot.configuration.named))}
</main>
${footer(snapshot)}
<script>${Html.trusted(liveScript)}</script>
</body>
</html>
`.toString()
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
  return ready.ok ? 'Tidegauge' : 'Not ready · Tidegauge'
}

function footer({ version, nowMs, startedAtMs, configuration }: Snapshot): Html {
  return html`<footer data-part="footer">
<p>Tidegauge ${version}, up for ${spanText(nowMs - startedAtMs)}, with its configuration for ${spanText(nowMs - configuration.inForceSinceMs)}. As of ${dayClockText(nowMs)}; all times are UTC.
This page follows the daemon; without script it loads again every ${refreshSeconds} seconds.</p>
<nav aria-label="The same for programs"><a href="/status.json">status.json</a> <a href="/metrics">metrics</a> <a href="/readyz">readyz</a> <a href="/livez">livez</a></nav>
</footer>`
}
