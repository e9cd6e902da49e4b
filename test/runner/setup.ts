import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { CollectorConfig } from '../../src/config/config.ts'
import { systemTime } from '../../src/edge/time.ts'
import { Fault } from '../../src/model/fault.ts'
import { hourAt } from '../../src/model/hour.ts'
import { ProcessRunner, type RunnerDeps } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { LeapingTime } from '../support/leaping-time.ts'
import { untilTrue } from '../support/until-true.ts'

export const hour = hourAt(Date.UTC(2026, 10, 20, 13))

const fixtures = fileURLToPath(new URL('./fixtures/tidegauge.yaml', import.meta.url))

/** A configured collector; `use` is seen from `test/runner/fixtures` unless another configuration file is named. */
export function configured(
  use: string,
  parts: Partial<CollectorConfig> & { readonly file?: string } = {},
): CollectorConfig {
  const { file = fixtures, ...rest } = parts
  const place = { file, line: 1, column: 1 }
  return { id: `tests/${use}`, protocolId: 'tests', use, options: {}, place, placeOf: () => place, ...rest }
}

export interface Line {
  readonly collector: string
  readonly level: string
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** A runner that ends with the test, and what it logs. Its deadline is one that nothing here but the hung ones reaches. */
export function testRunner(parts: Partial<RunnerDeps> = {}): {
  readonly runner: Runner
  readonly lines: readonly Line[]
  /** Resolves once collectors have printed a text so many times. */
  printed(text: string, times?: number): Promise<void>
} {
  const lines: Line[] = []
  const printed = async (text: string, times = 1) => {
    await untilTrue(() => lines.filter(({ message }) => message === text).length >= times)
  }
  const runner = new ProcessRunner({
    chains: {},
    deadlineMs: 60_000,
    time: systemTime,
    log: (collector, level, message, facts) => void lines.push({ collector, level, message, facts }),
    ...parts,
  })
  onTestFinished(() => runner.stop())
  return { runner, lines, printed }
}

/** Such a runner whose time a test sets ahead, by the deadline and once what it waits for has begun. */
export function leapingRunner(parts: Partial<RunnerDeps> = {}) {
  const time = new LeapingTime()
  // A slow machine takes long to end a run by its signal.
  const tested = testRunner({ ...parts, time, limits: { graceMs: 100_000, ...parts.limits } })
  return { ...tested, time, passDeadline: () => time.leap(60_000) }
}

/** The fault a promise rejects with. */
export async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('it did not reject')
}
