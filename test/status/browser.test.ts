import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import type { Listening } from '../../src/edge/web-server.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import type { MetricHistory } from '../../src/status/history.ts'
import { fingerprint } from '../../src/status/observe.ts'
import { type StatusDeps, startStatus } from '../../src/status/server/server.ts'
import { findChromium, launchChromium } from '../support/chromium.ts'
import { lastHour, nowMs, richSnapshot } from '../support/snapshot.ts'

const place = findChromium()

describe('the page in a browser', () => {
  let browser: Browser | undefined
  let server: Listening | undefined
  let snapshot = richSnapshot
  let state: string | undefined

  beforeAll(async () => {
    if (place.kind === 'missing') return
    const parts: StatusDeps = {
      host: '127.0.0.1',
      port: 0,
      snapshot: () => snapshot,
      ready: () => snapshot.ready,
      history: async id => (id === 'awesome-vault___TVL' ? tvlHistory : undefined),
      state: async () => state ?? fingerprint(snapshot),
      exposition: async () => '',
      time: systemTime,
    }
    ;[server, browser] = await Promise.all([startStatus(parts), launchChromium(place.path)])
  })

  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  beforeEach(context => {
    if (place.kind === 'missing') context.skip(place.reason)
    snapshot = richSnapshot
    state = undefined
  })

  /** The page as opened, with everything the browser complained of and asked for. */
  async function open(look: { width?: number; colorScheme?: 'light' | 'dark' } = {}) {
    if (!browser || !server) throw new Error('the browser was not started')
    const { width = 1280, colorScheme = 'light' } = look
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
    const complaints: string[] = []
    const asked: string[] = []
    page.on('console', message => complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(error.message))
    page.on('request', request => asked.push(request.url()))
    await page.goto(`${server.url}/`)
    return { page, complaints, asked, url: server.url }
  }

  it('shows the widgets, the hours, the balance and the reasons', async () => {
    const { page } = await open()
    const tvl = page.locator('.widget').first()
    expect(await tvl.isVisible()).toBe(true)
    expect(await tvl.innerText()).toMatch(/TVL[\s\S]*12,465,977 USDC[\s\S]*↑ \+92,906\.7[\s\S]*↑ \+159,112/)
    expect(await page.getByRole('img', { name: /^Curve of TVL over the last 48 hours: 48 values/ }).isVisible()).toBe(
      true,
    )
    const grid = page.getByRole('table', { name: 'State of each hour' })
    expect(await grid.getByRole('row').count()).toBe(7)
    expect(await page.getByRole('rowheader', { name: /utilisation/ }).isVisible()).toBe(true)
    expect(
      await grid.getByRole('row', { name: /utilisation.*163 hours delivered, 5 hours due, failed so far/ }).count(),
    ).toBe(1)
    expect(await grid.locator('.gap title').allTextContents()).toContain(
      '19\u00a0Nov, 20:00 to 22:00, 3 hours gap, can no longer be read: the hour was missed while the daemon was down, and this collector reads only the present',
    )
    expect(await page.locator('.balance').innerText()).toMatch(/12,480[\s\S]*12,451[\s\S]*3[\s\S]*12[\s\S]*14/)
    expect(await page.locator('.reasons').innerText()).toContain('awesome-vault/utilisation is late')
    await page.close()
  })
})

const tvlHistory: MetricHistory = {
  id: metricId('awesome-vault', 'TVL'),
  label: 'TVL',
  protocolId: 'awesome-vault',
  collector: 'awesome-vault/erc4626-vault',
  unit: 'USDC',
  nowMs,
  hours: Array.from({ length: 720 }, (_, index) => {
    const hour = hourAfter(lastHour, index - 719)
    if (index % 100 === 50) return { hour, state: 'gap', reason: 'no node answers' } as const
    return { hour, state: 'delivered', value: 1_000_000 * (1 + Math.sin(index / 40)) } as const
  }),
}
