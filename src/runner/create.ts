import { dirname } from 'node:path'
import type { Chains } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import { Fault, faultFromRecord } from '../model/fault.ts'
import type { Time } from '../time.ts'
import { createAlone } from './alone.ts'
import { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import { type Declared, declaredPaths } from './declared.ts'
import { originOf } from './find.ts'
import { type RunnerLimits, runnerLimits } from './limits.ts'
import { Meeting } from './meeting.ts'
import type { CollectorRef, Described, LogLevel, LogLine, Task, TaskEnd } from './messages.ts'
import { type Group, groupOf, Processes } from './processes.ts'
import { readablePaths } from './readable.ts'
import type { Description, Runner } from './runner.ts'

/** What a runner needs of the daemon. */
export interface RunnerEdge {
  readonly chains: Chains
  /** For one collector and hour, or for loading one collector. */
  readonly deadlineMs: number
  readonly time: Time
  /** Files and folders that no collector may read, with what is below them. Default: none. */
  readonly hidden?: readonly string[]
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
 * Runs collectors in processes: one that all share that came with the daemon, and one for each file or package of one's
 * own. When a process ends or stops answering, what was under way is run again, each collector alone in a process of its
 * own, so that only the culprit fails; a culprit runs alone until it succeeds.
 */
export function createRunner({ chains, deadlineMs, time, log, hidden = [], limits: own }: RunnerEdge): Runner {
  const limits = { ...runnerLimits, ...own }
  const culprits = new Set<string>()
  const refs = new WeakMap<CollectorConfig, CollectorRef>()
  const stopping = new AbortController()
  const meeting = new Meeting(time)

  async function start(group: Group, pinged: boolean): Promise<CollectorChild> {
    const write = (line: LogLine) => log(line.collectorId, line.level, line.message, line.facts)
    const reads = await readablePaths({ ...group, hidden })
    const folder = dirname(group.configFile)
    return new CollectorChild({ chains, deadlineMs, limits, time, log: write, meeting, reads, folder, pinged })
  }

  const processes = new Processes({
    start: group => start(group, true),
    idleMsMax: limits.idleMsMax,
    processesMax: limits.sharedMax,
    time,
    stopping: stopping.signal,
  })
  const alone = createAlone(group => start(group, false), limits.aloneMax, stopping.signal)
  /** Paths that are given to a collector, once it has been described. */
  const declared = new WeakMap<CollectorRef, Promise<readonly string[]>>()

  async function runAlone(task: Task, group: Group): Promise<TaskEnd> {
    const { id, use } = task.collector
    const end = await alone.run(task, group, culprits.has(id))
    if (end.kind !== 'lost') {
      // That it can be described says nothing of how it collects.
      if (task.kind === 'collect') culprits.delete(id)
      return end
    }
    stopping.signal.throwIfAborted()
    culprits.add(id)
    throw endedFault(use, end)
  }

  async function perform(task: Task, given: readonly string[]): Promise<Done> {
    stopping.signal.throwIfAborted()
    const group = groupOf(task.collector, given)
    const isCulprit = culprits.has(task.collector.id)
    const first: TaskEnd | Lost | undefined = isCulprit ? undefined : await processes.run(task, group)
    if (first?.kind === 'lost') stopping.signal.throwIfAborted()
    const end = first === undefined || first.kind === 'lost' ? await runAlone(task, group) : first
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

  async function describe(ref: CollectorRef): Promise<Description> {
    const end = await perform({ kind: 'describe', collector: ref }, [])
    if (end.kind !== 'described') throw mismatch(end.kind)
    const { given, mistakes } = await givenTo(ref, end.description)
    declared.set(ref, Promise.resolve(given))
    if (mistakes.length > 0) return { kind: 'mistaken', mistakes }
    if (end.description.kind === 'mistaken') return end.description
    const { metrics, history } = end.description
    return { kind: 'usable', metrics, history }
  }

  async function givenTo(ref: CollectorRef, description: Described): Promise<Declared> {
    if (description.kind === 'mistaken') return { given: [], mistakes: [] }
    const { declared: said } = description
    return originOf(ref).kind === 'shipped' ? { given: said, mistakes: [] } : declaredPaths(ref, said, hidden)
  }

  /** Of one that has not been described: it is now. Many hours of it wait for the same. */
  function pathsOf(ref: CollectorRef): Promise<readonly string[]> {
    const known = declared.get(ref)
    if (known) return known
    const described = describe(ref).then(() => declared.get(ref) ?? [])
    declared.set(ref, described)
    described.catch(() => declared.delete(ref))
    return described
  }

  return {
    describe: collector => describe(refOf(collector)),
    async collect(collector, hour) {
      const ref = refOf(collector)
      const end = await perform({ kind: 'collect', collector: ref, hour }, await pathsOf(ref))
      if (end.kind !== 'collected') throw mismatch(end.kind)
      return end.outcome
    },
    async stop() {
      stopping.abort(new Fault('stopped', 'the collectors have been stopped'))
      await Promise.all([processes.stop(), alone.stop()])
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
