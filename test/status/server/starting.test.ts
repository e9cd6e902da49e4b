import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import type { OpenPort } from '../../../src/edge/open-port.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { adviseFile } from '../../../src/model/advice.ts'
import { startStatus } from '../../../src/status/server/server.ts'
import { openEarly, StartProgress } from '../../../src/status/server/starting.ts'
import { emptySnapshot } from '../../support/snapshot.ts'

async function early(port = 0, progress = new StartProgress()): Promise<OpenPort | undefined> {
  const opened = await openEarly({ host: '127.0.0.1', port }, progress)
  onTestFinished(() => opened?.stop())
  return opened
}

async function ask(url: string, method = 'GET', host?: string) {
  const call = request(url, { method, agent: false, headers: host === undefined ? {} : { host } }).end()
  const [answer] = await once(call, 'response')
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
}

const reasons = ['Tidegauge is starting.']

it('a daemon that starts is live and not ready, and says so', async () => {
  const url = (await early())?.url ?? ''
  expect(await ask(`${url}/livez`)).toMatchObject({ status: 200, body: 'live\n' })
  expect(await ask(`${url}/livez?probe=1`, 'HEAD')).toMatchObject({ status: 200, body: '' })
  const ready = await ask(`${url}/readyz`)
  expect([ready.status, JSON.parse(ready.body)]).toEqual([503, { ready: false, reasons }])
  const status = await ask(`${url}/status.json`)
  expect([status.status, JSON.parse(status.body)]).toEqual([
    503,
    { ready: { ok: false, reasons }, startsSince: expect.stringMatching(/Z$/) },
  ])
  expect((await ask(`${url}/metrics`)).body).toContain('\ntidegauge_ready 0\n')
  const page = await ask(`${url}/`)
  expect(page).toMatchObject({ status: 503, body: expect.stringContaining(`<p>${reasons[0]}</p>`) })
  expect(page.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
})

it('a daemon that starts says how far it is', async () => {
  const progress = new StartProgress()
  const url = (await early(0, progress))?.url ?? ''
  progress.reach('loaded so far: 47 of 121 collectors')
  expect(JSON.parse((await ask(`${url}/readyz`)).body)).toEqual({
    ready: false,
    reasons: ['Tidegauge is starting, loaded so far: 47 of 121 collectors.'],
  })
})

it('a daemon that is not ready names its configuration in advice', async () => {
  adviseFile('own.yaml')
  onTestFinished(() => adviseFile(undefined))
  const opened = await openEarly({ host: '127.0.0.1', port: 0 }, 'It waits. Why? tidegauge doctor')
  onTestFinished(() => opened?.stop())
  for (const path of ['/', '/readyz', '/status.json'])
    expect((await ask(`${opened?.url}${path}`)).body).toContain('tidegauge doctor --config own.yaml')
})

it('a daemon that starts answers foreign names and other methods as later on', async () => {
  const url = (await early())?.url ?? ''
  expect((await ask(`${url}/livez`, 'GET', 'rebound.example.com')).status).toBe(403)
  expect((await ask(`${url}/livez`, 'POST')).status).toBe(405)
})

it('the status server goes on at the port that is open, and closes it', async () => {
  const openPort = await early()
  const status = await startStatus({
    host: '127.0.0.1',
    port: 0,
    snapshot: () => emptySnapshot,
    ready: () => emptySnapshot.ready,
    history: async () => undefined,
    state: async () => 'same',
    exposition: async () => 'tidegauge_ready 1\n',
    time: systemTime,
    openPort,
  })
  const { url } = status
  expect(url).toBe(openPort?.url)
  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200, body: '{"ready":true,"reasons":[]}' })
  expect((await ask(`${url}/metrics`)).body).toBe('tidegauge_ready 1\n')
  expect((await ask(`${url}/%zz`)).status).toBe(400)
  expect((await ask(`${url}/nothing`)).status).toBe(404)
  await status.stop()
  await expect(ask(`${url}/livez`)).rejects.toThrow('ECONNREFUSED')
})

it('opens nothing where another program listens, which the status server reports', async () => {
  const first = await early()
  expect(await early(Number(new URL(first?.url ?? '').port))).toBe(undefined)
})
