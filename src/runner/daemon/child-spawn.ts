import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { resolve } from 'node:path'
import { Duplex, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endWithThis } from '../../edge/end-with-this.ts'
import { type ProcessorTime, processorTime } from '../../edge/processor-time.ts'
import { programUrl } from '../../edge/program-files.ts'
import { systemTime } from '../../edge/time.ts'
import { firstChars } from '../../model/text.ts'
import {
  type ChildLogLevel,
  childMessageCharsMax,
  collectorTextCharsMax,
  frameOf,
  type LogLine,
  lineDescriptor,
  runLogLinesMax,
  type ToChild,
} from '../messages.ts'
import { boundedLines } from './from-child.ts'

/** Interval of looks, in milliseconds. A process fills some hundred MB in it. */
const lookMs = 100

/** Memory of all processes of collectors together, in MB; `docs/deploy` adds up the rest. */
const childrenMemoryMbMax = 1_536

/** A watched process. */
interface BoundedProcess {
  /** Memory that it may have, in MB. */
  readonly mbMax: number
  /** Ends it. @param how what it did, to follow "its process " */
  readonly end: (how: string) => void
}

/**
 * Ends processes of collectors that take too much memory: V8 bounds its own heap, and no buffers. All together are
 * bounded, too; beyond that the largest is ended. Where the system does not say what a process has, the heap's bound
 * is the only one.
 */
class ChildMemory {
  readonly #watched = new Map<number, BoundedProcess>()
  #stop: AbortController | undefined

  add(pid: number, watched: BoundedProcess): void {
    this.#watched.set(pid, watched)
    if (!this.#stop) void this.#watch()
  }

  delete(pid: number): void {
    this.#watched.delete(pid)
    if (this.#watched.size > 0) return
    this.#stop?.abort(new Error('no process is left'))
    this.#stop = undefined
  }

  async #watch(): Promise<void> {
    const stop = new AbortController()
    this.#stop = stop
    while (!stop.signal.aborted) {
      this.#look()
      await systemTime.sleep(lookMs, stop.signal).catch(() => {})
    }
  }

  #look(): void {
    const sizes = [...this.#watched].map(([pid, childEntry]) => ({ pid, childEntry, mb: memoryMbOf(pid) }))
    let sum = sizes.reduce((all, { mb }) => all + mb, 0)
    for (const { pid, childEntry, mb } of sizes.sort((a, b) => b.mb - a.mb)) {
      const isTooLarge = mb > childEntry.mbMax
      if (!isTooLarge && sum <= childrenMemoryMbMax) return
      sum -= mb
      this.delete(pid)
      childEntry.end(
        isTooLarge
          ? `needed more than ${childEntry.mbMax} MB of memory`
          : `needed ${Math.round(mb)} MB of memory, more than any other, when all had more than ${childrenMemoryMbMax} MB`,
      )
    }
  }
}

/** Memory of a process in MB, without the files that it maps; 0 when that is not known. */
function memoryMbOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gm)].map(([, amount]) => Number(amount))
    return kilobytes.reduce((all, amount) => all + amount, 0) / 1_024
  } catch {
    return 0
  }
}

/** The memory of the children of this process. */
const childMemory = new ChildMemory()

/** Takes what a process says. */
interface ProcessListener {
  readonly log: (line: LogLine) => void
  /** Called with each line of the process, not yet parsed. @returns what the next line waits for */
  readonly hear: (line: string) => Promise<void> | undefined
  /** Called when a line exceeds the limit. */
  readonly tooLong: () => void
}

/** Bytes of replies that one child, and that all together, have not read: over that, one that reads no more is ended. */
const childBacklogBytesMax = 64 * 1_048_576
const backlogBytesMax = 96 * 1_048_576

/** Connections to the children of this process. */
const lines = new Set<Duplex>()

/** The process ended, or was ended because it did not answer, before the run was done. */
export interface Lost {
  readonly kind: 'lost'
  /** Fate of the process, to follow "its process ". */
  readonly how: string
  /** Advice about the collector; absent when there is none. */
  readonly fix?: string
  /** Whether it had, or the machine had, too little memory for what the process did. Default: no. */
  readonly lacksMemory?: boolean
  /** Why it is the machine that is to blame, as a clause; absent otherwise. */
  readonly starved?: string
}

/** A started process, as seen by the daemon. */
export interface Spawned {
  /** Collectors it was given: it may log for no others. An empty id: lines of the process as a whole. */
  readonly collectors: Set<string>
  /** Sets the listener for its output. Without one, as while it has no work, output is dropped. */
  listen(listener: ProcessListener | undefined): void
  /** Sends a message. @returns false when the process has left so much unread that nothing more is sent */
  post(message: ToChild): boolean
  /** Its processor time; `undefined` where the system does not say. */
  readonly processor: () => ProcessorTime | undefined
  /** Whether its memory is so near its bound that it may do nothing but look for free memory. */
  readonly isNearlyFull: () => boolean
  /** Ends it at once, whatever it is doing. */
  kill(): void
  /** As `kill`, for a process without work: this one does not wait for its end. */
  abandon(): void
  /** Resolves when the process has ended, with what happened to it. */
  readonly exited: Promise<Omit<Lost, 'kind'>>
}

