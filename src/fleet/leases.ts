import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import type {
  DaemonEntry,
  Identity,
  LeaseHolder,
  LeaseStore,
  RenewedLease,
  SharedTransaction,
  StoredIdentity,
} from '../outbox/contract/fleet-store.ts'
import { patienceMs, renewMs, restMs, touchMs, trustMs } from './limits.ts'

/** Longest time of failures, where several daemons have let each other try. */
const patienceMsMax = 600_000

/** Time without an accepted renewal after which the database is reported. */
const unrenewedMsMax = 30_000

/** Change of what the machine's clock is off from which it is written, in milliseconds. */
const clockOffMsMin = 1_000

interface LeasesDeps {
  readonly store: LeaseStore
  /** This daemon. */
  readonly holder: Omit<LeaseHolder, 'term'>
  /** Its entry for others, as of now. */
  readonly entry: () => DaemonEntry
  /** The service that it delivers to. */
  readonly service: Identity
  /** Called with what counts for the fleet, after each renewal. */
  readonly learn: (identities: readonly StoredIdentity[]) => Promise<void>
  /** Called while another process of its name lives. */
  readonly namesake: () => void
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors, which are repeated, and explains them. */
  readonly reportFailure: (error: unknown) => unknown
}

/**
 * The leases of this daemon. It renews its own, with which all that it has lasts or ends, and takes what is free of what it
 * wants. A lease ends by time, or because its daemon fails, differs or stops.
 */
export class Leases {
  readonly #deps: LeasesDeps
  readonly #all = new Set<Lease>()
  readonly #loop = new Loop(signal => this.#pass(signal))
  /** Term of its own lease; 0 without one. */
  #term = 0
  #renewedAtMs = Number.NEGATIVE_INFINITY
  #acceptedAtMs: number
  /** Why the last renewal was not accepted; absent when it was. */
  #failure: string | undefined
  #hasOthers = false
  #isOverAtMs = Number.NEGATIVE_INFINITY
  #isOutdated = false
  /** The entry that it has written, as text. */
  #described = ''
  #clockOffMs = Number.POSITIVE_INFINITY
  /** End of the lease of another process of its name, as it was seen last. */
  #othersUntilMs: number | undefined
  /** The names that it looked for last, and as of which state. */
  #lookedFor: string | undefined

  constructor(deps: LeasesDeps) {
    this.#deps = deps
    this.#acceptedAtMs = deps.time.steadyMs()
  }

  /** Begins to renew, and to take. */
  start(): void {
    this.#loop.start()
  }

