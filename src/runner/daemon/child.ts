import { randomBytes } from 'node:crypto'
import { sentTogether } from '../../edge/batch-scheduler.ts'
import { Fault } from '../../model/fault.ts'
import type { Ask, EndedRun, FromChild, Reply, Task, TaskEnd, ToChild } from '../messages.ts'
import { MessageAllowance } from './allowance.ts'
import { replyFromChain } from './chain-replies.ts'
import type { ChildDeps, Lost } from './child-edge.ts'
import { type Spawned, spawnChild } from './child-spawn.ts'
import { heard } from './from-child.ts'
import { RunBlocks } from './run-blocks.ts'

interface ChildRun {
  readonly task: Task
  /** Aborted when the run is over, however it ended, to end its timer and its chain reads. */
  readonly over: AbortController
  readonly pins: RunBlocks
  settle(end: TaskEnd | Lost): void
}

const busy = 'does not answer: something keeps it busy'
const meddled = 'a collector must not write to its connection to the daemon: check its use of descriptors and sockets'

const endOf = { describe: 'described', collect: 'collected' } as const

function withPins(end: TaskEnd, pins: RunBlocks): TaskEnd {
  if (end.kind !== 'collected') return end
  return { ...end, outcome: { ...end.outcome, pins: pins.all } }
}

/** The daemon's side of one process that runs collectors. */
export class CollectorChild {
  readonly #deps: ChildDeps
  readonly #spawned: Spawned
  readonly #runs = new Map<string, ChildRun>()
  /** Runs started in one turn are sent in one message, and so are the replies of one turn. */
  readonly #start = sentTogether<string>(runs => this.#post(runs))
  readonly #tell = sentTogether<Reply>(replies => this.#say({ kind: 'replies', replies }))
  readonly #ready = Promise.withResolvers<void>()
  readonly #gone = new AbortController()
  readonly #allowance = new MessageAllowance()
  /** Collectors it was given: it may log for no others. */
  readonly #collectors = new Set([''])
  #lost: Lost = { kind: 'lost', how: 'ended' }
  #leaks = false
  #watched = false
  #lastPing = 0
  #lastPong = 0

