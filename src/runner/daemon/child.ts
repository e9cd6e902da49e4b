import { randomBytes } from 'node:crypto'
import { sentTogether } from '../../edge/batch-scheduler.ts'
import { Fault } from '../../model/fault.ts'
import { furtherLeftOut } from '../limits.ts'
import type {
  Ask,
  EndedRun,
  FromChild,
  LogLine,
  Reply,
  Task,
  TaskEnd,
  ToChild,
  TurnAsk,
  TurnReply,
} from '../messages.ts'
import { MessageAllowance } from './allowance.ts'
import type { ChildDeps, ChildRun, Lost } from './child-edge.ts'
import type { Spawned } from './child-spawn.ts'
import { ChildTurns } from './child-turns.ts'
import { heard } from './from-child.ts'
import { PingWatch } from './ping-watch.ts'
import { inOrderOfMeeting, replyTo } from './replies.ts'
import { RunBlocks } from './run-blocks.ts'
import { isOver, RunDeadline } from './run-deadline.ts'
import type { StartedProcess } from './started-process.ts'

const busy = 'does not answer: something keeps it busy'
const meddled = 'a collector must not write to its connection to the daemon: check its use of descriptors and sockets'

const endOf = { describe: 'described', schema: 'schema', collect: 'collected', price: 'priced' } as const

/** The daemon's side of one process that runs collectors. */
export class CollectorChild {
  readonly #deps: ChildDeps
  readonly #spawned: Spawned
  readonly #runs = new Map<string, ChildRun>()
  /** Runs started in one turn are sent in one message, and so are the replies of one turn. */
  readonly #start = sentTogether<string>(runs => this.#post(runs))
  readonly #tell = sentTogether<Reply>(replies => this.#say({ kind: 'replies', replies }))
  readonly #turns: ChildTurns
  readonly #pings: PingWatch
  readonly #ready = Promise.withResolvers<void>()
  readonly #gone = new AbortController()
  readonly #allowance = new MessageAllowance()
  /** Collectors it was given: it may log for no others. */
  readonly #collectors: Set<string>
  #lost: Lost = { kind: 'lost', how: 'ended' }
  #leaks = false

  constructor(deps: ChildDeps, { spawned, isReady, collectors, lastPing }: StartedProcess) {
    this.#deps = deps
    const { chains, limits, log, time, hosts } = deps
    this.#collectors = collectors
    const tell = sentTogether<TurnReply>(turns => this.#say({ kind: 'turns', turns }))
    this.#turns = new ChildTurns((host, asker) => hosts.take(host, asker), tell)
    this.#pings = new PingWatch({
      time,
      limits,
      isBusy: () => this.#runs.size > 0,
      ping: ping => this.#say({ kind: 'ping', ping }),
      silent: () => this.#lose(busy),
      gone: this.#gone.signal,
      lastPing,
    })
    this.#spawned = spawned
    void spawned.exited.then(({ how, fix }) => this.#lose(how, fix))
    if (isReady) this.#ready.resolve()
    else void this.#watchStart()
    spawned.listen({
      log,
      hear: line => this.#hear(line),
      tooLong: () => this.#lose('sent an invalid message: a line that is too long', meddled),
    })
    this.#say({ kind: 'chains', names: Object.keys(chains) })
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
    if (task.kind === 'price') this.#deps.meeting.takePlace(task.hour, task.collector.id, token)
    this.#start(token)
    return promise
  }

