import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import type { Listening } from '../../src/edge/web-server.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import type { MetricHistory } from '../../src/status/history.ts'
import { fingerprint } from '../../src/status/observe.ts'
import { type StatusDeps, startStatus } from '../../src/status/server/server.ts'
import type { Snapshot } from '../../src/status/snapshot.ts'
import { findChromium, launchChromium } from '../support/chromium.ts'
import { emptySnapshot, lastHour, nowMs, richSnapshot, weekRow } from '../support/snapshot.ts'
import { untilTrue } from '../support/until-true.ts'

const place = findChromium()
const fault = { code: 'collector-threw', message: 'it broke', facts: {} } as const

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

  it('draws a point alone and a flat line where they are seen', async () => {
    const { page } = await open()
    const alone = await page.locator('.widget', { hasText: 'FirstSeen' }).locator('.line.alone').getAttribute('d')
    expect(alone).toBe('M47 50h0.001')
    const flat = await page.locator('.widget', { hasText: 'Paused' }).locator('.line').getAttribute('d')
    expect(flat).toBe('M0 50h47')
    const broken = page.locator('.widget', { hasText: 'WETH/TIDE' }).locator('.line')
    expect(await broken.count()).toBe(2)
    await page.close()
  })

  it('asks for nothing but itself, breaks no policy, and runs no foreign text', async () => {
    const { page, complaints, asked, url } = await open()
    expect(complaints).toEqual([])
    const foreseen = [`${url}/`, expect.stringMatching(/\/events\?token=\w{32}$/)]
    await expect.poll(() => asked.filter(address => !address.startsWith('data:'))).toEqual(foreseen)
    expect(await page.title()).toBe('NOT READY · Tidegauge')
    expect(await page.getByRole('heading', { name: '<script>document.title="owned"</script>' }).isVisible()).toBe(true)
    expect(await page.locator('main script, main img, header script').count()).toBe(0)
    await page.close()
  })

  it.each([320, 360, 480, 641, 800, 993, 1280, 2560])('does not scroll sideways at %d px', async width => {
    const { page } = await open({ width })
    expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(0)
    await page.close()
  })

  it.each(['light', 'dark'] as const)(
    'every text has a contrast of 4.5 and every state 3 in the %s look',
    async colorScheme => {
      const { page } = await open({ colorScheme })
      expect(await faintest(page, 'body :not(svg, svg *, .unseen)')).toBeGreaterThanOrEqual(4.5)
      expect(await faintest(page, '.hours .strip path:not(.unexpected, .night)')).toBeGreaterThanOrEqual(3)
      const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(ground).toBe(colorScheme === 'dark' ? 'rgb(13, 20, 23)' : 'rgb(244, 245, 243)')
      await page.close()
    },
  )

  it('follows the daemon, and keeps focus, scroll position, open details and the time', async () => {
    snapshot = troublesOf('is odd')
    const { page, complaints, asked, url } = await open({ width: 390 })
    const more = page.locator('#more-troubles')
    await more.locator('summary').click()
    await more.locator('summary').focus()
    const top = async () => (await more.boundingBox())?.y ?? Number.NaN
    const before = await top()
    const reasons = [...snapshot.ready.reasons, 'Something else has happened.', 'And one more thing.']
    snapshot = { ...troublesOf('is strange'), nowMs: snapshot.nowMs + 60_000, ready: { ok: false, reasons } }
    await page.locator('.reasons', { hasText: 'And one more thing.' }).waitFor()
    expect(await page.locator('.now').innerText()).toContain('13:05')
    expect(await more.getAttribute('open')).not.toBeNull()
    expect(await page.evaluate('document.activeElement.parentElement.id')).toBe('more-troubles')
    expect(Math.abs((await top()) - before)).toBeLessThan(2)
    expect(asked.filter(address => address === `${url}/`)).toHaveLength(2)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('opens the protocol whose trouble begins, and leaves the others as they are', async () => {
    const folded = (parts: Parameters<typeof weekRow>[2]) => {
      const rows = Array.from({ length: 60 }, (_, index) => weekRow(`p${index % 6}`, `c${index}`, index ? [] : parts))
      return { ...snapshot, week: { ...snapshot.week, rows } }
    }
    snapshot = folded([])
    const { page, complaints } = await open()
    expect(await page.locator('.fold[open]').count()).toBe(0)
    await page.locator('#calm-p3 summary').click()
    snapshot = {
      ...folded([{ at: 160, hours: 2, state: 'held', reason: 'odd' }]),
      ready: { ok: false, reasons: ['odd'] },
    }
    await page.locator('#troubled-p0[open]').waitFor()
    expect(await page.locator('.fold[open]').count()).toBe(2)
    expect(await page.locator('#calm-p3[open]').count()).toBe(1)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('finds one of many protocols by the words of a person, and those with a trouble are first', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `p${index}`)
    const rows = ids.map(id => weekRow(id, 'c', id === 'p41' ? [{ at: 160, hours: 2, state: 'gap', fault }] : []))
    const protocols = ids.map(id => ({ id, name: `Protocol ${id}`, metrics: [] }))
    snapshot = { ...snapshot, protocols, week: { ...snapshot.week, rows } }
    const { page, complaints } = await open()
    const shown = () => page.locator('article.protocol:visible h3').allInnerTexts()
    expect((await shown()).slice(0, 3)).toEqual(['Protocol p41', 'Protocol p0', 'Protocol p1'])
    await page.getByRole('searchbox').fill('protocol P17')
    expect(await shown()).toEqual(['Protocol p17'])
    snapshot = { ...snapshot, ready: { ok: false, reasons: ['Something else has happened.'] } }
    await page.locator('.reasons', { hasText: 'Something else' }).waitFor()
    expect(await shown()).toEqual(['Protocol p17'])
    await page.getByRole('searchbox').fill('')
    expect(await shown()).toHaveLength(60)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('says in the title of a tab in the background that the daemon is not ready', async () => {
    snapshot = { ...snapshot, ready: { ok: true, reasons: [] } }
    const { page } = await open()
    expect(await page.title()).toBe('Tidegauge')
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { get: () => true }); document.dispatchEvent(new Event('visibilitychange'))",
    )
    snapshot = { ...snapshot, ready: { ok: false, reasons: ['Something has happened.'] } }
    await untilTrue(async () => (await page.title()) === 'NOT READY · Tidegauge')
    await page.close()
  })

  it('says when the daemon no longer answers, and goes on when it does', async () => {
    const { page, complaints, url } = await open()
    await page.route(`${url}/`, route => route.abort())
    state = 'another'
    await page.getByRole('status').getByText('No answer from the daemon').waitFor()
    await page.unroute(`${url}/`)
    snapshot = { ...snapshot, ready: { ok: true, reasons: [] } }
    await page.getByText('Ready', { exact: true }).waitFor()
    expect(await page.getByRole('status').innerText()).toBe('')
    expect(complaints.filter(text => !text.includes('ERR_FAILED'))).toEqual([])
    await page.close()
  })

  it('opens the history of a metric from its card, by the keyboard', async () => {
    const { page, complaints } = await open({ width: 390, colorScheme: 'dark' })
    await page.getByRole('link', { name: 'TVL', exact: true }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'TVL' }).waitFor()
    expect(await page.getByRole('img', { name: /^Curve of TVL over the last 720 hours: 713 values/ }).isVisible()).toBe(
      true,
    )
    expect(await page.getByRole('table', { name: 'Values of 2026-11-20' }).getByRole('row').count()).toBe(15)
    const [headings, cells] = await page.evaluate<string[][]>(
      "[...document.querySelectorAll('details[open] tr')].map(row => [...row.children].map(cell => getComputedStyle(cell).textAlign))",
    )
    expect(headings, 'each heading stands above its column').toEqual(cells)
    expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(0)
    expect(await faintest(page, 'body :not(svg, svg *, .unseen)')).toBeGreaterThanOrEqual(4.5)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV', exact: true }).press('Enter'),
    ])
    expect(download.suggestedFilename()).toBe('awesome-vault___TVL.csv')
    await page.getByRole('link', { name: 'Tidegauge' }).press('Enter')
    await page.getByRole('heading', { name: 'Hours' }).waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  it('says everything in its roles and names, and reaches it in order by the keyboard', async () => {
    const { page } = await open()
    const main = await page.locator('main').ariaSnapshot()
    for (const words of [
      'region "Protocols"',
      'region "Hours"',
      'region "Delivery"',
      'region "Chains"',
      'region "Warnings of the service"',
      'table "State of each hour of the last seven days for each collector"',
      'rowheader "utilisation awesome-vault"',
      'columnheader "Hours from 13 Nov, 14:00 to 20 Nov, 13:00 UTC"',
      'table "Chains"',
    ]) {
      expect(main).toContain(words)
    }
    const head = await page.locator('header').first().ariaSnapshot()
    expect(head).toContain('list "Why it is not ready"')
    const reached: unknown[] = []
    for (let count = 0; count < 6; count += 1) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate('document.activeElement.textContent'))
    }
    expect(reached).toEqual(['14 due', '12 held', '3 dead', '2 warnings', 'TVL', 'SharePrice'])
    await page.close()
  })

  it('helps a first visitor who has configured nothing', async () => {
    snapshot = emptySnapshot
    const { page, complaints } = await open({ width: 360 })
    expect(await page.getByText('No protocol is configured yet').isVisible()).toBe(true)
    expect(await page.getByText('Ready', { exact: true }).isVisible()).toBe(true)
    expect(complaints).toEqual([])
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

/** So many troubles that some are folded. */
function troublesOf(reason: string): Snapshot {
  const rows = Array.from({ length: 20 }, (_, index) =>
    weekRow('tide-dex', `c${index}`, [{ at: 100 + index, hours: 1, state: 'held', reason: `${index} ${reason}` }]),
  )
  return { ...richSnapshot, week: { ...richSnapshot.week, rows } }
}

/** The lowest contrast, as WCAG counts it, between the colour of a visible thing with text or shape and its ground. */
async function faintest(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`(${contrastScript})(${JSON.stringify(selector)})`)
}

/** Runs in the browser; colours are computed ones, `rgb(…)` or `rgba(…)`. */
const contrastScript = `selector => {
  const parts = color => color.match(/[\\d.]+/g).map(Number)
  const over = ([r, g, b, alpha = 1], under) => [r, g, b].map((c, i) => c * alpha + under[i] * (1 - alpha))
  const groundOf = element =>
    element === null ? [255, 255, 255] : over(parts(getComputedStyle(element).backgroundColor), groundOf(element.parentElement))
  const linear = c => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '')
  const seen = [...document.querySelectorAll(selector)].filter(
    element => element.getClientRects().length > 0 && (element instanceof SVGElement || hasText(element)),
  )
  if (seen.length === 0) throw new Error('there is nothing to look at')
  return Math.min(...seen.map(element => {
    const ground = groundOf(element)
    const lights = [light(over(parts(getComputedStyle(element).color), ground)), light(ground)]
    return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05)
  }))
}`
