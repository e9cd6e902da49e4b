import { html, titles } from './html.ts'

/** The page of a daemon that starts, or cannot: why it is not ready. */
export function startingPage(reason: string): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="10">
<title>${titles.notReady}</title>
<h1>Tidegauge is not ready</h1>
<p>${reason}</p>
<p>It goes on automatically.</p>
</html>
`.toString()
}
