import { createHash } from 'node:crypto'
import { findPackageJSON } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Chains } from '../../chain/reads.ts'
import {
  type CollectorConfig,
  type OptionMistake,
  type OptionSecret,
  secretId,
  secretsWritten,
} from '../../config/config.ts'
import { readOption } from '../../config/secret.ts'
import { shippedModules } from '../../edge/program-files.ts'
import { Semaphore } from '../../edge/semaphore.ts'
import type { Time } from '../../edge/time.ts'
import { version } from '../../edge/version.ts'
import { newestFinal, type PinnedBlock } from '../../model/block.ts'
import type { EarliestMs } from '../../model/clock.ts'
import { Fault, type FaultRecord, faultCodes, faultFromRecord } from '../../model/fault.ts'
import { secretPartsOf } from '../../model/host.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { isRecord } from '../../model/json.ts'
import type { ListKeeper } from '../../model/list-memory.ts'
import type { MetricSpec, Provenance } from '../../model/metric.ts'
import { peerText } from '../../model/text.ts'
import type {
  ChildLogLevel,
  CollectorRef,
  DescribedToDaemon,
  Listed,
  LogLine,
  Priced,
  Task,
  TaskEnd,
} from '../messages.ts'
import { originOf } from '../origin.ts'
import type { DescribeResult, Runner, RunOutcome } from '../runner.ts'
import { CollectorChild } from './child.ts'
import { type Lost, type Spawned, spawnChild } from './child-spawn.ts'
import { ForeignHostLimits, HostLimits } from './hosts.ts'
import { type RunnerLimits, runnerLimits } from './limits.ts'
import { configuredList, type ListHour, type ListSource, Lists } from './lists.ts'
import { LogHistories } from './logs-since.ts'
import { Prices } from './prices.ts'
import { LoneProcesses, Processes } from './processes.ts'
import { QuestionRoom } from './question-room.ts'
import type { ReadInterceptor } from './read-interceptor.ts'
import { NamedAnswers, QuestionBarrier } from './replies.ts'
import {
  codeTexts,
  foreignCode,
  groupOf,
  isHidden,
  isOfSystem,
  manifestOf,
  type PackageWalks,
  type ProcessGroup,
  readablePaths,
  requireFile,
} from './sandbox.ts'
import type { WarmProcesses } from './warm-processes.ts'

/** Paths and secrets that a collector's options declare and its process is granted. */
interface Granted {
  readonly paths: readonly string[]
  readonly secrets: readonly OptionSecret[]
}

const nothing: Granted = { paths: [], secrets: [] }

type Done = Exclude<TaskEnd, { kind: 'faulted' }>

/** A task of one hour, without its collector. */
type OfHour<T> = T extends { readonly hour: Hour } ? Omit<T, 'collector'> : never

/**
 * Runs collectors in processes: those shipped with the daemon share one, and so do those of a file or package of one's own,
 * as far as their options name the same paths (`groupOf`). When a process ends or stops answering, its runs are repeated,
 * each collector alone in a process of its own, so that only the culprit fails; a culprit runs alone until it succeeds.
 * Hours that lacked memory together are first repeated with fewer at once.
 */
