import { randomBytes } from 'node:crypto'
import { sentTogether } from '../../edge/batch-scheduler.ts'
import { currentEgress } from '../../edge/egress.ts'
import { type ProcessorTime, ProcessStopwatch } from '../../edge/processor-time.ts'
import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import {
  type Ask,
  type EndedRun,
  type FromChild,
  furtherLeftOut,
  type LogLine,
  type Reply,
  type RunQuestion,
  runLogLinesMax,
  type Task,
  type TaskEnd,
  type ToChild,
} from '../messages.ts'
import type { Lost, Spawned } from './child-spawn.ts'
import { heard } from './from-child.ts'
import { ChildSlots, type HostLimits, isOver, RunDeadline } from './hosts.ts'
import type { RunnerLimits } from './limits.ts'
import type { QuestionRoom } from './question-room.ts'
import { RepliedFaults } from './replied-faults.ts'
import { type ReplyDeps, RunBlocks, replyTo, sharedQuestionsFirst } from './replies.ts'

/** Questions of one process that wait for their replies, and requests to hosts that it has not ended, at most. */
export const asksWaitingMax = 10_000

/** Hosts that one run may send requests to. */
export const hostsOfRunMax = 200

/** A run of a child process. */
interface ChildRun {
  readonly task: Task
  /** Aborted when the run is over, however it ended, to end its timer and its chain reads. */
  readonly over: AbortController
  /** Aborted at its deadline, or when it is over: nothing is read for it from then on. */
  readonly asking: AbortController
  readonly pins: RunBlocks
  readonly replied: RepliedFaults
  /** Hosts that it has asked for, by name and port. */
  readonly hosts: Set<string>
  /** Names of what its questions wait for, by their numbers. */
  readonly waits: Map<number, string>
  /** Absent until the run is sent to the process. */
  deadline?: RunDeadline
  settle(end: TaskEnd | Lost): void
}

/** Dependencies of a child process on the daemon. */
interface ChildDeps extends ReplyDeps {
  readonly deadlineMs: number
  readonly limits: RunnerLimits
  readonly time: Time
  readonly log: (line: LogLine) => void
  /** Whether a run fails that connects past the daemon. Default: no. */
  readonly isGuarded?: boolean | undefined
  /** Limits of the hosts that all processes send requests to. */
  readonly hosts: Pick<HostLimits, 'take'>
  /** Whether it is ended as soon as it stops answering, as foreign code is; otherwise only a run's deadline ends it. */
  readonly isPinged: boolean
  /** Room for the questions of foreign code. Default: unlimited. */
  readonly room?: QuestionRoom | undefined
}

/** Allowance of a child for each run it was given, and once more for itself. */
const childAllowance = { messages: 10_000, chars: 64 * 1_048_576 } as const

/** Lines and characters of the log for each run. A child counts its lines, too, unless its code writes past that. */
const logAllowance = { lines: runLogLinesMax + 2, chars: 1_048_576 }

/** Counts messages of a child against its allowance, to stop one that sends without end. */
class MessageAllowance {
  #messages = childAllowance.messages
  #chars = childAllowance.chars
  #logLines = logAllowance.lines
  #logChars = logAllowance.chars
  #logsAll = true

  /** Adds the allowance of a run given to it. */
  grant(): void {
    this.#messages += childAllowance.messages
    this.#chars += childAllowance.chars
    this.#logLines = Math.max(0, this.#logLines) + logAllowance.lines
    this.#logChars = Math.max(0, this.#logChars) + logAllowance.chars
    this.#logsAll = true
  }

  /** Counts a message of that length. @returns whether it is within the allowance */
  take(chars: number): boolean {
    this.#messages -= 1
    this.#chars -= chars
    return this.#messages >= 0 && this.#chars >= 0
  }

  /** Counts a line of the log of that length. @returns whether it is logged, or the first one that is not */
  takeLog(chars: number): 'logged' | 'first-left-out' | 'left-out' {
    this.#logLines -= 1
    this.#logChars -= chars
    if (this.#logLines >= 0 && this.#logChars >= 0) return 'logged'
    const isFirst = this.#logsAll
    this.#logsAll = false
    return isFirst ? 'first-left-out' : 'left-out'
  }
}

/** Dependencies of `PingWatch`. */
interface PingWatchDeps {
  readonly time: Time
  readonly limits: Pick<RunnerLimits, 'pingEveryMs' | 'pingsUnansweredMax'>
  /** Whether the process has work: only then it is pinged. */
  readonly isBusy: () => boolean
  /** Whether its answers are not read now. */
  readonly isHeldUp: () => boolean
  readonly ping: () => void
  /** Processor time of the process. */
  readonly processor: () => ProcessorTime | undefined
  /** Called when the process does not answer any more, although it has had the time to. */
  readonly onSilent: () => void
  /** Aborted when the process has ended. */
  readonly goneSignal: AbortSignal
}

/** Pings a process while it has work, to notice that it hangs before the deadline of its runs. */
class PingWatch {
  readonly #deps: PingWatchDeps
  #isWatching = false
  #isAnswered = false

