import assert from 'node:assert/strict'
import type { ReadAnswer } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import { Fault, type FaultRecord, faultRecord } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import type { ReadInterceptor } from '../runner/daemon/read-interceptor.ts'
import type { ChainReply, HttpReply } from '../runner/messages.ts'
import type { CollectorDescription, Runner, RunOutcome } from '../runner/runner.ts'
import type { TestRunner } from './test-runner.ts'
import { failuresText } from './trial.ts'

/** A runner on the sources of a collector, and whether any of its runs has read something. */
interface OpenSources {
  readonly runner: Runner
  hasRead(): boolean
}

/** A collector, and its sources. Functions are called when a test runs. */
interface ContractDeps {
  /** With options under which it gives every value for every one of the hours, or with others. */
  collector(options?: unknown): CollectorConfig
  hours(): readonly Hour[]
  /** A runner that reads the collector's sources. */
  open(): OpenSources
  /** A runner whose reads all go to an interceptor. */
  openOn(interceptor: ReadInterceptor, deadlineMs?: number): Runner
  /** Options under which its source does not exist or fails, for what no interceptor sees. Default: none. */
  broken?(): readonly unknown[]
  /** Options under which its source never answers, for what no interceptor sees. Default: none. */
  silent?(): unknown
}

/** Longest time of one test: processes are started, and one deadline is waited for. A busy machine is not the collector. */
const testMsMax = 600_000

/** Time limit of a run whose sources are silent. */
const silentMs = 3_000

/** The tests that any collector passes. */
export function contractTests(name: string, deps: ContractDeps, { describe, it, after }: TestRunner): void {
  describe(`collector ${name}`, () => {
    let sources: OpenSources | undefined
    after(async () => sources?.runner.stop())
    for (const [title, test] of Object.entries(tests)) {
      it(
        title,
        () => {
          // One runner for all tests: it costs more than what is asked of it.
          sources ??= deps.open()
          return test(deps, sources)
        },
        testMsMax,
      )
    }
  })
}

type ContractTest = (deps: ContractDeps, sources: OpenSources) => Promise<void>

const tests: Readonly<Record<string, ContractTest>> = {
  async 'declares labels that the service takes without a warning, the same each time'({ collector }, { runner }) {
    const description = await described(runner, collector())
    for (const label of Object.keys(description.metrics)) {
      assert.ok(label.length <= labelCharsAdvised, `the label ${label} has more than ${labelCharsAdvised} characters`)
    }
    assert.deepEqual(await described(runner, collector()), description)
  },

  async 'calls an unknown option a mistake, and options that are no map'({ collector }, { runner }) {
    const { options } = collector()
    const more = { ...(typeof options === 'object' && options), noSuchOption: 1 }
    const mistaken = await runner.describe(collector(more))
    assert.ok(mistaken.kind === 'mistaken', 'it takes an unknown option: use z.strictObject')
    const unknown = mistaken.mistakes.map(({ path, message }) => `${path.join('.')}: ${message}`)
    assert.deepEqual(unknown, ['noSuchOption: unknown option "noSuchOption"'])
    const list = await runner.describe(collector(['list']))
    assert.equal(list.kind, 'mistaken', 'it takes a list as its options: use z.strictObject')
  },

  async 'has a value for every label at every hour'({ collector, hours }, { runner }) {
    const labels = Object.keys((await described(runner, collector())).metrics).sort()
    assert.ok(hours().length > 0, 'there is no hour to read')
    for (const hour of hours()) {
      const outcome = await runner.collect(collector(), hour)
      assert.deepEqual(outcome.failures, {}, `as of ${hourText(hour)}:\n${failuresText(outcome)}`)
      assert.deepEqual(Object.keys(outcome.readings).sort(), labels)
    }
  },

  async 'gives the same bytes for the same hour, in another process too, when it has a history'(deps, { runner }) {
    const collector = deps.collector()
    if (!(await described(runner, collector)).history) return
    const secondSources = deps.open()
    try {
      for (const hour of deps.hours()) {
        const first = bytesOf(await runner.collect(collector, hour))
        assert.equal(bytesOf(await runner.collect(collector, hour)), first)
        assert.equal(bytesOf(await secondSources.runner.collect(collector, hour)), first)
        // A backfill and a catch-up read several hours at once in one process.
        const together = await Promise.all([...deps.hours(), hour].map(one => runner.collect(collector, one)))
        const last = together.at(-1)
        const message = 'it gives another value while other hours are read: keep nothing in variables of the module'
        assert.equal(last && bytesOf(last), first, message)
      }
    } finally {
      await secondSources.runner.stop()
    }
  },

  'never makes a value of a source that fails': failsWithItsSources,

  async 'still waits for its source, and does nothing else, when the deadline comes'(deps, sources) {
    const [hour] = deps.hours()
    const silentOutcome = hour === undefined ? undefined : await silentRun(deps, sources, hour)
    if (!silentOutcome) return
    assert.deepEqual(silentOutcome.readings, {})
    const faults = Object.values(silentOutcome.failures)
    assert.ok(faults.length > 0)
    for (const fault of faults) {
      assert.equal(fault.code, 'collector-hung', fault.message)
      assert.equal(typeof fault.facts['waitedFor'], 'string', 'it waits for something else than its source')
    }
  },
}