  /** Sends runs to the process. A run's deadline starts now. */
  #post(tokens: readonly string[]): void {
    const runs = tokens.flatMap(token => {
      const run = this.#runs.get(token)
      if (!run) return []
      const deadlineMs = this.#deadlineOf(run)
      run.deadline = new RunDeadline(this.#deps.time, deadlineMs)
      void this.#watchDeadline(token, run.over.signal, run.deadline)
      const requests = run.task.kind === 'collect' ? this.#deps.interceptor?.requests : undefined
      // A price is one answer of the recording, however it is read.
      const guarded = run.task.kind !== 'price' && this.#deps.isGuarded
      return [{ run: token, task: run.task, deadlineMs, ...(requests && { requests }), ...(guarded && { guarded }) }]
    })
    if (runs.length === 0) return
    this.#say({ kind: 'run', runs })
    if (this.#deps.pinged) void this.#pings.watch()
  }

  /** Whether new work may be given to it: it lives, and no earlier run has left pending work in it. */
  sound(): boolean {
    return !this.#gone.signal.aborted && !this.#leaks
  }

  idle(): boolean {
    return this.#runs.size === 0
  }

  /** Gives the process away, which must be sound and idle. From then on this is as if it had ended. */
  release(): StartedProcess {
    const [spawned, collectors, { lastPing }] = [this.#spawned, this.#collectors, this.#pings]
    spawned.listen(undefined)
    this.#leave({ kind: 'lost', how: 'was given away' })
    return { spawned, isReady: true, collectors, lastPing }
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
    this.#spawned.kill()
    this.#leave({ kind: 'lost', how, ...(fix !== undefined && { fix }) })
  }

  #leave(lost: Lost): void {
    this.#lost = lost
    this.#gone.abort(new Fault('stopped', 'the process has ended'))
    this.#ready.resolve()
    for (const token of this.#runs.keys()) this.#settle(token, lost)
    this.#turns.endAll()
  }

  #settle(token: string, end: TaskEnd | Lost): void {
    const run = this.#runs.get(token)
    this.#runs.delete(token)
    if (run && 'hour' in run.task) this.#deps.meeting.leave(run.task.hour, token)
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
    return said.ok ? this.#receive(said.message, line.length) : said.wrong
  }

  /** Handles a message of that length. @returns what is wrong with it; `undefined` when it is valid */
  #receive(message: FromChild, chars: number): string | undefined {
    switch (message.kind) {
      case 'ready':
        this.#ready.resolve()
        return undefined
      case 'pong':
        return this.#pings.answered(message.ping)
      case 'log':
        return this.#log(message, chars)
      case 'asks':
        for (const ask of inOrderOfMeeting(message.asks)) void this.#reply(ask)
        return undefined
      case 'ended':
        return message.runs.map(ended => this.#end(ended)).find(wrong => wrong !== undefined)
      case 'turn-asks':
        return message.asks.map(ask => this.#askTurn(ask)).find(wrong => wrong !== undefined)
      case 'turn-ends':
        for (const end of message.ends) this.#turns.end(end)
        return undefined
    }
  }

  #log(line: LogLine, chars: number): string | undefined {
    if (!this.#collectors.has(line.collectorId)) return 'a log line of another collector'
    const kind = this.#allowance.takeLog(chars)
    if (kind === 'logged') this.#deps.log(line)
    if (kind === 'first-left-out') this.#deps.log({ ...line, level: 'warn', message: furtherLeftOut, facts: {} })
    return undefined
  }

  #end({ run: token, end, leaks }: EndedRun): string | undefined {
    const run = this.#runs.get(token)
    if (!run) return 'the end of a run that it does not have'
    if (end.kind !== 'faulted' && end.kind !== endOf[run.task.kind]) return 'the end of another kind of run'
    this.#leaks ||= leaks
    this.#settle(token, run.pins.addedTo(end))
    return undefined
  }

  async #reply({ ask, run: token, ...question }: Ask): Promise<void> {
    const run = this.#runs.get(token)
    // Also of a run that is over: questions of its last turn may arrive after its end.
    if (!run || !('hour' in run.task)) return
    const { task, pins, over } = run
    const asking = { token, hour: task.hour, pins, isOfPrice: task.kind === 'price', signal: over.signal }
    const reply = await replyTo(question, asking, this.#deps)
    if (this.#runs.has(token)) this.#tell({ ask, reply })
  }

  /** Also of a run that is over, which gets no turn. */
  #askTurn(ask: TurnAsk): string | undefined {
    const run = this.#runs.get(ask.run)
    if (!run?.deadline || !('hour' in run.task)) return undefined
    const { collector, hour } = run.task
    const asker = { collectorId: collector.id, hour, deadline: run.deadline, signal: run.over.signal }
    return this.#turns.ask(ask, asker)
  }

  async #watchStart(): Promise<void> {
    const { time, limits } = this.#deps
    const { startMsMax } = limits
    const started = new AbortController()
    void this.#ready.promise.then(() => started.abort())
    if (await isOver(time.sleep(startMsMax, started.signal))) this.#lose(`was not ready within ${startMsMax / 1000} s`)
  }

  #deadlineOf({ task }: ChildRun): number {
    const own = task.kind === 'collect' ? task.collector.deadlineMs : undefined
    return own ?? this.#deps.deadlineMs
  }

  async #watchDeadline(token: string, over: AbortSignal, deadline: RunDeadline): Promise<void> {
    const { time, limits } = this.#deps
    if (!(await isOver(deadline.passed(over)))) return
    this.#say({ kind: 'abort', run: token })
    if (await isOver(time.sleep(limits.graceMs, over))) this.#lose(busy)
  }
}
