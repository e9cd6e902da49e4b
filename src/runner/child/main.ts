/**
 * Entry of a child that runs collectors: takes runs from the daemon and returns their results. Its argument: links that
 * it must not follow itself, with their targets.
 */
import '../../edge/process-settings.ts'
import { randomFill } from 'node:crypto'
import { sentTogether } from '../../edge/batch-scheduler.ts'
import { setEgress } from '../../edge/egress.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import { hourAfter } from '../../model/hour.ts'
import {
  type Ask,
  type EndedRun,
  type LogLine,
  type SlotEnd,
  type StartedRun,
  type Task,
  type TaskEnd,
  type ToChild,
  unknownChain,
} from '../messages.ts'
import { Asks, ChildEnd, ShownHttp } from './child-end.ts'
import { collectHour, describeCollector, lateFault, type RunDeps, readList, readPrices } from './collect.ts'
import { optionsSchema, registerCollectorHooks, registerOptionsEdge } from './load.ts'
import { lockDown, withoutNetwork } from './lockdown.ts'
import { catchStrays, createScope, inScope, type Settled, settledOrLate } from './scope.ts'
import { faultOf, thrownText } from './thrown.ts'

// The pool of threads gets its size at its first use: code that is loaded later cannot have a thousand.
randomFill(Buffer.alloc(1), () => {})
// A terminal's Ctrl-C and a service manager's stop reach the whole group: only the daemon decides when this ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

let chainNames: readonly string[] = []
/** Loaded once there is a chain to read: viem takes a good part of a child's start and memory. */
let typedReads: typeof import('./typed-reads.ts') | undefined
const line = new ChildEnd(receive)
const endSlot = sentTogether<SlotEnd>(ends => line.postAll('slot-ends', 'ends', ends, () => {}))
const asks = new Asks(postAsks, endSlot)
const postLine = (said: LogLine) => line.post({ kind: 'log', ...said })
const postEnd = sentTogether(postEnds)
const controllers = new Map<string, AbortController>()

catchStrays(
  createScope({
    collectorId: '',
    signal: new AbortController().signal,
    post: postLine,
    fail: error => postLine({ collectorId: '', level: 'warn', message: thrownText(error).message, facts: {} }),
  }),
)
registerCollectorHooks(process.argv[2] ?? '{}')
registerOptionsEdge()
lockDown(line.socket)

/** Ticks a run has after its abort: more than each label has, so that values there by then are returned. */
const ticksAfterAbort = 50

async function perform(task: Task, deps: RunDeps): Promise<TaskEnd> {
  if (task.kind === 'describe') return { kind: 'described', description: await describeCollector(task.collector) }
  if (task.kind === 'schema') return { kind: 'schema', schema: await optionsSchema(task.collector) }
  if (task.kind === 'price')
    return { kind: 'priced', prices: await readPrices(task.collector, task.hour, task.tokens, deps), pins: [] }
  if (task.kind === 'list') return { kind: 'listed', list: await readList(task, deps) }
  return { kind: 'collected', outcome: await collectHour(task.collector, task.hour, deps) }
}

async function start({ run, task, deadlineMs, requests, isGuarded }: StartedRun): Promise<void> {
  const { signal } = controllerOf(run)
  if (chainNames.length > 0) typedReads ??= await import('./typed-reads.ts')
  const uncaughtError = Promise.withResolvers<never>()
  const fail = (error: unknown) => {
    scope.line('warn', `uncaught error: ${thrownText(error).message}`)
    uncaughtError.reject(error)
  }
  const scope = createScope({ collectorId: task.collector.id, signal, post: postLine, fail })
  const chain: RunDeps['chain'] = (name, hour, hoursBefore, logHours) => {
    if (!typedReads || !chainNames.includes(name)) throw unknownChain(name, chainNames)
    const reader = asks.reader(run, name, hoursBefore, scope, logHours)
    return typedReads.chainAsOf(reader, hourAfter(hour, -hoursBefore), signal, name, requests !== undefined)
  }
  const price = (name: string) => asks.price(run, name, scope, signal)
  const list = (name: string, recent: boolean) => asks.list(run, name, recent, scope, signal)
  const own = asks.slotsOf(run)
  const shown = requests && new ShownHttp(requests, request => asks.http(run, request, signal))
  const performed = () => perform(task, { scope, signal, deadlineMs, slots: own, shown, chain, price, list })
  const work = inScope(scope, () => (isGuarded ? withoutNetwork(uncaughtError.reject, performed) : performed()))
  const first = Promise.race([work, uncaughtError.promise])
  const settled = await settledOrLate(first, signal, ticksAfterAbort)
  controllers.delete(run)
  postEnd({ run, end: endOf(settled, lateFault(scope, deadlineMs)) })
}

function controllerOf(run: string): AbortController {
  const controller = new AbortController()
  controllers.set(run, controller)
  return controller
}

function endOf(settled: Settled<TaskEnd>, late: Fault): TaskEnd {
  if (settled.kind === 'value') return settled.value
  const fault = settled.kind === 'late' ? late : faultOf(settled.error, 'collector-threw', undefined)
  return { kind: 'faulted', fault: faultRecord(fault) }
}

/** Sends the ends of runs. An end that cannot be sent does not hold up the others. */
function postEnds(runs: readonly EndedRun[]): void {
  line.postAll('ended', 'runs', runs, (run, why) => {
    const fault = new Fault('collector-output', `its result cannot be sent: ${why}`)
    line.post({ kind: 'ended', runs: [{ ...run, end: { kind: 'faulted', fault: faultRecord(fault) } }] })
  })
}

function postAsks(all: readonly Ask[]): void {
  line.postAll('asks', 'asks', all, ({ ask }, why) => {
    const fault = new Fault('collector-output', `its question cannot be sent: ${why}`)
    asks.replied(ask, { kind: 'faulted', fault: faultRecord(fault) })
  })
}

function receive(message: ToChild): void {
  if (message.kind === 'chains') chainNames = message.names
  if (message.kind === 'run') {
    setEgress(() => message.egress)
    for (const run of message.runs) void start(run)
  }
  if (message.kind === 'abort') controllers.get(message.run)?.abort(new Fault('stopped', 'the deadline has passed'))
  if (message.kind === 'ping') line.post({ kind: 'pong' })
  if (message.kind === 'replies') for (const { ask, reply } of message.replies) asks.replied(ask, reply)
}
line.post({ kind: 'ready' })