export class ProcessRunner implements Runner {
  readonly #deps: RunnerDeps
  readonly #limits: RunnerLimits
  readonly #hidden: readonly string[]
  readonly #redactor: Redacting
  readonly #room = new QuestionRoom()
  readonly #barrier: QuestionBarrier
  readonly #prices: NamedAnswers<Priced>
  readonly #lists: Lists
  readonly #logHistories: LogHistories
  readonly #listAnswers: NamedAnswers<Listed>
  readonly #hosts: HostLimits
  readonly #provenance: ProvenanceSource
  /** As many processes start at once as there are processors: more would only wait for each other. */
  readonly #starts = new Semaphore(availableParallelism())
  readonly #processes: Processes
  readonly #alone: LoneProcesses
  readonly #walks: PackageWalks = new Map()
  readonly #stopping = new AbortController()
  /** Ids of collectors that ended their process; they run alone. */
  readonly #culprits = new Set<string>()
  /** Declarations of each collector, once it has been described. */
  readonly #known = new WeakMap<CollectorConfig, Promise<Granted>>()

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#limits = { ...runnerLimits, ...deps.limits }
    this.#hidden = deps.hidden ?? []
    this.#redactor = deps.redactor ?? knowsNone
    this.#provenance = new ProvenanceSource(deps.chains)
    const barrier = new QuestionBarrier(deps.time)
    this.#barrier = barrier
    const { chains, time, prices = {}, lists = {}, listKeeper: keeper, earliestMs = () => undefined } = deps
    const ofPrices = new Prices((reader, hour, tokens) => this.#readPrices(reader, hour, tokens))
    const price = (reader: CollectorConfig, hour: Hour, name: string) => ofPrices.read(reader, hour, name)
    this.#prices = new NamedAnswers({ kind: 'price', readers: prices, read: price, barrier, time })
    this.#lists = new Lists({
      ...{ chains, time, keeper },
      finalHour: ({ settleMs }) => newestFinal(settleMs, earliestMs(), hourAt(time.nowMs())),
    })
    const warn = (collectorId: string, sentence: string) => deps.log(collectorId, 'warn', sentence, {})
    this.#logHistories = new LogHistories({ chains, lists: this.#lists, time, stepMsMax: deps.deadlineMs, warn })
    const list = (one: CollectorConfig, hour: Hour) => this.#lists.read(this.#sourceOf(one), hour)
    this.#listAnswers = new NamedAnswers({ kind: 'list', readers: lists, read: list, barrier, time })
    this.#hosts = new HostLimits(deps.time, this.#limits)
    const stopSignal = this.#stopping.signal
    const { idleMsMax, sharedMax: processesMax, aloneMax } = this.#limits
    // Shipped code may be busy for long with many hours of a long list. It does not loop for ever.
    const start = (group: ProcessGroup) => this.#start(group, !group.isShipped)
    this.#processes = new Processes({ start, idleMsMax, processesMax, time: deps.time, stopSignal })
    this.#alone = new LoneProcesses(group => this.#start(group, false), aloneMax, stopSignal)
  }

  /** JSON Schema of a collector's options, for editors. Rejects with Fault `collector-unusable` or `collector-hung`. */
  async optionsSchema(collector: CollectorConfig): Promise<unknown> {
    const end = await this.#perform({ kind: 'schema', collector: refOf(collector) }, [])
    if (end.kind !== 'schema') throw mismatch(end.kind)
    return end.schema
  }

  async collect(collector: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    const end = await this.#performOn(collector, { kind: 'collect', hour })
    if (end.kind !== 'collected') throw mismatch(end.kind)
    const { outcome } = end
    return { ...outcome, provenance: this.#provenance.of(refOf(collector), hour, outcome.pins) }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Fault('stopped', 'the collectors have been stopped'))
    const { warm, leavesWarm } = this.#deps
    const keep = warm && leavesWarm ? (key: string, one: Spawned) => warm.put(key, one) : undefined
    await Promise.all([this.#processes.stop(keep), this.#alone.stop()])
  }

  async #readPrices(collector: CollectorConfig, hour: Hour, tokens: readonly string[]) {
    const end = await this.#performOn(collector, { kind: 'price', hour, tokens })
    if (end.kind !== 'priced') throw mismatch(end.kind)
    return end
  }

  async #readList(collector: CollectorConfig, at: ListHour): Promise<Listed> {
    const end = await this.#performOn(collector, { kind: 'list', ...at })
    if (end.kind !== 'listed') throw mismatch(end.kind)
    return end.list
  }

  #sourceOf(list: CollectorConfig): ListSource {
    const warn = (sentence: string) => this.#deps.log(list.id, 'warn', sentence, {})
    return configuredList(list, { run: at => this.#readList(list, at), warn })
  }

  async #performOn(collector: CollectorConfig, request: OfHour<Task>): Promise<Done> {
    const { paths, secrets } = await this.#grantedOf(collector)
    const read = secrets.length > 0 && { secrets: this.#secretsOf(collector, secrets) }
    return this.#perform({ ...request, collector: { ...refOf(collector), ...read } }, paths)
  }

  /** The present secrets of a collector, which the redactor knows before anything else happens. @throws Fault `secret-missing` */
  #secretsOf(collector: CollectorConfig, secrets: readonly OptionSecret[]): Readonly<Record<string, string>> {
    const { readSecret = readOption } = this.#deps
    const secretValues = secrets.map(
      secret => [secretId(secret.ref), readSecret(secret, collector.placeOf(secret.path))] as const,
    )
    this.#redactor.add(
      secretValues.flatMap(([, secret]) => [secret, ...secretPartsOf(secret)]),
      foreignCode(refOf(collector)) ?? collector.id,
    )
    return Object.fromEntries(secretValues)
  }

  /**
   * Takes out of a collector's words what is secret for it, or for code that it shares a process with. The secrets of others are
   * no reason to change its words.
   */
  #redactorOf(code: string | undefined, collectorId: string): Redact {
    return text => this.#redactor.redact(text, code ?? collectorId)
  }

  async #start(group: ProcessGroup, isPinged: boolean): Promise<CollectorChild> {
    const { chains, deadlineMs, time, log, interceptor, isGuarded } = this.#deps
    const write = (line: LogLine) => {
      const { collectorId, level } = line
      const redact = this.#redactorOf(group.code, collectorId)
      log(collectorId, level, redact(line.message), redacted(line.facts, redact))
    }
    const recentItems = async (name: string) => {
      const list = this.#deps.lists?.[name]
      return list ? this.#lists.recent(this.#sourceOf(list)) : []
    }
    const [logHistories, lists] = [this.#logHistories, this.#listAnswers]
    const answers = { prices: this.#prices, lists, recentItems, logHistories }
    const [limits, barrier] = [this.#limits, this.#barrier]
    const hosts = group.isShipped ? this.#hosts : new ForeignHostLimits(this.#hosts, time, limits)
    const shared = { ...answers, chains, deadlineMs, limits, time, barrier, interceptor, isGuarded, hosts }
    const room = group.isShipped ? undefined : this.#room
    const deps = { ...shared, log: write, isPinged, room }
    const warm = this.#deps.warm?.take(group.key)
    if (warm) return new CollectorChild(deps, warm, true)
    const { promise, resolve, reject } = Promise.withResolvers<CollectorChild>()
    // Not awaited to its end: runs are given to a process before it is ready.
    const childStart = this.#starts.with(this.#stopping.signal, async () => {
      const child = new CollectorChild(deps, await this.#started(group), false)
      resolve(child)
      await child.ready
    })
    childStart.catch(reject)
    return promise
  }

  async #started(group: ProcessGroup): Promise<Spawned> {
    const { configFolders = [] } = this.#deps
    const permissions = await readablePaths({ ...group, hiddenRoots: this.#hidden, configFolders }, this.#walks)
    const { heapMbMax, memoryMbMax } = this.#limits
    // Shipped code only opens what the configuration declares; no code of one's own runs in its process.
    const mayUseSqlite = group.isShipped && group.declaredPaths.length > 0
    const folder = dirname(group.configFile)
    return spawnChild({ ...permissions, heapMbMax, memoryMbMax, mayUseSqlite, folder })
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
    if (end.starved === undefined) this.#culprits.add(id)
    throw endedFault(use, end)
  }

  async #perform(task: Task, paths: readonly string[]): Promise<Done> {
    const { signal } = this.#stopping
    signal.throwIfAborted()
    requireFile(task.collector)
    const group = groupOf(task.collector, paths)
    const isCulprit = this.#culprits.has(task.collector.id)
    const first: TaskEnd | Lost | undefined = isCulprit ? undefined : await this.#processes.run(task, group)
    if (first?.kind === 'lost') signal.throwIfAborted()
    if (first?.kind === 'lost' && first.starved !== undefined) throw endedFault(task.collector.use, first)
    const said = first === undefined || first.kind === 'lost' ? await this.#runAlone(task, group) : first
    const end = redactedEnd(said, this.#redactorOf(group.code, task.collector.id))
    const { chains } = this.#deps
    if (end.kind === 'faulted') throw faultFromRecord(lateWords(end.fault, chains))
    if (end.kind !== 'collected') return end
    const { outcome } = end
    const failures = Object.entries(outcome.failures).map(
      ([label, fault]) => [label, lateWords(fault, chains)] as const,
    )
    return { ...end, outcome: { ...outcome, failures: Object.fromEntries(failures) } }
  }

  async describe(collector: CollectorConfig): Promise<DescribeResult> {
    const ref = refOf(collector)
    const end = await this.#perform({ kind: 'describe', collector: ref }, [])
    if (end.kind !== 'described') throw mismatch(end.kind)
    const { grant, mistakes } = await this.#grant(ref, end.description)
    this.#known.set(collector, Promise.resolve(grant))
    if (mistakes.length > 0) return { kind: 'mistaken', mistakes }
    if (end.description.kind === 'mistaken') return end.description
    const { metrics, history: readsPast } = end.description
    const history = readsPast && !this.#usesPresent(collector)
    return { kind: 'usable', metrics, history, ...(grant.secrets.length > 0 && { secrets: grant.secrets }) }
  }

  async doubtLists(collector: CollectorConfig): Promise<boolean> {
    const doubts = this.#listsOf(collector).map(async ([name, list]) => {
      const isForgotten = await this.#lists.doubt(this.#sourceOf(list))
      if (isForgotten) this.#listAnswers.forgetAll(name)
      return isForgotten
    })
    return (await Promise.all([...doubts, this.#logHistories.doubt(collector.id)])).includes(true)
  }

  /** Whether it is over a list whose source knows the present alone. */
  #usesPresent(collector: CollectorConfig): boolean {
    return this.#listsOf(collector).some(([, { options }]) => isRecord(options) && options['now'] === true)
  }

  /** The lists that its options name. */
  #listsOf({ options }: CollectorConfig): readonly (readonly [name: string, list: CollectorConfig])[] {
    const { lists = {} } = this.#deps
    const named = textsIn(options, []).flatMap(({ text, path }) => (path.at(-1) === 'each' ? [text] : []))
    return Object.entries(lists).filter(([name]) => named.includes(name))
  }

  async #grant(ref: CollectorRef, description: DescribedToDaemon) {
    if (description.kind === 'mistaken') return { grant: nothing, mistakes: [] }
    const { declared: pathIds } = description
    const secrets = declaredSecrets(ref, description.secrets)
    const isShipped = originOf(ref).kind === 'shipped'
    const { mayOpen = () => true } = this.#deps
    const { granted: paths, mistakes } = await declaredPaths(ref, pathIds, isShipped, async path => {
      if (!mayOpen(ref.configFile, path)) return foreignPath
      return isShipped ? undefined : refusal(path, this.#hidden)
    })
    return { grant: { paths, secrets }, mistakes }
  }

  /** Declarations of a collector, describing it first if needed. Many hours of it share the wait. */
  #grantedOf(collector: CollectorConfig): Promise<Granted> {
    const granted = this.#known.get(collector)
    if (granted) return granted
    const description = this.describe(collector).then(() => this.#known.get(collector) ?? nothing)
    this.#known.set(collector, description)
    description.catch(() => this.#known.delete(collector))
    return description
  }
}

/** The fault of a run that was too late, with the hosts that it waits for, and what to do about them. */
function lateWords(fault: FaultRecord, chains: Chains): FaultRecord {
  const { waitedFor } = fault.facts
  if (fault.code !== 'collector-hung' || typeof waitedFor !== 'string') return fault
  const waits = waitedFor.split(', ').map(name => {
    const chain = name.startsWith('chain ') ? chains[name.slice('chain '.length)] : undefined
    const hosts = chain?.hosts?.() ?? []
    return { name: hosts.length > 0 ? `${name} (${hosts.join(', ')})` : name, isChain: chain !== undefined }
  })
  const names = waits.map(({ name }) => name).join(', ')
  const step = waits.some(({ isChain }) => isChain)
    ? 'tidegauge doctor shows which endpoints answer'
    : 'see whether it answers'
  return {
    ...fault,
    message: `${fault.message} from ${names}`,
    facts: { ...fault.facts, waitedFor: names },
    fix: `${step}; a longer deadline: of the collector gives it more time`,
  }
}

function refOf({ id, use, options, place, deadlineMs }: CollectorConfig): CollectorRef {
  return { id, use, options, configFile: place.file, ...(deadlineMs !== undefined && { deadlineMs }) }
}

function endedFault(use: string, { how: ending, fix, starved }: Lost): Fault {
  if (starved !== undefined)
    return new Fault('machine-busy', `${starved}: the process of collector ${use} ${ending}`, {
      fix: 'end what else needs its processors, or give this container more of them',
    })
  return new Fault('collector-hung', `collector ${use} gave no answer: its process ${ending}`, {
    fix: fix ?? 'look for an endless loop, process.exit, or memory that only grows',
  })
}

function mismatch(kind: string): Fault {
  return new Fault('collector-unusable', `a process answered "${kind}" to something else`)
}

/** Dependencies of a runner on the daemon. */
export interface RunnerDeps {
  readonly chains: Chains
  /** The configured prices by name, and the readers of tokens by the chain's name and a slash. Default: none. */
  readonly prices?: Readonly<Record<string, CollectorConfig>>
  /** The configured lists by name. Default: none. */
  readonly lists?: Readonly<Record<string, CollectorConfig>>
  /** Keeps what they have read. Default: nothing is kept. */
  readonly listKeeper?: ListKeeper | undefined
  /** Time limit for one collector and hour, unless it has its own, or for loading one collector, in milliseconds. */
  readonly deadlineMs: number
  readonly time: Time
  /** The earliest that the present can be, as in `isFinal`. Default: not known, so that nothing is remembered. */
  readonly earliestMs?: () => EarliestMs | undefined
  /** Files and folders, with all below them, that no collector may read. Default: none. */
  readonly hidden?: readonly string[]
  /** Whether the options in a file of the configuration may name a path. Default: any. */
  readonly mayOpen?: (configFile: string, path: string) => boolean
  /** Folders whose YAML files no collector may read. Default: that of the file that uses the collector. */
  readonly configFolders?: readonly string[]
  /** Writes a line of a collector, or of a process as a whole (collectorId is then empty). `facts` are plain values. */
  readonly log: (
    collectorId: string,
    level: ChildLogLevel,
    message: string,
    facts: Readonly<Record<string, unknown>>,
  ) => void
  /** Overrides for tests. Default: `runnerLimits`. */
  readonly limits?: Partial<RunnerLimits>
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor
  /** Whether a run fails that connects past the daemon, as by `fetch`: no interceptor sees that. Default: no. */
  readonly isGuarded?: boolean
  /** Reads a secret of a collector's options. Default: from where the configuration says that it is kept. */
  readonly readSecret?: typeof readOption
  /** Removes secrets from all output of collectors. Default: no secret is known. */
  readonly redactor?: Redacting
  /** Processes to take in place of a start. Default: none. */
  readonly warm?: WarmProcesses
  /** Whether it leaves its processes there when it is stopped. Default: they are ended. */
  readonly leavesWarm?: boolean
}

/** The secrets a collector claims its options declare, as far as a person has written them there. */
function declaredSecrets(
  { options, configFile }: Pick<CollectorRef, 'options' | 'configFile'>,
  said: readonly string[],
): readonly OptionSecret[] {
  return secretsWritten(options, configFile).filter(({ ref }) => said.includes(secretId(ref)))
}

/** Declared paths that a process may read, and mistakes in others. */
interface PathsChecked {
  /** Absolute paths that the process may read. */
  readonly granted: readonly string[]
  readonly mistakes: readonly OptionMistake[]
}

/**
 * Checks the paths a collector claims its options declare against the configuration: its code could claim any. Only
 * paths that a person has written there, and that are not hidden, are accepted, and the defaults of shipped collectors.
 */
async function declaredPaths(
  { options, configFile }: Pick<CollectorRef, 'options' | 'configFile'>,
  declarations: readonly string[],
  isShipped: boolean,
  refusalOf: (path: string) => Promise<string | undefined>,
): Promise<PathsChecked> {
  const pathsInOptions = new Map(
    textsIn(options, []).map(({ text, path }) => [resolve(dirname(configFile), text), path]),
  )
  const meant = declarations.filter(path => pathsInOptions.has(path))
  const refusals = await Promise.all(meant.map(async path => ({ path, message: await refusalOf(path) })))
  return {
    granted: [
      ...refusals.flatMap(({ path, message }) => (message === undefined ? [path] : [])),
      ...(isShipped ? declarations.filter(path => !pathsInOptions.has(path)) : []),
    ],
    mistakes: refusals.flatMap(({ path, message }) =>
      message === undefined ? [] : [{ path: pathsInOptions.get(path) ?? [], message }],
    ),
  }
}

/** The mistake of a path in the options of an included file. */
const foreignPath =
  'leads out of the folder of this file, which the main file includes: only what it names under secrets: of include may be elsewhere'

async function refusal(path: string, hidden: readonly string[]): Promise<string | undefined> {
  if (await isHidden(path, hidden))
    return 'leads to a path that no collector may read: the configuration, a file of a secret, or the data'
  return isOfSystem(path)
    ? 'leads into /proc, /sys or /dev, where every process and device can be read; single files such as /proc/meminfo may be named'
    : undefined
}

interface WrittenText {
  readonly text: string
  readonly path: OptionMistake['path']
}

function textsIn(value: unknown, path: OptionMistake['path']): WrittenText[] {
  if (typeof value === 'string') return [{ text: value, path }]
  if (Array.isArray(value)) return value.flatMap((part, index) => textsIn(part, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, part]) => textsIn(part, [...path, name]))
}