/** Permissions of a new process. */
interface SpawnDeps {
  /** Files and folders it may read; it may write none. */
  readonly reads: readonly string[]
  /** Targets of links by their paths, which it must not follow itself. */
  readonly links: Readonly<Record<string, string>>
  /** Whether it may load `node:sqlite`, which opens any file, whatever the permissions. */
  readonly mayUseSqlite: boolean
  /** Folder that relative paths start from, if it exists. */
  readonly folder: string
  /** Limits of V8's heap, and of all memory of the process, in MB. */
  readonly heapMbMax: number
  readonly memoryMbMax: number
}

/** Share of the heap's bound from which on V8 may spend all its time on looking for free memory. */
const nearlyFull = 0.8

/** A collector that computes without end leaves the daemon its part of a processor. */
const childPriority = 10

const entry = fileURLToPath(programUrl('child'))

/** Environment variables that a collector's libraries may need; the rest of the daemon's may hold secrets. */
const environmentNames = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'NODE_EXTRA_CA_CERTS']

/**
 * Starts a process that runs collectors, with a minimal environment and under Node's permissions: it can read only the
 * given paths, and cannot write, start processes or load native code. Does not throw.
 */
export function spawnChild(deps: SpawnDeps): Spawned {
  const { heapMbMax, memoryMbMax, folder, links } = deps
  let child: ChildProcess
  try {
    child = spawn(process.execPath, [...flagsOf(deps), entry, JSON.stringify(links)], {
      env: environment(),
      ...(existsSync(folder) && { cwd: folder }),
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
  } catch (error) {
    return unstarted(Promise.resolve(error))
  }
  // Node reports some errors in the next tick, and has made no streams if there were no descriptors for them.
  if (child.pid === undefined) return unstarted(new Promise(resolve => child.once('error', resolve)))
  standBack(child)
  endWithThis(child)
  const fate = boundMemory(child, memoryMbMax)
  const line = child.stdio[lineDescriptor]
  child.on('error', () => {})
  const kill = () => void child.kill('SIGKILL')
  let listener: ProcessListener | undefined
  const isCut = line instanceof Duplex ? listen(child, line, () => listener) : () => false
  const hasCrashed = logLines(child, said => listener?.log(said))
  return {
    collectors: new Set(['']),
    listen(next) {
      listener = next
    },
    post: message => !(line instanceof Duplex) || say(line, message),
    processor: () => processorTime(child.pid),
    isNearlyFull: () => memoryMbOf(child.pid ?? 0) > nearlyFull * heapMbMax,
    kill,
    abandon() {
      kill()
      if (child.pid !== undefined) childMemory.delete(child.pid)
      for (const stream of child.stdio) stream?.destroy()
      child.unref()
    },
    exited: exitOf(child, signal => {
      if (fate.how !== undefined) return { how: fate.how, lacksMemory: true }
      if (hasCrashed()) return { how: `needed more than ${heapMbMax} MB of memory`, lacksMemory: true }
      if (signal !== 'SIGKILL') return {}
      // The system ends processes with it where the machine or the container has no memory left.
      return isCut() ? { how: 'ended with SIGKILL, or closed its connection to the daemon' } : { lacksMemory: true }
    }),
  }
}

function flagsOf({ heapMbMax, reads, mayUseSqlite }: SpawnDeps): string[] {
  return [
    `--max-old-space-size=${heapMbMax}`,
    '--permission',
    // Before Node 24.15 its first use is a warning.
    mayUseSqlite ? '--disable-warning=ExperimentalWarning' : '--no-experimental-sqlite',
    '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    ...reads.map(path => `--allow-fs-read=${path}`),
  ]
}

/** Length from which on a line waits for a tick of its own: to parse it may hold the event loop for 0.2 s. */
const longLineChars = 65_536

let lastLongLine: Promise<unknown> = Promise.resolve()

/** Resolves in a tick of the event loop in which no long line of any other process is taken. */
function ownTick(): Promise<unknown> {
  lastLongLine = lastLongLine.then(() => setImmediate())
  return lastLongLine
}

/**
 * Reads the process's lines.
 * @returns a function that tells whether the connection was closed while the process lived
 */
function listen(child: ChildProcess, line: Duplex, listener: () => ProcessListener | undefined): () => boolean {
  let isCut = false
  lines.add(line)
  line
    .on('error', () => {})
    .on('close', () => {
      lines.delete(line)
      isCut = child.exitCode === null && child.signalCode === null
      // A process that has closed its connection can send nothing more.
      child.kill('SIGKILL')
    })
  void readLines(line, listener)
  return () => isCut
}

/** Reads all lines of a process's connection, in their order. Never rejects. */
export async function readLines(line: Readable, listener: () => ProcessListener | undefined): Promise<void> {
  const linesOf = boundedLines(childMessageCharsMax)
  try {
    for await (const piece of line.setEncoding('utf8')) {
      const result = linesOf(piece)
      if (result.kind === 'too-long') return listener()?.tooLong()
      for (const each of result.lines) {
        if (each.length > longLineChars) await ownTick()
        await listener()?.hear(each)
      }
    }
  } catch {
    // A connection that breaks off shows in the exit.
  }
}

function say(line: Duplex, message: ToChild): boolean {
  if (line.destroyed) return true
  const backlogs = [...lines].map(({ writableLength }) => writableLength)
  const isMost = line.writableLength > 0 && line.writableLength >= Math.max(...backlogs)
  if (line.writableLength > childBacklogBytesMax) return false
  if (isMost && backlogs.reduce((sum, bytes) => sum + bytes, 0) > backlogBytesMax) return false
  // Not awaited: a closed connection shows in the exit.
  line.write(frameOf(message))
  return true
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    environmentNames.flatMap(name => {
      const value = process.env[name]
      // A child works in another folder than the daemon.
      const own = name === 'NODE_EXTRA_CA_CERTS' && value ? resolve(value) : value
      return own === undefined ? [] : [[name, own] as const]
    }),
  )
}

/** Asks the system to prefer the daemon where memory or processors are short, where it can be asked. */
function standBack({ pid }: ChildProcess): void {
  if (pid === undefined) return
  for (const ask of [
    () => writeFileSync(`/proc/${pid}/oom_score_adj`, '1000'),
    () => setPriority(pid, childPriority),
  ]) {
    try {
      ask()
    } catch {}
  }
}

/** Has it ended when it takes more memory. @returns why it was ended for that; empty while it was not */
function boundMemory(child: ChildProcess, mbMax: number): { readonly how?: string } {
  const fate: { how?: string } = {}
  const { pid } = child
  if (pid === undefined) return fate
  const end = (how: string) => {
    fate.how = how
    child.kill('SIGKILL')
  }
  childMemory.add(pid, { mbMax, end })
  child.once('exit', () => childMemory.delete(pid))
  return fate
}

/** Event-loop ticks to read the last output; a process started by a collector may hold the pipe open. */
const ticksToRead = 50

async function exitOf(
  child: ChildProcess,
  explain: (signal: NodeJS.Signals | null) => Partial<Omit<Lost, 'kind'>>,
): Promise<Omit<Lost, 'kind'>> {
  const closeEvent = new Promise<void>(resolve => child.once('close', () => resolve()))
  const signal = await new Promise<NodeJS.Signals | null>(resolve => {
    child.once('exit', (_, by) => resolve(by))
  })
  await Promise.race([closeEvent, ticks(ticksToRead)])
  return { how: `ended with ${signal ?? `exit code ${child.exitCode}`}`, ...explain(signal) }
}

/** Why the system starts no process, and what a person can do. */
const unstartedReasons: Readonly<Record<string, readonly [reason: string, fix: string]>> = {
  EMFILE: ['Tidegauge has too many files open', 'raise its limit (ulimit -n, LimitNOFILE of the service)'],
  ENFILE: ['the machine has too many files open', 'end what has them open, or raise fs.file-max'],
  EAGAIN: [
    'no further process is allowed',
    'raise the limit (ulimit -u, TasksMax of the service, pids of the container)',
  ],
  ENOMEM: ['no memory is left for it', 'free some, or allow the daemon more'],
}

/** Stand-in for a process that could not be started. */
function unstarted(why: Promise<unknown>): Spawned {
  const exit = why.then(error => {
    const { code = '', message = '' } = error as { code?: string; message?: string }
    const [reason = message, fix = `check that ${process.execPath} can be run`] = unstartedReasons[code] ?? []
    return { how: `could not be started: ${reason}${reason === message ? '' : `, ${code}`}`, fix }
  })
  const nothing = { processor: () => undefined, isNearlyFull: () => false }
  return { collectors: new Set(), listen() {}, post: () => true, ...nothing, kill() {}, abandon() {}, exited: exit }
}

async function ticks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await setImmediate()
}