  constructor(deps: PingWatchDeps) {
    this.#deps = deps
  }

  /** Watches until the process has no work. No effect while it watches. Never rejects. */
  async watch(): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    const { time, limits, isBusy, isHeldUp, ping, onSilent, goneSignal, processor } = this.#deps
    const silentMsMax = limits.pingEveryMs * limits.pingsUnansweredMax
    let silentPings = 0
    let sinceAnswer = new ProcessStopwatch(time, processor)
    const isSilent = () => silentPings >= limits.pingsUnansweredMax && sinceAnswer.hadMs >= silentMsMax
    while (isBusy() && !isSilent()) {
      this.#isAnswered = false
      ping()
      try {
        await time.sleep(limits.pingEveryMs, goneSignal)
      } catch {
        return
      }
      const isWell = this.#isAnswered || isHeldUp()
      silentPings = isWell ? 0 : silentPings + 1
      if (isWell) sinceAnswer = new ProcessStopwatch(time, processor)
    }
    this.#isWatching = false
    if (isSilent()) onSilent()
  }

  /** Takes an answer. */
  answered(): void {
    this.#isAnswered = true
  }
}

const busy = 'does not answer: something keeps it busy'
const full = 'does not answer: its memory is nearly full'
const meddled = 'a collector must not write to its connection to the daemon: check its use of descriptors and sockets'

const endOf = {
  describe: 'described',
  schema: 'schema',
  collect: 'collected',
  price: 'priced',
  list: 'listed',
} as const

/** Whether other runs wait for it: it reads a price or a list of the configuration. */
function isShared(task: Task): task is Extract<Task, { readonly kind: 'price' | 'list' }> {
  return task.kind === 'price' || task.kind === 'list'
}

/** Name that a process gives what its question waits for. */
function waitName(question: RunQuestion): string {
  if ('chain' in question) return `chain ${question.chain}`
  if ('price' in question) return `price ${question.price}`
  if ('list' in question) return `list ${question.list}`
  return 'http' in question ? new URL(question.http.url).host : question.host
}

/** The daemon's side of one process that runs collectors. */
export class CollectorChild {
  readonly #deps: ChildDeps
  readonly #spawned: Spawned
  readonly #runs = new Map<string, ChildRun>()
  /** Runs started in one tick are sent in one message, and so are the replies of one tick. */
  readonly #start = sentTogether<string>(runs => this.#post(runs))
  readonly #tell = sentTogether<Reply>(replies => this.#say({ kind: 'replies', replies }))
  readonly #slots: ChildSlots
  readonly #pings: PingWatch
  readonly #ready = Promise.withResolvers<void>()
  readonly #gone = new AbortController()
  readonly #allowance = new MessageAllowance()
  /** Questions that wait for their replies. */
  #waiting = 0
  /** Whether no more is read of it until its questions have replies. */
  #isHeldUp = false
  #lost: Lost = { kind: 'lost', how: 'ended' }

