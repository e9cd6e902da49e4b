import { dirname } from 'node:path'
import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { OptionSecret } from '../../config/option-secrets.ts'
import type { Time } from '../../edge/time.ts'
import { Fault, faultFromRecord } from '../../model/fault.ts'
import { type RunnerLimits, runnerLimits } from '../limits.ts'
import type { ChildLogLevel, CollectorRef, DescribedToDaemon, LogLine, Task, TaskEnd } from '../messages.ts'
import { originOf } from '../origin.ts'
import type { DescribeResult, Runner } from '../runner.ts'
import { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import { declaredPaths } from './declared.ts'
import { createIsolatedProcess } from './isolated-process.ts'
import { Meeting } from './meeting.ts'
import { groupOf, Processes, type ProcessGroup } from './processes.ts'
import { readablePaths } from './readable.ts'
import { knowsNone, type Redacting, redactedEnd, redactedLine } from './redacting.ts'
import { declaredSecrets, RunSecrets } from './secrets.ts'

/** Dependencies of a runner on the daemon. */
export interface RunnerDeps {
  readonly chains: Chains
  /** Time limit for one collector and hour, or for loading one collector, in milliseconds. */
  readonly deadlineMs: number
  readonly time: Time
  /** Files and folders, with all below them, that no collector may read. Default: none. */
  readonly hidden?: readonly string[]
  /** Writes a line of a collector, or of a process as a whole (collectorId is then empty). `facts` are plain values. */
  readonly log: (
    collectorId: string,
    level: ChildLogLevel,
    message: string,
    facts: Readonly<Record<string, unknown>>,
  ) => void
  readonly limits?: Partial<RunnerLimits>
  /** Removes secrets from all output of collectors. Default: no secret is known. */
  readonly redactor?: Redacting
}

/** Paths and secrets that a collector's options declare and its process is given. */
interface Given {
  readonly paths: readonly string[]
  readonly secrets: readonly OptionSecret[]
}

const nothing: Given = { paths: [], secrets: [] }

type Done = Exclude<TaskEnd, { kind: 'faulted' }>

/**
 * Runs collectors in processes: one shared by all collectors shipped with the daemon, and one for each file or package
 * of one's own. When a process ends or stops answering, its runs are repeated, each collector alone in a process of its
 * own, so that only the culprit fails; a culprit runs alone until it succeeds.
 */
export function createRunner(deps: RunnerDeps): Runner {
  const { chains, deadlineMs, time, log, hidden = [], limits: own, redactor = knowsNone } = deps
  const limits = { ...runnerLimits, ...own }
  const culprits = new Set<string>()
  const refs = new WeakMap<CollectorConfig, CollectorRef>()
  const stopping = new AbortController()
  const meeting = new Meeting(time)
  const runSecrets = new RunSecrets(redactor)

  async function start(group: ProcessGroup, pinged: boolean): Promise<CollectorChild> {
    const write = (line: LogLine) => {
      const { collectorId, level, message, facts } = redactedLine(line, redactor)
      log(collectorId, level, message, facts)
    }
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
  const alone = createIsolatedProcess(group => start(group, false), limits.aloneMax, stopping.signal)
  /** Declarations of each collector, once it has been described. */
  const known = new WeakMap<CollectorRef, Promise<Given>>()

  async function runAlone(task: Task, group: ProcessGroup): Promise<TaskEnd> {
    const { id, use } = task.collector
    const end = await alone.run(task, group, culprits.has(id))
    if (end.kind !== 'lost') {
      // A successful description says nothing about collecting.
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
    const said = first === undefined || first.kind === 'lost' ? await runAlone(task, group) : first
    const end = redactedEnd(said, redactor)
    if (end.kind === 'faulted') throw faultFromRecord(end.fault)
    return end
  }

  /**
   * The reference of a collector; the same object for the same collector, so that a message holds it once and it is
   * loaded once.
   */
  function refOf(collector: CollectorConfig): CollectorRef {
    const { id, use, options, place } = collector
    const ref = refs.get(collector) ?? { id, use, options, configFile: place.file }
    refs.set(collector, ref)
    return ref
  }

  async function describe(ref: CollectorRef): Promise<DescribeResult> {
    const end = await perform({ kind: 'describe', collector: ref }, [])
    if (end.kind !== 'described') throw mismatch(end.kind)
    const { given, mistakes } = await givenTo(ref, end.description)
    known.set(ref, Promise.resolve(given))
    if (mistakes.length > 0) return { kind: 'mistaken', mistakes }
    if (end.description.kind === 'mistaken') return end.description
    const { metrics, history } = end.description
    return { kind: 'usable', metrics, history, ...(given.secrets.length > 0 && { secrets: given.secrets }) }
  }

  async function givenTo(ref: CollectorRef, description: DescribedToDaemon) {
    if (description.kind === 'mistaken') return { given: nothing, mistakes: [] }
    const { declared: said } = description
    const secrets = declaredSecrets(ref, description.secrets)
    if (originOf(ref).kind === 'shipped') return { given: { paths: said, secrets }, mistakes: [] }
    const { given: paths, mistakes } = await declaredPaths(ref, said, hidden)
    return { given: { paths, secrets }, mistakes }
  }

  /** Declarations of a collector, describing it first if needed. Many hours of it share the wait. */
  function givenOf(ref: CollectorRef): Promise<Given> {
    const given = known.get(ref)
    if (given) return given
    const described = describe(ref).then(() => known.get(ref) ?? nothing)
    known.set(ref, described)
    described.catch(() => known.delete(ref))
    return described
  }

  return {
    describe: collector => describe(refOf(collector)),
    async collect(collector, hour) {
      const ref = refOf(collector)
      const { paths, secrets } = await givenOf(ref)
      const own = runSecrets.refWith(ref, secrets, collector)
      const end = await perform({ kind: 'collect', collector: own, hour }, paths)
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