/**
 * Logs output that bypassed the console, up to a limit, except V8's report of a full heap, which is one event.
 *
 * @returns a function that tells whether that report was seen
 */
function logLines(child: ChildProcess, log: (line: LogLine) => void): () => boolean {
  let isCrash = false
  const forward = (stream: Readable | null, level: ChildLogLevel) => {
    if (!stream) return
    eachLine(stream, message => {
      isCrash ||= message.startsWith('<--- Last few GCs') || message.startsWith('FATAL ERROR')
      if (!isCrash) log({ collectorId: '', level, message, facts: {} })
    })
  }
  forward(child.stdout, 'info')
  forward(child.stderr, 'warn')
  return () => isCrash
}

/** Reads lines up to a number and a length; the rest is read and dropped, so that endless output fills no memory. */
function eachLine(stream: Readable, take: (line: string) => void): void {
  let [remainder, linesLeft] = ['', runLogLinesMax]
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (linesLeft <= 0) return
    const lines = `${remainder}${chunk}`.split('\n')
    remainder = firstChars(lines.pop() ?? '', collectorTextCharsMax)
    const whole = lines.filter(line => line.trim() !== '').slice(0, linesLeft)
    linesLeft -= whole.length
    for (const line of whole) take(firstChars(line, collectorTextCharsMax))
  })
}
