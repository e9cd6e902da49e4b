import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

/** Where the browser for tests is, or why there is none. */
export type ChromiumPlace =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing'; readonly reason: string }

/**
 * The browser of `CHROMIUM`, else the system's.
 *
 * @throws Error when there is none and `REQUIRE_CHROMIUM=1` says that there must be
 */
export function findChromium(env: NodeJS.ProcessEnv = process.env): ChromiumPlace {
  const path = env['CHROMIUM'] || '/usr/bin/chromium'
  if (existsSync(path)) return { kind: 'found', path }
  const reason = `there is no browser at ${path}; set CHROMIUM to the path of one`
  if (env['REQUIRE_CHROMIUM'] === '1') throw new Error(reason)
  return { kind: 'missing', reason }
}

/** A headless browser that asks nothing of the network. */
export function launchChromium(path: string) {
  return chromium.launch({
    executablePath: path,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
