import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ChainReader } from '../../../src/chain/reads.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { untilTrue } from '../../support/until-true.ts'
import { configured, faultOf, hour, leapingRunner, testRunner } from '../setup.ts'

/** A collector of one's own with this body of `collect`, and what `before` does in its module. */
function ownCollector(body: string, before = '') {
  const folder = temporaryFolder()
  writeFileSync(
    join(folder, 'own.js'),
    `import { defineCollector, z } from 'tidegauge'
${before}
export default defineCollector({ options: z.strictObject({}), metrics: { A: {} }, history: true, async collect({ chain, log }) {
  ${body}
  return { A: 1 }
} })
`,
  )
  return configured('./own.js', { file: join(folder, 'tidegauge.yaml') })
}

/** The node of this chain never answers; `asked` counts what waits for it. */
function silentChain(asked: { reads: number } = { reads: 0 }) {
  const main: Partial<ChainReader> = {
    id: 1,
    nextLookUp: Promise.resolve(),
    hosts: () => ['node.example'],
    read: async (_hour, requests, signal) => {
      asked.reads += requests.length
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  return { main: main as ChainReader }
}

/** Writes a line to the daemon past the program's own words, with the token of its run. */
const pastTheWords = `import { writeSync } from 'node:fs'
const stringify = JSON.stringify
let run = ''
JSON.stringify = (value, ...rest) => {
  if (value?.run) run = value.run
  if (value?.end) value.end = globalThis.end ?? value.end
  return stringify(value, ...rest)
}
`

it('blames a node for a deadline only where that has passed, and where the run waits for it', async () => {
  const hung = `{ kind: 'faulted', fault: { code: 'collector-hung', message: 'late', facts: { waitedFor: 'chain main' } } }`
  const { runner } = testRunner({ chains: silentChain() })
  const early = await faultOf(runner.collect(ownCollector(`globalThis.end = ${hung}`, pastTheWords), hour))
  expect(early).toMatchObject({ code: 'collector-threw', message: 'late' })
  expect(early.fix ?? '').not.toContain('doctor')

  const leaping = leapingRunner({ chains: silentChain() })
  const waiting = `log.info('begun'); globalThis.end = ${hung}; await new Promise(() => {})`
  const late = faultOf(leaping.runner.collect(ownCollector(waiting, pastTheWords), hour))
  await leaping.printed('begun')
  leaping.passDeadline()
  const { code, message } = await late
  expect({ code, message }).toEqual({ code: 'collector-hung', message: 'late' })

  const asked = { reads: 0 }
  const asking = leapingRunner({ chains: silentChain(asked) })
  const truly = faultOf(
    asking.runner.collect(ownCollector(`log.info('begun'); await chain('main').balance('0x${'1'.repeat(40)}')`), hour),
  )
  await untilTrue(() => asked.reads > 0)
  asking.passDeadline()
  expect((await truly).message).toBe('no answer within 60 s from chain main (node.example)')
})

it('gives names of facts one line, as all texts', async () => {
  const end = `{ kind: 'faulted', fault: { code: 'collector-threw', message: 'x', facts: { ['a=1)\\nnot collected: b\\u001b[31m\\u202e']: 1 } } }`
  const { runner } = testRunner()
  const fault = await faultOf(runner.collect(ownCollector(`globalThis.end = ${end}`, pastTheWords), hour))
  expect(Object.keys(fault.facts)).toEqual(['a=1) not collected: b [31m '])
})

it('has few threads, whatever number its code wants', async () => {
  const { runner, printed } = testRunner()
  const collector = ownCollector(
    `for (let job = 0; job < 64; job += 1) pbkdf2('a', 'b', 1e8, 64, 'sha512', () => {})
    log.info('begun')
    await new Promise(() => {})`,
    `import { pbkdf2 } from 'node:crypto'\nprocess.env.UV_THREADPOOL_SIZE = '64'`,
  )
  const running = runner.collect(collector, hour).catch(() => undefined)
  await printed('begun')
  const threads = readdirSync('/proc').flatMap(name => {
    const status = /^\d+$/.test(name) ? statusOf(name) : ''
    const isChild = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]) === process.pid
    return isChild ? [Number(/^Threads:\t(\d+)$/m.exec(status)?.[1])] : []
  })
  expect(threads.length).toBeGreaterThan(0)
  expect(Math.max(...threads)).toBeLessThan(40)
  await runner.stop()
  await running
})

it('is not read on while too many of its questions wait', async () => {
  const asked = { reads: 0 }
  const { runner, printed } = testRunner({ chains: silentChain(asked) })
  // Written into the connection itself, as the process would not send so many at once.
  const collector = ownCollector(
    `chain('main').balance('0x${'1'.repeat(40)}').catch(() => {})
    while (run === "") await new Promise(resolve => setImmediate(resolve))
    const requests = Array(9_900).fill({ kind: 'balance', address: '0x${'2'.repeat(40)}' })
    const line = Buffer.from(stringify({ kind: 'asks', asks: [1, 2, 3, 4].map(at => ({ ask: 100 + at, run, chain: 'main', question: { kind: 'read', requests } })) }) + '\\n')
    log.info('begun')
    for (let lines = 0; lines < 20; lines += 1)
      for (let at = 0; at < line.length; ) try { at += writeSync(3, line.subarray(at)) } catch { await new Promise(resolve => setImmediate(resolve)) }
    log.info('all are written')`,
    pastTheWords,
  )
  const running = runner.collect(collector, hour).catch(() => undefined)
  await printed('begun')
  const good = await runner.collect(ownCollector(`await chain('main')`), hour)
  expect(good.readings).toEqual({ A: 1 })
  expect(asked.reads).toBeLessThan(100_000)
  await runner.stop()
  await running
  expect(asked.reads).toBeLessThan(100_000)
})

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1')
  } catch {
    return ''
  }
}
