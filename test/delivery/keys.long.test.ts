import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSecret } from '../../src/config/secret.ts'
import type { Destination } from '../../src/delivery/destination.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { breakerCapMs, hourMs } from '../../src/model/limits.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { httpBench } from './support/http-bench.ts'
import { protocol } from './support/protocol.ts'

const firstKey = 'first-key-0123456789'
const secondKey = 'second-key-0123456789'

/** A destination whose key lies in a file. */
function keyed(name: string, key: string) {
  const path = join(temporaryFolder(), `${name}.key`)
  writeFileSync(path, `${key}\n`, { mode: 0o600 })
  const destination: Destination = {
    name,
    readKey: () => readSecret({ kind: 'file', path }),
    protocols: [protocol(name)],
  }
  return { path, destination, change: (to: string) => writeFileSync(path, to) }
}

async function refusedBench() {
  const vault = keyed('vault', firstKey)
  const made = await httpBench({ destinations: [vault.destination] })
  made.service.rule = ({ key }) => (key === firstKey ? { status: 401 } : undefined)
  made.service.keyReply = key => ({ status: key === firstKey ? 401 : 200 })
  await made.bench.store(metrics(3))
  return { ...made, vault }
}

describe('a key that is refused', () => {
  it('is not pushed with again, however long; it is asked about each hour, and all is kept', async () => {
    const { bench, service, time } = await refusedBench()
    await bench.flush()
    for (let count = 0; count < 20 * 12; count += 1) {
      await time.sleep(hourMs / 12)
      await bench.flush()
    }
    expect(new Set(service.requests)).toEqual(new Set(['GET /api/validate-key']))
    expect(service.requests.length).toBeGreaterThanOrEqual(20)
    expect(service.requests.length).toBeLessThanOrEqual(22)
    expect(bench.balance).toMatchObject({ due: 3, dead: 0, delivered: 0 })
    expect(bench.state('vault')).toMatchObject({
      waiting: expect.stringMatching(/^The service refuses the key/),
      cure: 'new-key',
    })
  })

  it('is asked about at once when a person wants it, here or next to a daemon, and delivery goes on with it', async () => {
    for (const isOther of [false, true]) {
      const { bench, service, time } = await refusedBench()
      await bench.flush()
      service.rule = () => undefined
      service.keyReply = () => ({ status: 200 })
      await time.sleep(60_000)
      await bench.flush()
      expect(bench.balance.due).toBe(3)
      if (isOther) await bench.outbox.operators.requestFlush()
      await bench.flush(isOther ? 'due' : 'asked')
      expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
      expect(service.checkedKeys).toEqual([firstKey, firstKey])
    }
  })

  it('by a single push is asked about within the hour, and delivery goes on with the same key', async () => {
    const { bench, service, time } = await refusedBench()
    service.keyReply = () => ({ status: 200 })
    await bench.flush()
    expect(service.requests).toEqual(['GET /api/validate-key', 'POST /api/metrics'])
    service.rule = () => undefined
    await time.sleep(hourMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
    expect(service.requests).toHaveLength(4)
  })

  it('is let go when its file has another: that is asked about first, and delivery resumes at once', async () => {
    const { bench, service, vault } = await refusedBench()
    await bench.flush()
    vault.change(secondKey)
    await bench.flush()
    expect(service.requests.slice(1)).toEqual(['GET /api/validate-key', 'POST /api/metrics'])
    expect(service.checkedKeys.at(-1)).toBe(secondKey)
    expect(service.pushes.map(({ key }) => key)).toEqual([secondKey])
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
    expect(bench.state('vault').waiting).toBeUndefined()
  })

  it('that was missing is used at once when it is there again, however long the pause was', async () => {
    const { bench, service, time, vault } = await refusedBench()
    service.rule = () => undefined
    rmSync(vault.path)
    for (let count = 0; count < 5; count += 1) {
      await bench.flush()
      await time.sleep(breakerCapMs)
    }
    await bench.flush()
    expect(bench.state('vault')).toMatchObject({
      waiting: expect.stringMatching(/^The key of the service cannot be read: [^–]*does not exist[^–]*$/),
      cure: 'key',
    })
    vault.change(secondKey)
    await bench.flush()
    expect(new Set(service.pushes.map(({ key }) => key))).toEqual(new Set([secondKey]))
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
  })

  it('is waited for on while the changed one is refused as well, which is asked about once', async () => {
    const { bench, service, time, vault } = await refusedBench()
    await bench.flush()
    service.keyReply = () => ({ status: 401 })
    vault.change(secondKey)
    for (let count = 0; count < 5; count += 1) {
      await bench.flush()
      await time.sleep(breakerCapMs)
    }
    expect(service.checkedKeys).toEqual([firstKey, secondKey])
    expect(service.pushes).toEqual([])
    service.keyReply = () => ({ status: 200 })
    vault.change('third-key-0123456789')
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
  })

  it('is waited for on while the service cannot tell about the changed one, which is asked about after ever longer pauses', async () => {
    const { bench, service, time, vault } = await refusedBench()
    await bench.flush()
    service.keyReply = () => ({ status: 503 })
    vault.change(secondKey)
    for (let second = 0; second < 600; second += 1) {
      await bench.flush()
      await time.sleep(1_000)
    }
    expect(service.pushes).toEqual([])
    expect(service.checkedKeys.length).toBeGreaterThan(3)
    expect(service.checkedKeys.length).toBeLessThan(12)
    expect(bench.state('vault').waiting).toContain('the changed key could not be checked: 503')
    service.keyReply = () => ({ status: 200 })
    await time.sleep(breakerCapMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
  })

  it('is asked about by a new process, and each hour after', async () => {
    const { bench, service, time } = await refusedBench()
    await bench.flush()
    bench.restart()
    await time.sleep(hourMs)
    await bench.flush()
    await time.sleep(hourMs)
    await bench.flush()
    expect(service.checkedKeys).toEqual([firstKey, firstKey, firstKey])
  })
})

describe('a key’s file', () => {
  const spoil: readonly [string, (path: string) => void, RegExp][] = [
    ['is missing', path => rmSync(path), /does not exist/],
    ['is in a folder that is missing', path => rmSync(dirname(path), { recursive: true }), /does not exist/],
    ['is empty', path => writeFileSync(path, ''), /is empty/],
    ['holds nothing but blanks', path => writeFileSync(path, ' \n\n'), /is empty/],
    ['holds two lines', path => writeFileSync(path, 'one\ntwo\n'), /holds a blank, a line break/],
    [
      'is a folder',
      path => {
        rmSync(path)
        mkdirSync(path)
      },
      /is a folder/,
    ],
    ['is too long', path => writeFileSync(path, 'x'.repeat(70_000)), /more than 65536 bytes/],
  ]

  it.each(spoil)(
    'that %s keeps all, sends nothing, and says which; what is put there later is used',
    async (_, act, words) => {
      const vault = keyed('vault', firstKey)
      const { bench, service, time } = await httpBench({ destinations: [vault.destination] })
      await bench.store(metrics(3))
      act(vault.path)
      for (let count = 0; count < 3; count += 1) {
        await bench.flush()
        await time.sleep(breakerCapMs)
      }
      expect(service.requests).toEqual([])
      expect(bench.state('vault').waiting).toMatch(words)
      expect(bench.state('vault').waiting).toContain(vault.path)
      expect(bench.balance).toMatchObject({ due: 3, dead: 0 })
      rmSync(vault.path, { recursive: true, force: true })
      mkdirSync(dirname(vault.path), { recursive: true })
      vault.change(`  ${secondKey}\r\n`)
      await bench.flush()
      expect(service.pushes.map(({ key }) => key)).toEqual([secondKey])
      expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
    },
  )

  it('is read before each flush, so that a key rotates without a refusal', async () => {
    const vault = keyed('vault', firstKey)
    const { bench, service } = await httpBench({ destinations: [vault.destination] })
    await bench.store(metrics(1))
    await bench.flush()
    vault.change(secondKey)
    await bench.store(metrics(1, hourAfter(anHour, -1)))
    await bench.flush()
    expect(service.pushes.map(({ key }) => key)).toEqual([firstKey, secondKey])
  })
})

describe('two destinations', () => {
  async function both() {
    const [vault, other] = [keyed('vault', firstKey), keyed('other', secondKey)]
    const made = await httpBench({ destinations: [vault.destination, other.destination] })
    return { ...made, vault, other }
  }

  it('never mix their keys, whatever the service says', async () => {
    const { bench, service, time } = await both()
    const answers = [undefined, { status: 400 }, { status: 500 }, { status: 404 }, { status: 413 }, { status: 401 }]
    let count = 0
    service.rule = () => {
      count += 1
      return answers[count % answers.length]
    }
    for (let back = 0; back < 30; back += 1) {
      await bench.store([...metrics(120, hourAfter(anHour, -back)), ...metrics(120, hourAfter(anHour, -back), 'other')])
      await bench.flush()
      await time.sleep(breakerCapMs)
    }
    expect(service.pushes.length).toBeGreaterThan(10)
    for (const { key, metrics: sent } of service.pushes) {
      const wanted = key === firstKey ? 'vault' : 'other'
      expect(sent.every(({ protocolId }) => protocolId === wanted)).toBe(true)
    }
  })

  it.each([
    ['has its key refused', { status: 401 }],
    ['is failed on', { status: 503 }],
    ['is asked to wait', { status: 429, headers: { 'retry-after': '7200' } }],
    ['is refused all', { status: 400 }],
    ['is sent elsewhere', { status: 302 }],
  ])('go on alone while the other %s', async (_, reply) => {
    const { bench, service, time } = await both()
    service.rule = ({ key }) => (key === firstKey ? reply : undefined)
    for (let count = 0; count < 5; count += 1) {
      const hour = hourAfter(anHour, count)
      await time.sleep(hour - time.nowMs() + 60_000)
      await bench.store([...metrics(3, hour), ...metrics(4, hour, 'other')])
      await bench.flush()
    }
    expect(bench.balance).toMatchObject({ delivered: 20, due: 15, dead: 0 })
    expect(bench.state('vault').failures).toBeGreaterThan(0)
    expect(bench.state('other')).toMatchObject({ failures: 0, lastPush: { verdict: 'delivered' } })
  })

  it('are read apart: one whose file is missing does not keep the other waiting', async () => {
    const { bench, vault } = await both()
    rmSync(vault.path)
    await bench.store([...metrics(3), ...metrics(4, anHour, 'other')])
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 4, due: 3 })
  })
})