/** Removes known secrets from texts. */
interface Redacting {
  /** Makes secrets of an owner known. */
  add(secrets: readonly string[], owner: string): void
  /** Replaces in a text those of an owner, and those that concern all. */
  redact(text: string, owner: string): string
}

/** Replaces secrets in a text. */
type Redact = (text: string) => string

/** Default of a runner: no secret is known. */
const knowsNone: Redacting = { add: () => {}, redact: text => text }

/** The end of a run without secrets, which a collector may have put into any text of it. */
function redactedEnd(end: TaskEnd, redact: Redact): TaskEnd {
  switch (end.kind) {
    case 'schema':
    case 'listed':
      // Made without secrets, and addresses alone.
      return end
    case 'priced':
      return { ...end, prices: redacted(end.prices, redact) }
    case 'faulted':
      return { ...end, fault: redacted(end.fault, redact) }
    case 'collected': {
      const { pins, ...said } = end.outcome
      return { ...end, outcome: { ...redacted(said, redact), pins } }
    }
    case 'described': {
      const { description } = end
      if (description.kind === 'mistaken') {
        const mistakes = description.mistakes.map(one => ({ ...one, message: redact(one.message) }))
        return { ...end, description: { kind: 'mistaken', mistakes } }
      }
      for (const [label, spec] of Object.entries(description.metrics)) refuseSecret(label, spec, redact)
      return end
    }
  }
}

