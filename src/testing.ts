/**
 * Tests of collectors: `import { collectorContract, record, replay } from 'tidegauge/testing'`. They run with any test
 * runner; none but that of Node is imported.
 */
import { type ContractRun, collectorContract } from './testing/collector-contract.ts'
import { type RecordedRun, record } from './testing/record.ts'
import type { Recording } from './testing/recording.ts'
import { type ReplayedRun, replay } from './testing/replay.ts'
import type { TestRunner } from './testing/test-runner.ts'
import type { HourOf, TriedCollector } from './testing/tried-collector.ts'

export type { ContractRun, HourOf, RecordedRun, Recording, ReplayedRun, TestRunner, TriedCollector }
export { collectorContract, record, replay }
