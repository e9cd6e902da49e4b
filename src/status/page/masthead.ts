import type { Snapshot } from '../snapshot.ts'
import { type Html, html } from './html.ts'
import { clockText, dayText } from './when.ts'

/** A staff with marks in the water. Both drawings are the same; an icon in a `data:` address needs its own colours. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6470"/><path d="M10 6v20M10 8h5M10 13h3.5M10 18h5" stroke="#fff" stroke-width="2" stroke-linecap="round" fill="none"/><path d="M5 22q3.7-3 7.3 0t7.3 0 7.3 0" stroke="#8fe0e8" stroke-width="2.4" stroke-linecap="round" fill="none"/></svg>`

/** Address of the page's icon, without a request. */
export const favicon = `data:image/svg+xml,${encodeURIComponent(icon)}`

/** Name, time, and whether all due metrics were delivered; if not, why. */
export function masthead({ ready, nowMs }: Snapshot): Html {
  return html`<header class="masthead">
<div class="bar"><h1>${mark()} Tidegauge</h1>
<p class="now">${dayText(nowMs)}, <b>${clockText(nowMs)}</b> UTC</p>
${ready.ok ? html`<p class="badge ok">${tick()} Ready</p>` : html`<p class="badge not-ok">${cross()} Not ready</p>`}</div>
${ready.ok ? '' : html`<ul class="reasons" aria-label="Why it is not ready">${ready.reasons.map(reason => html`<li>${reason}</li>`)}</ul>`}
</header>`
}

function mark(): Html {
  return html`<svg class="brand" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7"/><path class="staff" d="M10 6v20M10 8h5M10 13h3.5M10 18h5"/><path class="wave" d="M5 22q3.7-3 7.3 0t7.3 0 7.3 0"/></svg>`
}

function tick(): Html {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="m2 6.5 2.8 2.8L10 3.5"/></svg>`
}

function cross(): Html {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><path d="m2.5 2.5 7 7m0-7-7 7"/></svg>`
}
