import type { Chains } from '../chain/reads.ts'
import { Fault } from '../model/fault.ts'
import type { Time } from '../time.ts'
import { replyFromChain } from './chain-replies.ts'
import { type Spawned, spawnChild } from './child-spawn.ts'
import { gathering } from './gather.ts'
import type { RunnerLimits } from './limits.ts'
import type { Ask, FromChild, LogLine, Reply, Task, TaskEnd } from './messages.ts'
import { Pins } from './pins.ts'

/** The process ended, or was ended because it did not answer, before the run was done. */
export interface Lost {
  readonly kind: 'lost'
  /** What happened to the process, to follow "its process ". */
  readonly how: string
}

/** What a process needs of the daemon. */
export interface ChildEdge {
  readonly chains: Chains
  readonly deadlineMs: number
  readonly limits: RunnerLimits
  readonly time: Time
  readonly log: (line: LogLine) => void
  /** Whether it is ended as soon as it stops answering; else only a run's deadline ends it. */
  readonly pinged: boolean
}

interface Run {
  readonly task: Task
  /** Aborted when the run is over, however it ended: for its timer, and for what was asked of chains. */
  readonly over: AbortController
  readonly pins: Pins
  settle(end: TaskEnd | Lost): void
}

const busy = 'does not answer: something keeps it busy'

function withPins(end: TaskEnd, pins: Pins | undefined): TaskEnd {
  if (end.kind !== 'collected' || !pins) return end
  return { ...end, outcome: { ...end.outcome, pins: pins.all } }
}

/** The daemon's side of one process that runs collectors. */
export class CollectorChild {
  readonly #edge: ChildEdge
  readonly #spawned: Spawned
  readonly #runs = new Map<number, Run>()
  /** Runs started in one turn go in one message, and so do the replies known in one. */
  readonly #start = gathering<number>(runs => this.#post(runs))
  readonly #tell = gathering<Reply>(replies => this.#spawned.post({ kind: 'replies', replies }))
  readonly #ready = Promise.withResolvers<void>()
  readonly #gone = new AbortController()
  #how = 'ended'
  #leaks = false
  #watched = false
  #lastRun = 0
  #lastPing = 0
  #lastPong = 0

  constructor(edge: ChildEdge) {
    this.#edge = edge
    const { chains, limits, log } = edge
    const receive = (message: FromChild) => this.#receive(message)
    this.#spawned = spawnChild({ chainNames: Object.keys(chains), heapMbMax: limits.heapMbMax, log, receive })
    void this.#spawned.exited.then(how => this.#lose(how))
    void this.#watchStart()
  }

  /** Never rejects. Ends at the deadline and a grace, with `lost` when the process does not answer by then. */
  async run(task: Task): Promise<TaskEnd | Lost> {
    await this.#ready.promise
    if (this.#gone.signal.aborted) return { kind: 'lost', how: this.#how }
    const { promise, resolve } = Promise.withResolvers<TaskEnd | Lost>()
    const run: Run = { task, over: new AbortController(), pins: new Pins(this.#edge.chains), settle: resolve }
    this.#lastRun += 1
    this.#runs.set(this.#lastRun, run)
    this.#start(this.#lastRun)
    return promise
  }

  /** A run's deadline starts when the run does. */
  #post(numbers: readonly number[]): void {
    const { deadlineMs } = this.#edge
    const runs = numbers.flatMap(number => {
      const run = this.#runs.get(number)
      if (!run) return []
      void this.#watchDeadline(number, run)
      return [{ run: number, task: run.task, deadlineMs }]
    })
    if (runs.length === 0) return
    this.#spawned.post({ kind: 'run', runs })
    void this.#watchPings()
  }

  /** Whether new work may be given to it: it lives, and nothing that never settles has stayed behind in it. */
  sound(): boolean {
    return !this.#gone.signal.aborted && !this.#leaks
  }

  idle(): boolean {
    return this.#runs.size === 0
  }

  /** Complete when it returns. */
  async end(): Promise<void> {
    this.#lose('was stopped')
    await this.#spawned.exited
  }

  #lose(how: string): void {
    if (this.#gone.signal.aborted) return
    this.#how = how
    this.#gone.abort(new Fault('stopped', 'the process has ended'))
    this.#spawned.kill()
    this.#ready.resolve()
    for (const run of this.#runs.keys()) this.#settle(run, { kind: 'lost', how })
  }

  #settle(number: number, end: TaskEnd | Lost): void {
    const run = this.#runs.get(number)
    this.#runs.delete(number)
    run?.over.abort(new Fault('stopped', 'the run is over'))
    run?.settle(end)
  }

  #receive(message: FromChild): void {
    if (message.kind === 'ready') this.#ready.resolve()
    if (message.kind === 'pong') this.#lastPong = message.ping
    if (message.kind === 'log') this.#edge.log(message)
    if (message.kind === 'asks') for (const ask of message.asks) void this.#reply(ask)
    if (message.kind === 'ended') {
      for (const { run, end, leaks } of message.runs) {
        this.#leaks ||= leaks
        this.#settle(run, withPins(end, this.#runs.get(run)?.pins))
      }
    }
  }

  async #reply({ ask, run: number, chain, question }: Ask): Promise<void> {
    const run = this.#runs.get(number)
    if (run?.task.kind !== 'collect') return
    const { chains } = this.#edge
    const reply = run.pins.checked(chain, await replyFromChain(chains, chain, run.task.hour, question, run.over.signal))
    if (this.#runs.has(number)) this.#tell({ ask, reply })
  }

  async #watchStart(): Promise<void> {
    const { startMsMax } = this.#edge.limits
    const started = new AbortController()
    void this.#ready.promise.then(() => started.abort())
    if (await this.#waited(startMsMax, started.signal)) this.#lose(`was not ready within ${startMsMax / 1000} s`)
  }

  async #watchDeadline(number: number, { over }: Run): Promise<void> {
    const { deadlineMs, limits } = this.#edge
    if (!(await this.#waited(deadlineMs, over.signal))) return
    this.#spawned.post({ kind: 'abort', run: number })
    if (await this.#waited(limits.graceMs, over.signal)) this.#lose(busy)
  }

  async #watchPings(): Promise<void> {
    if (this.#watched || !this.#edge.pinged) return
    this.#watched = true
    const { pingEveryMs, pingsUnansweredMax } = this.#edge.limits
    let unanswered = 0
    while (this.#runs.size > 0 && unanswered < pingsUnansweredMax) {
      this.#lastPing += 1
      this.#spawned.post({ kind: 'ping', ping: this.#lastPing })
      if (!(await this.#waited(pingEveryMs, this.#gone.signal))) return
      unanswered = this.#lastPong === this.#lastPing ? 0 : unanswered + 1
    }
    this.#watched = false
    if (unanswered >= pingsUnansweredMax) this.#lose(busy)
  }

  /** False when the wait was cut short by the signal. */
  async #waited(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#edge.time.sleep(ms, signal)
      return true
    } catch {
      return false
    }
  }
}
