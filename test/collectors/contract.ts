import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chains, RawReads } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import { systemTime } from '../../src/edge/time.ts'
import { Fault, faultRecord } from '../../src/model/fault.ts'
import type { Hour } from '../../src/model/hour.ts'
import { labelCharsAdvised } from '../../src/model/limits.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner, RunOutcome } from '../../src/runner/runner.ts'
import { chainOf } from '../support/reads.ts'

/** What the contract needs to know of a collector. Functions are called when a test runs, so they may use what `beforeAll` made. */
export interface ContractParts {
  /** As in the configuration: a name in `collectors/`, a path from `configFile`, or a package. */
  readonly use: string
  /** The file that a path in `use` counts from; it need not exist. */
  readonly configFile?: string
  /** Options under which it gives every value for every one of the hours. */
  options(): Readonly<Record<string, unknown>>
  /** Hours it has values for. */
  hours(): readonly Hour[]
  /** The chains it reads, by their name in the options; absent when it reads none. */
  chains?(): Chains
  /** For one that reads no chain: options under which its source does not exist or answers something else. */
  broken?(): readonly Readonly<Record<string, unknown>>[]
  /** For one that reads over HTTP: options under which its source never answers. */
  silent?(): Readonly<Record<string, unknown>>
}

/** What every collector keeps to. Run it on yours: `collectorContract('my-own', { use: './my-own.ts', … })`. */
export function collectorContract(name: string, parts: ContractParts): void {
  describe(`collector ${name}`, () => {
    let runner: Runner
    beforeAll(() => {
      runner = runnerOn(parts.chains?.() ?? {})
    })
    afterAll(() => runner.stop())

    it('declares labels that the service takes without a warning, the same each time', async () => {
      const description = await runner.describe(configured(parts))
      if (description.kind !== 'usable') throw new Error(JSON.stringify(description.mistakes))
      for (const label of Object.keys(description.metrics)) expect(label.length).toBeLessThanOrEqual(labelCharsAdvised)
      expect(await runner.describe(configured(parts))).toEqual(description)
    })

    it('calls an unknown option a mistake, and options that are no map', async () => {
      const mistaken = { ...parts.options(), noSuchOption: 1 }
      expect(await runner.describe(configured(parts, mistaken))).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path: ['noSuchOption'], message: 'unknown option "noSuchOption"' }],
      })
      expect((await runner.describe(configured(parts, ['list']))).kind).toBe('mistaken')
    })

    it('has a value for every label at every hour', async () => {
      const labels = await labelsOf(runner, parts)
      for (const hour of parts.hours()) {
        const { readings, failures } = await runner.collect(configured(parts), hour)
        expect(failures).toEqual({})
        expect(Object.keys(readings).sort()).toEqual(labels)
      }
    })

    it('gives the same bytes for the same hour, in another process too, when it has a history', async () => {
      const description = await runner.describe(configured(parts))
      if (description.kind !== 'usable' || !description.history) return
      const again = runnerOn(parts.chains?.() ?? {})
      for (const hour of parts.hours()) {
        const first = bytesOf(await runner.collect(configured(parts), hour))
        expect(bytesOf(await runner.collect(configured(parts), hour))).toBe(first)
        expect(bytesOf(await again.collect(configured(parts), hour))).toBe(first)
      }
      await again.stop()
    })

    it('never makes a value of a source that fails', async () => {
      const [hour] = parts.hours()
      if (hour === undefined) return
      // One process for all of them: it costs more than what is asked of it.
      let reads = silentReads
      const failing = runnerOn(sameChains(parts, () => reads))
      for (const source of failingSources(parts)) {
        reads = source.reads ?? reads
        const outcome = await outcomeOf(failing, configured(parts, source.options), hour)
        expect(outcome, source.name).toMatchObject({ readings: {} })
      }
      await failing.stop()
    })

    it('still waits for its source, and does nothing else, when the deadline comes', async () => {
      const silent = silentSource(parts)
      const [hour] = parts.hours()
      if (!silent || hour === undefined) return
      const waiting = runnerOn(
        sameChains(parts, () => silentReads),
        3_000,
      )
      const { readings, failures } = await outcomeOf(waiting, configured(parts, silent.options), hour)
      expect(readings).toEqual({})
      const faults = Object.values(failures)
      expect(faults.length).toBeGreaterThan(0)
      for (const fault of faults) {
        expect(fault).toMatchObject({ code: 'collector-hung', facts: { waitedFor: expect.any(String) } })
      }
      await waiting.stop()
    })
  })
}

interface Source {
  readonly name: string
  /** What each of the collector's chains answers; absent for one that reads none. */
  readonly reads?: RawReads
  readonly options: Readonly<Record<string, unknown>>
}

function failingSources({ chains, options, broken }: ContractParts): Source[] {
  const onChain = Object.entries(failingReads).map(([name, reads]) => ({ name, reads, options: options() }))
  const offChain = (broken?.() ?? []).map(own => ({ name: JSON.stringify(own), options: own }))
  return chains ? onChain : offChain
}

function silentSource({ chains, options, silent }: ContractParts): Source | undefined {
  if (chains) return { name: 'silent', options: options() }
  return silent ? { name: 'silent', options: silent() } : undefined
}

/** With the blocks that were read, which hold numbers that JSON does not have. */
function bytesOf(outcome: RunOutcome): string {
  return JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** The collector's chains, each of which answers what is to be answered at that moment. */
function sameChains({ chains }: ContractParts, reads: () => RawReads): Chains {
  const chain = chainOf({
    block: (...asked) => reads().block(...asked),
    read: (...asked) => reads().read(...asked),
    logs: (...asked) => reads().logs(...asked),
  })
  return Object.fromEntries(Object.keys(chains?.() ?? {}).map(name => [name, chain]))
}

const dead = () => Promise.reject(new Fault('chain-unreachable', 'the node does not answer'))
const block = async () => ({ number: 1n, hash: '0x00', timestampSeconds: 0 }) as const
const none = async () => []

const failingReads: Readonly<Record<string, RawReads>> = {
  'a dead node': { block: dead, read: dead, logs: dead },
  'no contract, and an unknown balance': {
    block,
    logs: none,
    read: async (_hour, requests) => requests.map(() => ({ kind: 'returned', output: '0x' })),
  },
  'a contract that refuses': {
    block,
    logs: none,
    read: async (_hour, requests) => requests.map(() => ({ kind: 'reverted', output: '0x' })),
  },
  'a node that answers in part': { block, logs: none, read: none },
}

const never = () => new Promise<never>(() => {})
const silentReads: RawReads = { block: never, read: never, logs: never }

function runnerOn(chains: Chains, deadlineMs = 60_000): Runner {
  return new ProcessRunner({ chains, deadlineMs, time: systemTime, log: () => {} })
}

function configured({ use, configFile, options }: ContractParts, own: unknown = options()): CollectorConfig {
  const place = { file: configFile ?? '/tidegauge.yaml', line: 1, column: 1 }
  return { id: `contract/${use}`, protocolId: 'contract', use, options: own, place, placeOf: () => place }
}

async function labelsOf(runner: Runner, parts: ContractParts): Promise<string[]> {
  const description = await runner.describe(configured(parts))
  return description.kind === 'usable' ? Object.keys(description.metrics).sort() : []
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