  constructor(deps: ChildDeps) {
    this.#deps = deps
    const { chains, limits, log, reads, folder } = deps
    this.#spawned = spawnChild({
      reads,
      folder,
      chainNames: Object.keys(chains),
      heapMbMax: limits.heapMbMax,
      log,
      hear: line => this.#hear(line),
      tooLong: () => this.#lose('sent an invalid message: a line that is too long', meddled),
    })
    void this.#spawned.exited.then(how => this.#lose(how))
    void this.#watchStart()
  }

  /**
   * Runs a task. Never rejects. Ends at the deadline plus a grace, with `lost` when the process does not answer by
   * then.
   */
  async run(task: Task): Promise<TaskEnd | Lost> {
    await this.#ready.promise
    if (this.#gone.signal.aborted) return this.#lost
    const { promise, resolve } = Promise.withResolvers<TaskEnd | Lost>()
    const run: ChildRun = { task, over: new AbortController(), pins: new RunBlocks(this.#deps.chains), settle: resolve }
    const token = randomBytes(16).toString('hex')
    this.#runs.set(token, run)
    this.#allowance.grant()
    this.#collectors.add(task.collector.id)
    if (task.kind === 'collect') this.#deps.meeting.join(task.hour, token)
    this.#start(token)
    return promise
  }

  /** Sends runs to the process. A run's deadline starts now. */
  #post(tokens: readonly string[]): void {
    const { deadlineMs } = this.#deps
    const runs = tokens.flatMap(token => {
      const run = this.#runs.get(token)
      if (!run) return []
      void this.#watchDeadline(token, run)
      return [{ run: token, task: run.task, deadlineMs }]
    })
    if (runs.length === 0) return
    this.#say({ kind: 'run', runs })
    void this.#watchPings()
  }

  /** Whether new work may be given to it: it lives, and no earlier run has left pending work in it. */
  sound(): boolean {
    return !this.#gone.signal.aborted && !this.#leaks
  }

  idle(): boolean {
    return this.#runs.size === 0
  }

  /** Ends the process; resolves when it has ended. */
  async end(): Promise<void> {
    this.#lose('was stopped')
    await this.gone
  }

  /** Resolves when the process has ended. */
  get gone(): Promise<unknown> {
    return this.#spawned.exited
  }

  #say(message: ToChild): void {
    if (!this.#spawned.post(message)) this.#lose('does not read its replies', meddled)
  }

  #lose(how: string, fix?: string): void {
    if (this.#gone.signal.aborted) return
    this.#lost = { kind: 'lost', how, ...(fix !== undefined && { fix }) }
    this.#gone.abort(new Fault('stopped', 'the process has ended'))
    this.#spawned.kill()
    this.#ready.resolve()
    for (const token of this.#runs.keys()) this.#settle(token, this.#lost)
  }

  #settle(token: string, end: TaskEnd | Lost): void {
    const run = this.#runs.get(token)
    this.#runs.delete(token)
    if (run?.task.kind === 'collect') this.#deps.meeting.leave(run.task.hour, token)
    run?.over.abort(new Fault('stopped', 'the run is over'))
    run?.settle(end)
  }

  /** Handles a line. An invalid one ends the process: none of its output can be trusted any more. */
  #hear(line: string): void {
    if (this.#gone.signal.aborted) return
    const wrong = this.#mistakeIn(line)
    if (wrong !== undefined) this.#lose(`sent an invalid message: ${wrong}`, meddled)
  }

  #mistakeIn(line: string): string | undefined {
    if (!this.#allowance.take(line.length)) return 'more than any run needs'
    const said = heard(line)
    return said.ok ? this.#receive(said.message) : said.wrong
  }

  /** Handles a message. @returns what is wrong with it; `undefined` when it is valid */
  #receive(message: FromChild): string | undefined {
    switch (message.kind) {
      case 'ready':
        this.#spawned.started()
        this.#ready.resolve()
        return undefined
      case 'pong':
        if (message.ping > this.#lastPing) return 'an answer to what was not asked'
        this.#lastPong = message.ping
        return undefined
      case 'log':
        if (!this.#collectors.has(message.collectorId)) return 'a log line of another collector'
        this.#deps.log(message)
        return undefined
      case 'asks':
        // Also of a run that is over: questions of its last turn may arrive after its end.
        for (const ask of message.asks) void this.#reply(ask)
        return undefined
      case 'ended':
        for (const ended of message.runs) {
          const wrong = this.#end(ended)
          if (wrong !== undefined) return wrong
        }
        return undefined
    }
  }

  #end({ run: token, end, leaks }: EndedRun): string | undefined {
    const run = this.#runs.get(token)
    if (!run) return 'the end of a run that it does not have'
    if (end.kind !== 'faulted' && end.kind !== endOf[run.task.kind]) return 'the end of another kind of run'
    this.#leaks ||= leaks
    this.#settle(token, withPins(end, run.pins))
    return undefined
  }

  async #reply({ ask, run: token, chain, question }: Ask): Promise<void> {
    const run = this.#runs.get(token)
    if (run?.task.kind !== 'collect') return
    const { chains, meeting } = this.#deps
    await meeting.ask(run.task.hour, token)
    const reply = run.pins.checked(
      chain,
      question,
      await replyFromChain(chains, chain, run.task.hour, question, run.over.signal),
    )
    if (this.#runs.has(token)) this.#tell({ ask, reply })
  }

  async #watchStart(): Promise<void> {
    const { startMsMax } = this.#deps.limits
    const started = new AbortController()
    void this.#ready.promise.then(() => started.abort())
    if (await this.#waited(startMsMax, started.signal)) this.#lose(`was not ready within ${startMsMax / 1000} s`)
  }

  async #watchDeadline(token: string, { over }: ChildRun): Promise<void> {
    const { deadlineMs, limits } = this.#deps
    if (!(await this.#waited(deadlineMs, over.signal))) return
    this.#say({ kind: 'abort', run: token })
    if (await this.#waited(limits.graceMs, over.signal)) this.#lose(busy)
  }

  async #watchPings(): Promise<void> {
    if (this.#watched || !this.#deps.pinged) return
    this.#watched = true
    const { pingEveryMs, pingsUnansweredMax } = this.#deps.limits
    let unanswered = 0
    while (this.#runs.size > 0 && unanswered < pingsUnansweredMax) {
      this.#lastPing += 1
      this.#say({ kind: 'ping', ping: this.#lastPing })
      if (!(await this.#waited(pingEveryMs, this.#gone.signal))) return
      unanswered = this.#lastPong === this.#lastPing ? 0 : unanswered + 1
    }
    this.#watched = false
    if (unanswered >= pingsUnansweredMax) this.#lose(busy)
  }

  /** Waits. @returns false when the signal ended the wait early */
  async #waited(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.time.sleep(ms, signal)
      return true
    } catch {
      return false
    }
  }
}