async function failsWithItsSources(deps: ContractDeps, { runner, hasRead }: OpenSources): Promise<void> {
  const [hour] = deps.hours()
  if (hour === undefined) return
  const { readings } = await runner.collect(deps.collector(), hour)
  if (hasRead()) {
    let source: ReadInterceptor | undefined
    // One process for all of them: it costs more than what is asked of it.
    const failingRunner = deps.openOn(switching(() => source ?? silentSource))
    try {
      for (const [name, each] of Object.entries(failingSources)) {
        source = each
        demandNoValue(await outcomeOf(failingRunner, deps.collector(), hour), readings, name)
      }
    } finally {
      await failingRunner.stop()
    }
  }
  for (const options of deps.broken?.() ?? []) {
    demandNoValue(await outcomeOf(runner, deps.collector(options), hour), {}, JSON.stringify(options))
  }
}

/** An interceptor that asks whichever one is meant at the moment. */
function switching(current: () => ReadInterceptor): ReadInterceptor {
  return {
    requests: 'unsent',
    chain: (...asked) => current().chain(...asked),
    price: (...asked) => current().price(...asked),
    list: (...asked) => current().list(...asked),
    http: (...asked) => current().http(...asked),
  }
}

/** A label that reads nothing may have its value, which then is the same as with sound sources, and not 0. */
function demandNoValue({ readings }: RunOutcome, known: Readonly<Record<string, number>>, source: string): void {
  const made = Object.entries(readings).filter(([label, value]) => value === 0 || value !== known[label])
  assert.deepEqual(Object.fromEntries(made), {}, `a value was made of a source that fails (${source})`)
}

/** A run whose sources never answer; `undefined` for a collector that reads nothing. */
async function silentRun(deps: ContractDeps, { runner, hasRead }: OpenSources, hour: Hour) {
  await runner.collect(deps.collector(), hour)
  const options = deps.silent?.()
  if (!hasRead() && options === undefined) return undefined
  const stalledReads = deps.openOn(silentSource, silentMs)
  try {
    return await outcomeOf(stalledReads, deps.collector(options), hour)
  } finally {
    await stalledReads.stop()
  }
}

/** With the blocks that were read, which hold numbers that JSON does not have. */
function bytesOf(outcome: RunOutcome): string {
  return JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

async function described(runner: Runner, collector: CollectorConfig): Promise<CollectorDescription> {
  const description = await runner.describe(collector)
  if (description.kind === 'usable') return description
  throw new Error(`its options are mistaken: ${JSON.stringify(description.mistakes)}`)
}

/** An outcome; of a run that failed as a whole, its one failure under no label. */
async function outcomeOf(runner: Runner, collector: CollectorConfig, hour: Hour): Promise<RunOutcome> {
  try {
    return await runner.collect(collector, hour)
  } catch (error) {
    // One that cannot be loaded, or refuses its options, has not asked its source.
    if (!(error instanceof Fault) || error.code === 'collector-unusable') throw error
    return { readings: {}, failures: { '': faultRecord(error) }, pins: [] }
  }
}

const faulted = (fault: Fault) => ({ kind: 'faulted', fault: faultRecord(fault) }) as const
const dead = faulted(new Fault('chain-unreachable', 'the node does not answer'))
const noPrice = faulted(new Fault('price-missing', 'there is no price'))
const noList = faulted(new Fault('list-missing', 'the list cannot be read'))
const at = { number: 1n, hash: `0x${'00'.repeat(32)}`, timestampSeconds: 0 } as const

/** A chain that answers reads in one way, and no logs: that there are none would be an answer. */
function source(http: HttpReply, answer?: ReadAnswer | 'in part'): ReadInterceptor {
  return {
    requests: 'unsent',
    async chain(_run, { question }): Promise<ChainReply> {
      if (answer === undefined) return dead
      if (question.kind === 'block') return { kind: 'block', at }
      if (question.kind !== 'read') return dead
      return { kind: 'read', at, value: answer === 'in part' ? [] : question.requests.map(() => answer) }
    },
    price: async () => noPrice,
    list: async () => noList,
    http: async () => http,
  }
}

const refused: FaultRecord = faultRecord(new Fault('http-refused', 'the source refuses the request'))
const down: FaultRecord = faultRecord(new Fault('http-unreachable', 'the source does not answer'))

/** Sources that give no value, each in another way. */
const failingSources: Readonly<Record<string, ReadInterceptor>> = {
  'a dead node, a dead host': source({ kind: 'faulted', fault: down }),
  'no contract, no such page': source({ kind: 'faulted', fault: refused }, { kind: 'returned', output: '0x' }),
  'a contract that refuses, an empty object': source({ kind: 'http', text: '{}' }, { kind: 'reverted', output: '0x' }),
  'a node that answers in part, a web page': source({ kind: 'http', text: '<!doctype html><html></html>' }, 'in part'),
}

const never = () => new Promise<never>(() => {})

/** Sources that never answer. */
const silentSource: ReadInterceptor = { requests: 'unsent', chain: never, price: never, list: never, http: never }
