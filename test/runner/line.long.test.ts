import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ReadRequest } from '../../src/chain/reads.ts'
import { readLines } from '../../src/runner/daemon/child-spawn.ts'
import { boundedLines, heard } from '../../src/runner/daemon/from-child.ts'
import { frameOf, frameReader, questionMistake } from '../../src/runner/messages.ts'
import { configured, faultOf, hour, leapingRunner, testRunner } from './setup.ts'

const fine = { readings: { Level: 1 }, failures: {}, pins: [] }

/** Texts written to the line, and what is said of them. */
const lies: Readonly<Record<string, string>> = {
  'no JSON': 'not JSON',
  nothing: 'of an unknown kind',
  'an end without runs': 'its runs has the wrong form',
  'an end of a guessed run': 'its runs.run has the wrong form',
  'an end of a run it does not have': 'the end of a run that it does not have',
  'a fault of the daemon’s parts': 'its runs.end.fault.code has the wrong form',
  'a line of another collector': 'a log line of another collector',
  'a long text': 'its message has the wrong form',
  'no line': 'a line that is too long',
  'a million lines': 'more than any run needs',
}

describe('a collector that writes to the line to the daemon', () => {
  it('fails alone, with what it did', async () => {
    const { runner } = testRunner()
    const bad = Object.keys(lies).map(what =>
      faultOf(runner.collect(configured('./lies.ts', { id: `lies/${what}`, options: { what } }), hour)),
    )
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
    const faults = await Promise.all(bad)
    expect(faults.map(({ code }) => code)).toEqual(faults.map(() => 'collector-hung'))
    for (const [index, wrong] of Object.values(lies).entries()) {
      expect(faults[index]?.message).toContain(`its process sent an invalid message: ${wrong}`)
      expect(faults[index]?.fix).toContain('must not write to its connection')
    }
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
  })

  it('logs no more than a run may, and that is said once', async () => {
    const { runner, lines } = testRunner()
    const flood = configured('./lies.ts', { options: { what: 'a flood of lines' } })
    expect(await runner.collect(flood, hour)).toMatchObject(fine)
    // On a slow machine it is run again, alone.
    const chars = lines.reduce((sum, { message }) => sum + message.length, 0)
    expect(chars).toBeGreaterThan(1_000_000)
    expect(chars).toBeLessThan(6_000_000)
    expect([1, 2]).toContain(lines.filter(({ message }) => message === 'further log lines are left out').length)
  })

  it('fails with its own code, where the daemon has not replied with that', async () => {
    const { failures } = await testRunner().runner.collect(configured('./forges.ts'), hour)
    expect(failures).toMatchObject({
      Replied: { code: 'price-unknown' },
      Forged: { code: 'collector-threw', message: 'no state', fix: 'run tidegauge run --config /tmp/x' },
    })
  })

  it('half a line is no message', async () => {
    const { runner, printed, passDeadline } = leapingRunner()
    const bad = configured('./lies.ts', { options: { what: 'half a line' } })
    const fault = faultOf(runner.collect(bad, hour))
    await printed('begun')
    passDeadline()
    // As it may not be to blame, it is run again, alone.
    await printed('begun', 2)
    passDeadline()
    expect((await fault).code).toBe('collector-hung')
  })

  it('there is nothing left of the line that Node lays', async () => {
    const { runner } = testRunner()
    expect((await runner.collect(configured('./old-line.ts'), hour)).readings).toEqual({ Found: 0 })
  })
})

