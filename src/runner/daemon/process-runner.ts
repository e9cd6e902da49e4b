import type { CollectorConfig, OptionSecret } from '../../config/config.ts'
import { readOption } from '../../config/secret.ts'
import { Fault, faultFromRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { CollectorRef, DescribedToDaemon, LogLine, Priced, Task, TaskEnd } from '../messages.ts'
import { originOf } from '../origin.ts'
import type { DescribeResult, Runner, RunOutcome } from '../runner.ts'
import { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import { declaredPaths } from './declared.ts'
import { HostLimits } from './host-limits.ts'
import { createIsolatedProcess, type IsolatedProcess } from './isolated-process.ts'
import { type RunnerLimits, runnerLimits } from './limits.ts'
import { Meeting } from './meeting.ts'
import { Prices } from './prices.ts'
import { groupOf, Processes, type ProcessGroup, requireFile } from './processes.ts'
import { ProvenanceSource } from './provenance-source.ts'
import { type PackageWalks, readablePaths } from './readable.ts'
import { knowsNone, type Redacting, redactedEnd, redactedLine } from './redacting.ts'
import type { RunnerDeps } from './runner-deps.ts'
import { declaredSecrets, RunSecrets } from './secrets.ts'
import { startProcess } from './start-process.ts'
import type { StartedProcess } from './started-process.ts'

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
export class ProcessRunner implements Runner {
  readonly #deps: RunnerDeps
  readonly #limits: RunnerLimits
  readonly #hidden: readonly string[]
  readonly #redactor: Redacting
  readonly #meeting: Meeting
  readonly #prices: Prices
  readonly #hosts: HostLimits
  readonly #runSecrets: RunSecrets
  readonly #provenance: ProvenanceSource
  readonly #processes: Processes
  readonly #alone: IsolatedProcess
  readonly #walks: PackageWalks = new Map()
  readonly #stopping = new AbortController()
  /** Ids of collectors that ended their process; they run alone. */
  readonly #culprits = new Set<string>()
  readonly #refs = new WeakMap<CollectorConfig, CollectorRef>()
  /** Declarations of each collector, once it has been described. */
  readonly #known = new WeakMap<CollectorRef, Promise<Given>>()

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#limits = { ...runnerLimits, ...deps.limits }
    this.#hidden = deps.hidden ?? []
    this.#redactor = deps.redactor ?? knowsNone
    this.#provenance = new ProvenanceSource(deps.chains)
    const meeting = new Meeting(deps.time)
    this.#meeting = meeting
    const read = (price: CollectorConfig, hour: Hour) => this.#price(price, hour)
    this.#prices = new Prices({ prices: deps.prices ?? {}, read, meeting, time: deps.time })
    this.#hosts = new HostLimits(deps.time, this.#limits)
    this.#runSecrets = new RunSecrets(this.#redactor, deps.readSecret ?? readOption)
    const stopping = this.#stopping.signal
    const { idleMsMax, sharedMax: processesMax, aloneMax } = this.#limits
    const start = (group: ProcessGroup) => this.#start(group, true)
    this.#processes = new Processes({ start, idleMsMax, processesMax, time: deps.time, stopping })
    this.#alone = createIsolatedProcess(group => this.#start(group, false), aloneMax, stopping)
  }

  describe(collector: CollectorConfig): Promise<DescribeResult> {
    return this.#describe(this.#refOf(collector))
  }

  /** JSON Schema of a collector's options, for editors. Rejects with Fault `collector-unusable` or `collector-hung`. */
  async optionsSchema(collector: CollectorConfig): Promise<unknown> {
    const end = await this.#perform({ kind: 'schema', collector: this.#refOf(collector) }, [])
    if (end.kind !== 'schema') throw mismatch(end.kind)
    return end.schema
  }

  async collect(collector: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    const end = await this.#performOn('collect', collector, hour)
    if (end.kind !== 'collected') throw mismatch(end.kind)
    const { outcome } = end
    return { ...outcome, provenance: this.#provenance.of(this.#refOf(collector), hour, outcome.pins) }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Fault('stopped', 'the collectors have been stopped'))
    const { warm, leavesWarm } = this.#deps
    const keep = warm && leavesWarm ? (key: string, one: StartedProcess) => warm.put(key, one) : undefined
    await Promise.all([this.#processes.stop(keep), this.#alone.stop()])
  }

  async #price(collector: CollectorConfig, hour: Hour): Promise<Priced> {
    const end = await this.#performOn('price', collector, hour)
    if (end.kind !== 'priced') throw mismatch(end.kind)
    return end.price
  }

  async #performOn(kind: 'collect' | 'price', collector: CollectorConfig, hour: Hour): Promise<Done> {
    const ref = this.#refOf(collector)
    const { paths, secrets } = await this.#givenOf(ref)
    const own = this.#runSecrets.refWith(ref, secrets, collector)
    return this.#perform({ kind, collector: own, hour }, paths)
  }

  async #start(group: ProcessGroup, pinged: boolean): Promise<CollectorChild> {
    const { chains, deadlineMs, time, log, interceptor, isGuarded } = this.#deps
    const write = (line: LogLine) => {
      const { collectorId, level, message, facts } = redactedLine(line, this.#redactor)
      log(collectorId, level, message, facts)
    }
    const [limits, meeting, prices, hosts] = [this.#limits, this.#meeting, this.#prices, this.#hosts]
    const shared = { chains, deadlineMs, limits, time, meeting, prices, interceptor, isGuarded, hosts }
    const started = this.#deps.warm?.take(group.key) ?? (await this.#started(group))
    return new CollectorChild({ ...shared, log: write, pinged }, started)
  }

  async #started(group: ProcessGroup): Promise<StartedProcess> {
    const { configFolders = [] } = this.#deps
    const permitted = await readablePaths({ ...group, hidden: this.#hidden, configFolders }, this.#walks)
    const { heapMbMax, memoryMbMax } = this.#limits
    return startProcess(group, { ...permitted, heapMbMax, memoryMbMax })
  }

  async #runAlone(task: Task, group: ProcessGroup): Promise<TaskEnd> {
    const { id, use } = task.collector
    const end = await this.#alone.run(task, group, this.#culprits.has(id))
    if (end.kind !== 'lost') {
      // A successful description says nothing about collecting.
      if ('hour' in task) this.#culprits.delete(id)
      return end
    }
    this.#stopping.signal.throwIfAborted()
    this.#culprits.add(id)
    throw endedFault(use, end)
  }

  async #perform(task: Task, given: readonly string[]): Promise<Done> {
    const { signal } = this.#stopping
    signal.throwIfAborted()
    requireFile(task.collector)
    const group = groupOf(task.collector, given)
    const isCulprit = this.#culprits.has(task.collector.id)
    const first: TaskEnd | Lost | undefined = isCulprit ? undefined : await this.#processes.run(task, group)
    if (first?.kind === 'lost') signal.throwIfAborted()
    const said = first === undefined || first.kind === 'lost' ? await this.#runAlone(task, group) : first
    const end = redactedEnd(said, this.#redactor)
    if (end.kind === 'faulted') throw faultFromRecord(end.fault)
    return end
  }

  /**
   * The reference of a collector; the same object for the same collector, so that a message holds it once and it is
   * loaded once.
   */
  #refOf(collector: CollectorConfig): CollectorRef {
    const { id, use, options, place, deadlineMs } = collector
    const made = { id, use, options, configFile: place.file, ...(deadlineMs !== undefined && { deadlineMs }) }
    const ref = this.#refs.get(collector) ?? made
    this.#refs.set(collector, ref)
    return ref
  }

  async #describe(ref: CollectorRef): Promise<DescribeResult> {
    const end = await this.#perform({ kind: 'describe', collector: ref }, [])
    if (end.kind !== 'described') throw mismatch(end.kind)
    const { given, mistakes } = await this.#givenTo(ref, end.description)
    this.#known.set(ref, Promise.resolve(given))
    if (mistakes.length > 0) return { kind: 'mistaken', mistakes }
    if (end.description.kind === 'mistaken') return end.description
    const { metrics, history } = end.description
    return { kind: 'usable', metrics, history, ...(given.secrets.length > 0 && { secrets: given.secrets }) }
  }

  async #givenTo(ref: CollectorRef, description: DescribedToDaemon) {
    if (description.kind === 'mistaken') return { given: nothing, mistakes: [] }
    const { declared: said } = description
    const secrets = declaredSecrets(ref, description.secrets)
    if (originOf(ref).kind === 'shipped') return { given: { paths: said, secrets }, mistakes: [] }
    const { given: paths, mistakes } = await declaredPaths(ref, said, this.#hidden)
    return { given: { paths, secrets }, mistakes }
  }

  /** Declarations of a collector, describing it first if needed. Many hours of it share the wait. */
  #givenOf(ref: CollectorRef): Promise<Given> {
    const given = this.#known.get(ref)
    if (given) return given
    const described = this.#describe(ref).then(() => this.#known.get(ref) ?? nothing)
    this.#known.set(ref, described)
    described.catch(() => this.#known.delete(ref))
    return described
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