/** Codes of faults stay as they are, whatever a secret is. */
const knownCodes: ReadonlySet<string> = new Set(faultCodes)

/** A plain value without secrets in its texts and names: an undeclared label may be any text. */
function redacted<T>(value: T, redact: Redact): T
function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return knownCodes.has(value) ? value : peerText(redact(value))
  if (Array.isArray(value)) return value.map(part => redacted(part, redact))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [redact(name), redacted(part, redact)]))
}

/** Refuses a declaration that contains a secret: it would be sent to the service unchanged. */
function refuseSecret(label: string, { unit = '', module = '' }: MetricSpec, redact: Redact): void {
  if ([label, unit, module].every(text => redact(text) === text)) return
  throw new Fault('collector-unusable', `a secret is part of the declaration of its metric ${redact(label)}`, {
    fix: 'build labels, units and modules without secrets',
  })
}

/** Characters of a digest: enough that no two versions of a collector have the same. */
const digestChars = 12

/** Origin of the values of runs: digests of code and options, and the hosts that served the hour. */
export class ProvenanceSource {
  readonly #chains: Chains

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** Origin of a run's values. @param pins blocks that it has read */
  of(ref: CollectorRef, hour: Hour, pins: readonly PinnedBlock[]): Provenance {
    const hosts = Object.values(this.#chains).flatMap(chain => {
      const host = pins.some(({ chainId }) => chainId === chain.id) ? chain.servedBy?.(hour) : undefined
      return host === undefined ? [] : [[String(chain.id), host] as const]
    })
    return { ...this.present(ref), hosts: Object.fromEntries(hosts) }
  }

  /** Origin of the values of a run that would begin now, without its hosts. @param code digest of its code, where it is known */
  present(ref: CollectorRef, code: string = this.#codeOf(ref)): Omit<Provenance, 'hosts'> {
    return { version, code, options: digestOf(JSON.stringify(sorted(ref.options))) }
  }

  #codeOf(ref: CollectorRef): string {
    const origin = originOf(ref)
    switch (origin.kind) {
      case 'shipped':
        return digestOf(
          ...codeTexts(fileURLToPath(new URL(`${ref.use}${shippedModules.extension}`, shippedModules.url))),
        )
      case 'file':
        return digestOf(...codeTexts(origin.file))
      case 'package':
        return packageVersion(origin.name, ref.configFile)
    }
  }
}