describe('what a child says', () => {
  const ended = (end: unknown) => JSON.stringify({ kind: 'ended', runs: [{ run: 'ab'.repeat(16), end }] })
  const collected = (readings: unknown, failures: unknown = {}) =>
    ended({ kind: 'collected', outcome: { readings, failures } })
  const logOf = (count: number) => {
    const facts = Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, index]))
    return JSON.stringify({ kind: 'log', collectorId: 'a', level: 'info', message: '', facts })
  }
  const turnAsk = (parts: object) =>
    JSON.stringify({ kind: 'asks', asks: [{ ask: 1, run: 'ab'.repeat(16), host: 'example.com:443', ...parts }] })
  const slotEnd = (how: unknown) => JSON.stringify({ kind: 'slot-ends', ends: [{ ask: 1, how }] })

  it('is taken without what it has no say in', () => {
    const line = ended({ kind: 'collected', outcome: { readings: { A: 1 }, failures: {}, pins: ['mine'] }, more: 1 })
    expect(heard(line)).toEqual({
      ok: true,
      message: {
        kind: 'ended',
        runs: [
          {
            run: 'ab'.repeat(16),
            end: { kind: 'collected', outcome: { readings: { A: 1 }, ofNone: [], failures: {}, pins: [] } },
          },
        ],
      },
    })
  })

  it.for<[string, string]>([
    ['an unknown value', collected({ A: null })],
    ['a text', collected({ A: '1' })],
    ['no finite number', collected({ A: 1 }).replace('1}', '1e999}')],
    ['a list', collected([])],
    ['an unknown fault', collected({}, { A: { code: 'no-such-code', message: '', facts: {} } })],
    ['a fault of the outbox', collected({}, { A: { code: 'disk-full', message: '', facts: {} } })],
    ['facts that are none', collected({}, { A: { code: 'collector-threw', message: '', facts: { a: {} } } })],
    ['too many labels', collected(Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`L${index}`, 1])))],
    [
      'an unknown part',
      ended({ kind: 'described', description: { kind: 'usable', metrics: { A: { untt: 'x' } }, history: true } }),
    ],
    ['a deep list', '['.repeat(100_000)],
    [
      'a schema that nests too deeply',
      ended({ kind: 'schema', schema: 0 }).replace(/0(?=})/, `${'['.repeat(70)}${']'.repeat(70)}`),
    ],
    ['a schema of too many parts', ended({ kind: 'schema', schema: Array.from({ length: 200_001 }, () => ({})) })],
    ['nothing', ''],
    ['a turn at a host without a port', turnAsk({ host: 'example.com' })],
    ['a turn at a page', turnAsk({ host: 'example.com/page:80' })],
    ['a turn of a guessed run', turnAsk({ run: 'a' })],
    ['a Retry-After of years', slotEnd({ kind: 'refused', retryAfterMs: 1e12 })],
    ['a Retry-After in the past', slotEnd({ kind: 'refused', retryAfterMs: -1 })],
    ['an unknown end of a turn', slotEnd({ kind: 'done' })],
    ['an unknown kind', '{"kind":"shutdown"}'],
    ['a log line of a thousand facts', logOf(1_100)],
    ['a log line whose kind is not its first word', logOf(1_100).replace('{', '{"runs":[],')],
    ['an unknown level', '{"kind":"log","collectorId":"","level":"fatal","message":"","facts":{}}'],
  ])('is no message: %s', ([, line]) => {
    expect(heard(line).ok).toBe(false)
  })

  const failure = { code: 'chain-call-reverted', message: 'reverted', facts: { chain: 'a', block: 1 }, fix: 'check it' }

  it('may be ten thousand failures', () => {
    const failures = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`L${index}`, failure]))
    expect(heard(collected({}, failures)).ok).toBe(true)
  })

  it.for([
    logOf(50),
    turnAsk({}),
    turnAsk({ host: '[::1]:80' }),
    slotEnd({ kind: 'refused' }),
    slotEnd({ kind: 'answered' }),
  ])('is taken: %s', line => expect(heard(line).ok).toBe(true))

  it.for<[unknown, boolean]>([
    [24, true],
    [0, false],
    [1.5, false],
    [100_000, false],
    ['24', false],
  ])('is of earlier hours: %j, %j', ([hoursBefore, isTaken]) => {
    const ask = { ask: 1, run: 'ab'.repeat(16), chain: 'a', question: { kind: 'block' }, hoursBefore }
    expect(heard(JSON.stringify({ kind: 'asks', asks: [ask] })).ok).toBe(isTaken)
  })

  it.for(['0x12', `0x${'0'.repeat(41)}`, '', 5, `0x${'g'.repeat(40)}`])('is no question about the address %j', to => {
    const question = { kind: 'read', requests: [{ kind: 'call', to, input: '0x' }] }
    expect(
      heard(JSON.stringify({ kind: 'asks', asks: [{ ask: 1, run: 'ab'.repeat(16), chain: 'a', question }] })).ok,
    ).toBe(false)
  })
})

describe('a question', () => {
  const [to, slot] = [`0x${'12'.repeat(20)}`, `0x${'00'.repeat(32)}`] as const

  it.for<[ReadRequest, string | undefined]>([
    [{ kind: 'call-from', from: to, to, input: '0x12' }, undefined],
    [{ kind: 'call-from', from: '0x12', to, input: '0x12' }, 'from is no address: 0x and 40 hexadecimal digits'],
    [
      { kind: 'call-from', from: to, to, input: '0x1' },
      'input is no call data: 0x and an even number of hexadecimal digits',
    ],
    [{ kind: 'storage', address: to, slot }, undefined],
    [{ kind: 'storage', address: to, slot: '0x0' }, 'slot is no storage slot: 0x and 64 hexadecimal digits'],
  ])('is checked before it is sent: %j', ([request, mistake]) => {
    expect(questionMistake({ kind: 'read', requests: [request] })).toBe(mistake)
  })
})

describe('the line', () => {
  it('is cut into its lines however it comes in pieces, and no longer one is held', () => {
    const completed = boundedLines(5)
    expect(completed('ab')).toEqual({ kind: 'lines', lines: [] })
    expect(completed('c\nd\n\ne')).toEqual({ kind: 'lines', lines: ['abc', 'd', ''] })
    expect(completed('fghi')).toEqual({ kind: 'lines', lines: [] })
    expect(completed('j')).toEqual({ kind: 'too-long' })
    expect(boundedLines(5)('a\nbcdefg\n')).toEqual({ kind: 'too-long' })
  })

  it('is read in order, and of all processes one long line in a tick: to parse it takes a while', async () => {
    const order: string[] = []
    const lines = ['a', 'b', 'c'].map(name => {
      const line = new PassThrough()
      const hear = (text: string) => void order.push(`${name}${text.slice(-1)}`)
      const read = readLines(line, () => ({ log() {}, tooLong() {}, hear }))
      line.write(`1\n${'x'.repeat(100_000)}2\n3\n`)
      return { line, read }
    })
    let isOver = false
    const tick = () => {
      order.push('-')
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)
    for (const { line } of lines) line.end()
    await Promise.all(lines.map(({ read }) => read))
    isOver = true
    const ticks = order.join('').split('-')
    expect(Math.max(...ticks.map(each => each.split('2').length - 1))).toBe(1)
    for (const name of 'abc')
      expect(order.filter(one => one.startsWith(name)).join('')).toBe(`${name}1${name}2${name}3`)
  })

  it.for([1, 3, 7, 1_000])('gives a child what the daemon wrote, in pieces of %d bytes', size => {
    const values = [{ number: 5n }, { text: 'é'.repeat(50) }, [], { deep: [Number.POSITIVE_INFINITY, undefined] }]
    const bytes = Buffer.concat(values.map(frameOf))
    const seen: unknown[] = []
    const read = frameReader(value => seen.push(value))
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size))
    expect(seen).toEqual(values)
  })
})
