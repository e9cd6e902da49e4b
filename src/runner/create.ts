import type { Chains } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import { Fault, faultFromRecord } from '../model/fault.ts'
import type { Time } from '../time.ts'
import { createAlone } from './alone.ts'
import { CollectorChild, type Lost } from './child.ts'
import { type RunnerLimits, runnerLimits } from './limits.ts'
import type { CollectorRef, LogLevel, LogLine, Task, TaskEnd } from './messages.ts'
import type { Runner } from './runner.ts'
import { createShared } from './shared.ts'

/** What a runner needs of the daemon. */
export interface RunnerEdge {
  readonly chains: Chains
  /** For one collector and hour, or for loading one collector. */
  readonly deadlineMs: number
  readonly time: Time
  /** A line of a collector, or of a process as a whole (collectorId is then empty). `facts` are plain values. */
  readonly log: (
    collectorId: string,
    level: LogLevel,
    message: string,
    facts: Readonly<Record<string, unknown>>,
  ) => void
  readonly limits?: Partial<RunnerLimits>
}

type Done = Exclude<TaskEnd, { kind: 'faulted' }>

/**
 * Runs collectors in one process that all share. When that ends or stops answering, what was under way is run again,
 * each collector alone in a process of its own, so that only the culprit fails; a culprit runs alone until it succeeds.
 */
export function createRunner({ chains, deadlineMs, time, log, limits: own }: RunnerEdge): Runner {
  const limits = { ...runnerLimits, ...own }
  const culprits = new Set<string>()
  const refs = new WeakMap<CollectorConfig, CollectorRef>()
  const stopping = new AbortController()

  function start(pinged: boolean): CollectorChild {
    const write = (line: LogLine) => log(line.collectorId, line.level, line.message, line.facts)
    return new CollectorChild({ chains, deadlineMs, limits, time, log: write, pinged })
  }

  const shared = createShared(() => start(true), limits.idleMsMax, time, stopping.signal)
  const alone = createAlone(() => start(false), limits.aloneMax, stopping.signal)

  async function runAlone(task: Task): Promise<TaskEnd> {
    const { id, use } = task.collector
    const end = await alone.run(task, culprits.has(id))
    if (end.kind !== 'lost') {
      culprits.delete(id)
      return end
    }
    stopping.signal.throwIfAborted()
    culprits.add(id)
    throw endedFault(use, end)
  }

  async function perform(task: Task): Promise<Done> {
    stopping.signal.throwIfAborted()
    const first: TaskEnd | Lost | undefined = culprits.has(task.collector.id) ? undefined : await shared.run(task)
    if (first?.kind === 'lost') stopping.signal.throwIfAborted()
    const end = first === undefined || first.kind === 'lost' ? await runAlone(task) : first
    if (end.kind === 'faulted') throw faultFromRecord(end.fault)
    return end
  }

  /** The same for the same collector: what is said twice in one message travels, and is prepared, once. */
  function refOf(collector: CollectorConfig): CollectorRef {
    const { id, use, options, place } = collector
    const ref = refs.get(collector) ?? { id, use, options, configFile: place.file }
    refs.set(collector, ref)
    return ref
  }

  return {
    async describe(collector) {
      const end = await perform({ kind: 'describe', collector: refOf(collector) })
      if (end.kind !== 'described') throw mismatch(end.kind)
      return end.description
    },
    async collect(collector, hour) {
      const end = await perform({ kind: 'collect', collector: refOf(collector), hour })
      if (end.kind !== 'collected') throw mismatch(end.kind)
      return end.outcome
    },
    async stop() {
      stopping.abort(new Fault('stopped', 'the collectors have been stopped'))
      await Promise.all([shared.stop(), alone.stop()])
    },
  }
}

function endedFault(use: string, { how, fix }: Lost): Fault {
  return new Fault('collector-hung', `collector ${use} gave no answer: its process ${how}`, {
    fix: fix ?? 'look for an endless loop, process.exit, or memory that only grows',
  })
}

function mismatch(kind: string): Fault {
  return new Fault('collector-unusable', `a process answered "${kind}" to something else`)
}