/** Definitions of collectors, as they must be the same in all daemons of a fleet: digests of their code and options. */
export function definitionsOf(
  collectors: readonly CollectorConfig[],
): readonly { readonly collector: string; readonly digest: Buffer }[] {
  const [provenance, codes] = [new ProvenanceSource({}), new Map<string, string>()]
  return collectors.map(collector => {
    const ref = refOf(collector)
    // Thousands of collectors may share a file.
    const file = `${ref.configFile} ${ref.use}`
    const { code, options } = provenance.present(ref, codes.get(file))
    codes.set(file, code)
    return { collector: collector.id, digest: Buffer.from(`${code} ${options}`) }
  })
}

function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length} `).update(text)
  return hash.digest('hex').slice(0, digestChars)
}

/** Name and version of a package, as a collector's `use` finds it; its name alone where it cannot be read. */
function packageVersion(name: string, configFile: string): string {
  try {
    const file = findPackageJSON(name, pathToFileURL(configFile))
    if (file === undefined) return name
    const packageVersion = manifestOf(file)['version']
    const isPlain = typeof packageVersion === 'string' && /^[\w.+-]{1,100}$/.test(packageVersion)
    return isPlain ? `${name}@${packageVersion}` : name
  } catch {
    return name
  }
}

/** A plain value with the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]))
}