  /** @param isReady whether the process has said so */
  constructor(deps: ChildDeps, childProcess: Spawned, isReady: boolean) {
    this.#deps = deps
    const { chains, limits, time, hosts } = deps
    this.#slots = new ChildSlots(
      (...wanted) => hosts.take(...wanted),
      (ask, reply) => this.#tell({ ask, reply }),
    )
    this.#pings = new PingWatch({
      time,
      limits,
      isBusy: () => this.#runs.size > 0,
      isHeldUp: () => this.#isHeldUp,
      ping: () => this.#say({ kind: 'ping' }),
      processor: childProcess.processor,
      onSilent: () => this.#loseSilent(),
      goneSignal: this.#gone.signal,
    })
    this.#spawned = childProcess
    void childProcess.exited.then(fate => this.#lose(fate))
    if (isReady) this.#ready.resolve()
    else void this.#watchStart()
    childProcess.listen({
      log: line => this.#write(line),
      hear: line => this.#hear(line),
      tooLong: () => this.#lose({ how: 'sent an invalid message: a line that is too long', fix: meddled }),
    })
    this.#say({ kind: 'chains', names: Object.keys(chains) })
  }

  /**
   * Runs a task. Never rejects. Ends at the deadline plus a grace, with `lost` when the process does not answer by
   * then.
   */
  async run(task: Task): Promise<TaskEnd | Lost> {
    await this.ready
    if (this.#gone.signal.aborted) return this.#lost
    const { promise, resolve } = Promise.withResolvers<TaskEnd | Lost>()
    const run: ChildRun = {
      task,
      over: new AbortController(),
      asking: new AbortController(),
      pins: new RunBlocks(this.#deps.chains),
      replied: new RepliedFaults(task),
      hosts: new Set(),
      waits: new Map(),
      settle: resolve,
    }
    const token = randomBytes(16).toString('hex')
    this.#runs.set(token, run)
    this.#allowance.grant()
    this.#spawned.collectors.add(task.collector.id)
    if (task.kind === 'collect') this.#deps.barrier.join(task.hour, token)
    if (isShared(task)) this.#deps.barrier.takePlace(task.hour, task.collector.id, token)
    this.#start(token)
    return promise
  }

  /** Sends runs to the process. A run's deadline starts now. */
  #post(tokens: readonly string[]): void {
    const runs = tokens.flatMap(token => {
      const run = this.#runs.get(token)
      if (!run) return []
      const deadlineMs = this.#deadlineOf(run)
      run.deadline = new RunDeadline(this.#deps.time, deadlineMs, this.#spawned.processor)
      void this.#watchDeadline(token, run.over.signal, run.deadline)
      const requests = run.task.kind === 'collect' ? this.#deps.interceptor?.requests : undefined
      // A price or a list is one answer of the recording, however it is read.
      const isGuarded = !isShared(run.task) && this.#deps.isGuarded === true
      return [
        { run: token, task: run.task, deadlineMs, ...(requests && { requests }), ...(isGuarded && { isGuarded }) },
      ]
    })
    if (runs.length === 0) return
    this.#say({ kind: 'run', runs, egress: currentEgress() })
    if (this.#deps.isPinged) void this.#pings.watch()
  }

  get isAlive(): boolean {
    return !this.#gone.signal.aborted
  }

  get isIdle(): boolean {
    return this.#runs.size === 0
  }

  /** Gives the process away, which must be alive and idle. From then on this is as if it had ended. */
  release(): Spawned {
    this.#spawned.listen(undefined)
    this.#leave({ kind: 'lost', how: 'was given away' })
    return this.#spawned
  }

  /** Ends the process; resolves when it has ended. */
  async end(): Promise<void> {
    this.#lose({ how: 'was stopped' })
    await this.gone
  }

  /** Resolves when the process is ready to run, or has ended. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Resolves when the process has ended. */
  get gone(): Promise<unknown> {
    return this.#spawned.exited
  }

  #say(message: ToChild): void {
    if (!this.#spawned.post(message)) this.#lose({ how: 'does not read its replies', fix: meddled })
  }

  #lose(fate: Omit<Lost, 'kind'>): void {
    if (this.#gone.signal.aborted) return
    this.#spawned.kill()
    this.#leave({ kind: 'lost', ...fate })
  }

  /** Ends a process that does not answer: where its memory is nearly full, it looks for free memory. */
  #loseSilent(): void {
    this.#lose(this.#spawned.isNearlyFull() ? { how: full, lacksMemory: true } : { how: busy })
  }

  #leave(fate: Lost): void {
    this.#lost = fate
    this.#gone.abort(new Fault('stopped', 'the process has ended'))
    this.#ready.resolve()
    for (const token of this.#runs.keys()) this.#settle(token, fate)
    this.#slots.endAll()
  }

  #settle(token: string, end: TaskEnd | Lost): void {
    const run = this.#runs.get(token)
    this.#runs.delete(token)
    if (run && 'hour' in run.task) this.#deps.barrier.leave(run.task.hour, token)
    for (const controller of run ? [run.over, run.asking] : [])
      controller.abort(new Fault('stopped', 'the run is over'))
    run?.settle(end)
  }

  /**
   * Handles a line. An invalid one ends the process: none of its output can be trusted any more.
   *
   * @returns what the next line waits for
   */
  #hear(line: string): Promise<void> | undefined {
    if (this.#gone.signal.aborted) return undefined
    const wrong = this.#mistakeIn(line)
    if (wrong !== undefined) this.#lose({ how: `sent an invalid message: ${wrong}`, fix: meddled })
    return this.#deps.room?.isFreeFor(this) === false ? this.#holdUp(this.#deps.room) : undefined
  }

  /** At the deadline of a run its reads are given up, which ends this. */
  async #holdUp(room: QuestionRoom): Promise<void> {
    this.#isHeldUp = true
    await room.freeFor(this, this.#gone.signal)
    this.#isHeldUp = false
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
        this.#pings.answered()
        return undefined
      case 'log':
        return this.#log(message, chars)
      case 'asks':
        return this.#ask(message.asks)
      case 'ended':
        return message.runs.map(ended => this.#end(ended)).find(wrong => wrong !== undefined)
      case 'slot-ends':
        for (const end of message.ends) this.#slots.end(end)
        return undefined
    }
  }

  #log(line: LogLine, chars: number): string | undefined {
    if (!this.#spawned.collectors.has(line.collectorId)) return 'a log line of another collector'
    const kind = this.#allowance.takeLog(chars)
    if (kind === 'logged') this.#write(line)
    if (kind === 'first-left-out') this.#write({ ...line, level: 'warn', message: furtherLeftOut, facts: {} })
    return undefined
  }

  /** Writes a line; of the process as a whole, under the name of its collector where it runs one alone. */
  #write(line: LogLine): void {
    const [name = '', other] = [...this.#spawned.collectors].filter(id => id !== '')
    this.#deps.log(line.collectorId === '' && other === undefined ? { ...line, collectorId: name } : line)
  }

  #end({ run: token, end }: EndedRun): string | undefined {
    const run = this.#runs.get(token)
    if (!run) return 'the end of a run that it does not have'
    if (end.kind !== 'faulted' && end.kind !== endOf[run.task.kind]) return 'the end of another kind of run'
    this.#settle(token, run.pins.addedTo(run.replied.attributed(end)))
    return undefined
  }

  /** Answers questions. @returns why there are too many; `undefined` otherwise */
  #ask(asks: readonly Ask[]): string | undefined {
    if (this.#waiting + this.#slots.size + asks.length > asksWaitingMax)
      return `it asks more than ${asksWaitingMax} questions at once`
    for (const { run: token, ...question } of asks) {
      const hosts = this.#runs.get(token)?.hosts
      if ('host' in question) hosts?.add(question.host)
      if (hosts && hosts.size > hostsOfRunMax) return `a run asks more than ${hostsOfRunMax} hosts`
    }
    for (const ask of sharedQuestionsFirst(asks)) {
      this.#waiting += 1
      const leaveRoom = this.#deps.room?.take(this, ask)
      void this.#reply(ask).finally(() => {
        this.#waiting -= 1
        leaveRoom?.()
      })
    }
    return undefined
  }

  async #reply({ ask, run: token, ...question }: Ask): Promise<void> {
    const run = this.#runs.get(token)
    // Also of a run that is over: questions of its last tick may arrive after its end.
    if (!run || !('hour' in run.task)) return
    const { task, pins, over, asking: runAsking, deadline } = run
    if ('host' in question) {
      const asker = { collectorId: task.collector.id, hour: task.hour, signal: over.signal }
      // It counts among the slots, and waits for a long time.
      if (deadline) void this.#slots.ask(ask, question.host, { ...asker, deadline })
      return
    }
    const askingRun = {
      token,
      collectorId: task.collector.id,
      hour: task.hour,
      pins,
      isShared: isShared(task),
      signal: runAsking.signal,
    }
    if ('chain' in question) run.replied.addChain()
    run.waits.set(ask, waitName(question))
    const reply = await replyTo(question, askingRun, this.#deps)
    run.waits.delete(ask)
    if (reply.kind === 'faulted') run.replied.add(reply.fault)
    if (this.#runs.has(token)) this.#tell({ ask, reply })
  }

  async #watchStart(): Promise<void> {
    const { time, limits, log } = this.#deps
    const { startMsMax } = limits
    const startSignal = new AbortController()
    void this.ready.then(() => startSignal.abort())
    const stopwatch = new ProcessStopwatch(time, this.#spawned.processor)
    const onBusy = () => {
      const message = `${stopwatch.busySentence}: a process of collectors is not ready yet`
      log({ collectorId: '', level: 'warn', message, facts: {} })
    }
    const end = await stopwatch.passed(startMsMax, startSignal.signal, onBusy).catch(() => undefined)
    const how = `was not ready within ${startMsMax / 1000} s`
    if (end !== undefined) this.#lose({ how, ...(end === 'starved' && { starved: stopwatch.busySentence }) })
  }

  #deadlineOf({ task }: ChildRun): number {
    const own = task.kind === 'collect' ? task.collector.deadlineMs : undefined
    return own ?? this.#deps.deadlineMs
  }

  async #watchDeadline(token: string, overSignal: AbortSignal, deadline: RunDeadline): Promise<void> {
    const { time, limits } = this.#deps
    if (!(await isOver(deadline.passed(overSignal)))) return
    const stopwatch = new ProcessStopwatch(time, this.#spawned.processor)
    const run = this.#runs.get(token)
    run?.replied.addDeadline([
      ...run.waits.values(),
      ...[...run.hosts].flatMap(host => [host, host.replace(/:\d+$/, '')]),
    ])
    this.#say({ kind: 'abort', run: token })
    run?.asking.abort(new Fault('stopped', 'the run is late'))
    const end = await stopwatch.passed(limits.graceMs, overSignal).catch(() => undefined)
    if (end === 'had') this.#loseSilent()
    else if (end === 'starved') this.#lose({ how: busy, starved: stopwatch.busySentence })
  }
}