it('no key is ever written to the outbox, also when the service repeats it in its words', async () => {
  const { bench, service } = await httpBench({ destinations: [keyed('vault', firstKey).destination] })
  const repeat = (key: string) => `the key ${key} may not write here`
  const answers = [
    (key: string) => ({ status: 503, body: { error: repeat(key) } }),
    (key: string) => ({ status: 404, body: { [key]: repeat(key) } }),
    (key: string) => ({ status: 400, body: `{"error":"\\u0066irst-key-0123456789 and ${key}"}` }),
    (key: string) => ({ status: 302, headers: { location: `/${key}` }, body: repeat(key) }),
    (key: string) => ({
      status: 200,
      body: { success: true, processed: 2, errors: [`vault___M0 ${key}`], warnings: [key] },
    }),
    (key: string) => ({ status: 401, body: { error: repeat(key) } }),
  ]
  for (const [count, answer] of answers.entries()) {
    await bench.store(metrics(3, hourAfter(anHour, -count)))
    service.rule = ({ key }) => answer(key)
    await bench.flush('asked')
  }
  expect(bench.state('vault').waiting).toContain('[redacted]')
  bench.outbox.close()
  for (const file of readdirSync(dirname(bench.file))) {
    expect(readFileSync(join(dirname(bench.file), file)).includes(firstKey)).toBe(false)
  }
  bench.restart()
})