  /** Wants names from now on, until the lease is stopped. */
  want(wanted: WantedLease): Lease {
    const lease = new Lease(wanted, { ...this.#deps, leases: this })
    this.#all.add(lease)
    return lease
  }

  /** Whether another daemon lives. */
  get hasOthers(): boolean {
    return this.#hasOthers
  }

  /** Whether the lease of another daemon ended just now: the claims that it had end, too. */
  get isAnyOver(): boolean {
    return this.#deps.time.steadyMs() - this.#isOverAtMs < 2 * touchMs
  }

  /** Whether the tables have a newer version: this daemon writes nothing more. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  /** Milliseconds for which no other daemon can have what this one has; 0 when that is not known. */
  get trustLeftMs(): number {
    return this.#term === 0 ? 0 : Math.max(0, this.#renewedAtMs + trustMs - this.#deps.time.steadyMs())
  }

  /** Sentences about a database that takes no renewals; empty when it does. */
  get troubles(): readonly string[] {
    const silentMs = this.#deps.time.steadyMs() - this.#acceptedAtMs
    if (silentMs < unrenewedMsMax) return []
    const silent = Math.floor(silentMs / 1_000)
    return [
      `the database has accepted no claim of this daemon for ${silent} s: ${this.#failure ?? 'it does not answer'}`,
    ]
  }

  /**
   * Part of each commit of what it has leases of.
   *
   * @throws Fault `lease-lost` where another daemon may have them
   */
  async requireHeld(transaction: SharedTransaction): Promise<void> {
    if (this.#term > 0 && (await this.#deps.store.isHeld(this.#holder, transaction))) return
    this.lose()
    throw new Fault('lease-lost', 'another daemon of the fleet has taken over: nothing more is stored here')
  }

  /** Notes that another daemon may have what this one had. */
  lose(): void {
    this.#term = 0
    for (const lease of this.#all) lease.lose()
  }

  /** Frees names that it has. */
  async release(names: readonly string[]): Promise<void> {
    if (this.#term === 0 || names.length === 0) return
    try {
      await this.#deps.store.release(this.#holder, names)
    } catch (error) {
      // With another term of its own lease, the names are free in any case.
      this.lose()
      throw error
    }
  }

  /** Ends all work, and then the daemon's own lease. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await Promise.all([...this.#all].map(lease => lease.stop()))
    if (!this.#isOutdated) await this.#deps.store.leave(this.#holder).catch(this.#deps.reportFailure)
  }

  get #holder(): LeaseHolder {
    return { ...this.#deps.holder, term: this.#term }
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { time, reportFailure } = this.#deps
    try {
      if (!this.#isOutdated) await this.#renew()
    } catch (error) {
      const explained = reportFailure(error)
      this.#failure = explained instanceof Error ? explained.message : undefined
      if (explained instanceof Fault && explained.code === 'database-version') {
        this.#isOutdated = true
        this.lose()
      }
    }
    for (const lease of this.#all) lease.adjust()
    await time.sleep(renewMs, signal).catch(() => {})
  }

  async #renew(): Promise<void> {
    const { store, entry, learn, time } = this.#deps
    const sentAtMs = time.steadyMs()
    const ownEntry = entry()
    const text = this.#textOf(ownEntry)
    const termBefore = this.#term
    const isDescribed = termBefore > 0 && text === this.#described
    const renewal = await store.renew(this.#holder, isDescribed ? undefined : ownEntry)
    this.#hasOthers = renewal.hasOthers
    if (renewal.isAnyOver) this.#isOverAtMs = sentAtMs
    this.#acceptedAtMs = sentAtMs
    this.#failure = undefined
    const held = [...this.#all].reduce((count, lease) => count + lease.names.length, 0)
    // A server that took over from another one may lack the latest commits: then it begins again.
    const isBehind = termBefore > 0 && renewal.term === termBefore && renewal.held < held
    if (renewal.term !== termBefore || isBehind) this.lose()
    if (renewal.term === undefined) await this.#noteNamesake(ownEntry, renewal)
    if (renewal.term === undefined || isBehind) return
    // The claims of the process that had this name before have ended, too.
    if (this.#othersUntilMs !== undefined) this.#isOverAtMs = sentAtMs
    this.#othersUntilMs = undefined
    this.#term = renewal.term
    // With a new lease, it may have been forgotten meanwhile.
    this.#described = termBefore === 0 || renewal.term === termBefore ? text : ''
    this.#renewedAtMs = sentAtMs
    await learn(renewal.identities)
    await this.#take(renewal)
  }

  /** The process before a restart has a lease of the same name for a while; one that renews it was given the same name. */
  async #noteNamesake({ name, host, pid }: DaemonEntry, { othersUntilMs }: RenewedLease): Promise<void> {
    const before = this.#othersUntilMs
    this.#othersUntilMs = othersUntilMs
    if (before === undefined || before === othersUntilMs) return
    this.#deps.namesake()
    await this.#deps.store.noteNamesake(name, `${host}, pid ${pid}`)
  }

  /** Takes what is free, where something became free, or something else is wanted. */
  async #take({ freed: freedCount, isAnyOver }: RenewedLease): Promise<void> {
    const { store, service, time } = this.#deps
    const requests = [...this.#all].flatMap(lease => lease.missing.map(name => ({ lease, name })))
    const lookedFor = `${this.#term} ${freedCount} ${requests.map(({ name }) => name).join(' ')}`
    // With a new term, what a process of this name had before is freed.
    if (!isAnyOver && lookedFor === this.#lookedFor) return
    const sentAtMs = time.steadyMs()
    const names = requests.map(({ name }) => name)
    const takenNames = new Set(await store.claim(this.#holder, names, service))
    this.#lookedFor = isAnyOver ? undefined : lookedFor
    for (const [lease, wanted] of Map.groupBy(requests, ({ lease }) => lease)) {
      const own = wanted.flatMap(({ name }) => (takenNames.has(name) ? [name] : []))
      if (own.length > 0) lease.taken(own, sentAtMs)
    }
  }

  /** The clock of a machine is off by another millisecond each time. */
  #textOf(entry: DaemonEntry): string {
    if (Math.abs(entry.clockOffMs - this.#clockOffMs) >= clockOffMsMin) this.#clockOffMs = entry.clockOffMs
    const { digest, ...rest } = { ...entry, clockOffMs: this.#clockOffMs }
    return `${JSON.stringify(rest)} ${digest.toString('base64')}`
  }
}

/** Work of the daemon of a fleet that has a lease. */
export interface LeaseWork {
  /**
   * Begins it. It is ended and begun again when the names change. Rejects to be tried again.
   *
   * @param names those that it has
   * @returns what ends it; resolves when it has ended
   */
  begin(names: readonly string[]): Promise<() => Promise<void>>
  /** Called when the names are about to be given back because this daemon fails in them. */
  givingBack?(): Promise<void>
}

/**
 * Cause of a failure that another daemon may not have: no way to the service, a key that cannot be read or is not known, or one
 * without the right to do what is asked. Each ends by evidence of its own.
 */
export type FailureCause = 'way' | 'key' | 'right'

/** Failures of a daemon in what it has a lease of, of one cause. Instants are of its steady clock. */
interface Failing {
  /** Begin of the first since it was last of use, or since it got the lease. */
  readonly sinceMs: number
  readonly lastMs: number
  /** Of the last one. */
  readonly reason: string
}

/** A lease that a daemon wants: its names, who may have them, and the work with them. */
interface WantedLease {
  /** The same in all daemons. */
  readonly names: readonly string[]
  /** Whether this daemon may have the names: one that differs from its fleet may not, nor one that does not work. Default: it may. */
  readonly mayHold?: () => boolean
  /** Why this daemon cannot do the work now, as far as is known without trying. Default: it can. */
  readonly unable?: () => string | undefined
  /** Default: none; others ask `isHeld`. */
  readonly work?: LeaseWork
}

interface LeaseDeps extends Pick<LeasesDeps, 'time' | 'reportFailure'> {
  readonly leases: Pick<Leases, 'hasOthers' | 'trustLeftMs' | 'release'>
}

/** Names, each of which one daemon of a fleet has at a time, and the work of the daemon that has them. */
export class Lease {
  readonly #deps: LeaseDeps
  readonly #wanted: WantedLease
  #names: readonly string[] = []
  #isLost = false
  /** The names that the work was begun for, and what ends it; absent without work. */
  #working: { readonly names: string; readonly end?: () => Promise<void> } | undefined
  #adjusting: Promise<void> | undefined
  #isStopping = false
  /** Why the work is of no use here, by cause; empty since it was. */
  readonly #failures = new Map<FailureCause, Failing>()
  #patienceMs = patienceMs
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(wanted: WantedLease, deps: LeaseDeps) {
    this.#wanted = wanted
    this.#deps = deps
  }

  /** The names that this daemon has, as far as it knows. */
  get names(): readonly string[] {
    return this.#isLost ? [] : this.#names
  }

  /** Whether this daemon has a name at least, and no other daemon can have it. */
  get isHeld(): boolean {
    return this.names.length > 0 && this.#deps.leases.trustLeftMs > 0
  }

  /** The names that it wants and has not. */
  get missing(): readonly string[] {
    const { leases, time } = this.#deps
    const isResting = leases.hasOthers && time.steadyMs() < this.#restUntilMs
    if (this.#isStopping || this.#isLost || isResting || !this.#mayHold) return []
    const names = new Set(this.#names)
    return this.#wanted.names.filter(name => !names.has(name))
  }

  get #mayHold(): boolean {
    return this.#wanted.mayHold?.() ?? true
  }

  /** Notes names that were taken. @param sentAtMs when they were asked for, by the steady clock */
  taken(names: readonly string[], sentAtMs: number): void {
    this.#names = [...this.#names, ...names].sort()
    // It is tried again.
    for (const [cause, failing] of this.#failures) this.#failures.set(cause, { ...failing, sinceMs: sentAtMs })
  }

  /** Notes that another daemon may have the names. */
  lose(): void {
    if (this.#names.length > 0) this.#isLost = true
  }

  /**
   * Does something that must end while this daemon has the names.
   *
   * @param work its signal is aborted when another daemon may have them
   */
  async whileHeld<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [loss, end] = [new AbortController(), new AbortController()]
    void this.#abortWhenLost(loss, end.signal)
    try {
      return await work(loss.signal)
    } finally {
      end.abort(new Error('it has ended'))
    }
  }

  /** Notes that the work was of use. @param cause the only failure that this ends; default: it ends all */
  noteSuccess(cause?: FailureCause): void {
    if (cause) this.#failures.delete(cause)
    else this.#failures.clear()
    if (this.#failures.size === 0) this.#patienceMs = patienceMs
  }

  /**
   * Notes that the work was of no use. After failures for a while, another daemon is let try.
   *
   * @param sinceMs when what failed began, by the steady clock
   */
  noteFailure(reason: string, cause: FailureCause, sinceMs = this.#deps.time.steadyMs()): void {
    const firstMs = Math.min(...[...this.#failures.values()].map(failing => failing.sinceMs), sinceMs)
    this.#failures.set(cause, { sinceMs: firstMs, lastMs: this.#deps.time.steadyMs(), reason })
  }

  /** The last one. */
  get #failing(): Failing | undefined {
    return [...this.#failures.values()].sort((a, b) => b.lastMs - a.lastMs)[0]
  }

  /** Why its work was of no use here a short while ago; `undefined` since it was, and after a while without a trial. */
  get failing(): string | undefined {
    const { reason, lastMs = Number.NEGATIVE_INFINITY } = this.#failing ?? {}
    return this.#deps.time.steadyMs() - lastMs < patienceMsMax ? reason : undefined
  }

  /** Begins, ends or gives back what is to be; resolves at once. */
  adjust(): void {
    const reason = this.#names.length > 0 ? this.#wanted.unable?.() : undefined
    if (reason !== undefined) this.noteFailure(reason, 'key')
    this.#adjusting ??= this.#adjusted()
      .catch(error => void this.#deps.reportFailure(error))
      .finally(() => {
        this.#adjusting = undefined
      })
  }

  /** Ends the work. The names are kept meanwhile, and until the daemon's own lease ends. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#adjusting
    await this.#end()
  }

  /** Never rejects. */
  async #abortWhenLost(loss: AbortController, end: AbortSignal): Promise<void> {
    const { time, leases } = this.#deps
    while (!end.aborted) {
      const leftMs = this.names.length > 0 ? leases.trustLeftMs : 0
      if (leftMs <= 0) return loss.abort(new Error('another daemon may deliver'))
      await time.sleep(leftMs, end).catch(() => {})
    }
  }

  async #adjusted(): Promise<void> {
    if (this.#isLost) {
      await this.#end()
      this.#names = []
      this.#isLost = false
    }
    if (this.#names.length > 0 && !this.#mayHold) await this.#giveBack()
    else if (this.#isFailing) await this.#letTry()
    const names = this.#names.join(' ')
    if (this.#isStopping || names === (this.#working?.names ?? '')) return
    await this.#end()
    const end = this.#names.length > 0 ? await this.#wanted.work?.begin(this.#names) : undefined
    this.#working = { names, ...(end && { end }) }
  }

  get #isFailing(): boolean {
    const { sinceMs = Number.POSITIVE_INFINITY } = this.#failing ?? {}
    const isLong = this.#deps.time.steadyMs() - sinceMs >= this.#patienceMs
    return this.#names.length > 0 && isLong && this.#deps.leases.hasOthers
  }

  async #letTry(): Promise<void> {
    await this.#end()
    await this.#wanted.work?.givingBack?.()
    this.#patienceMs = Math.min(2 * this.#patienceMs, patienceMsMax)
    this.#restUntilMs = this.#deps.time.steadyMs() + restMs
    await this.#giveBack()
  }

  async #giveBack(): Promise<void> {
    await this.#end()
    const names = this.names
    this.#names = []
    await this.#deps.leases.release(names)
  }

  async #end(): Promise<void> {
    const end = this.#working?.end
    this.#working = undefined
    await end?.()
  }
}
