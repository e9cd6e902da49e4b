import { type ChildProcess, fork } from 'node:child_process'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { collectorTextCharsMax, runLogLinesMax } from './limits.ts'
import type { FromChild, LogLevel, LogLine, ToChild } from './messages.ts'

/** A started process, as seen by the daemon. */
export interface Spawned {
  post(message: ToChild): void
  /** At once, whatever the process is doing. */
  kill(): void
  /** Resolves when the process is gone, with what happened to it, to follow "its process ". */
  readonly exited: Promise<string>
}

/** What a new process gets, and where what it says goes. */
export interface SpawnEdge {
  readonly chainNames: readonly string[]
  readonly heapMbMax: number
  readonly log: (line: LogLine) => void
  readonly receive: (message: FromChild) => void
}

const entry = fileURLToPath(new URL('./child-main.ts', import.meta.url))

/** Variables that a collector's libraries may need; the rest of the daemon's environment may hold secrets. */
const environmentNames = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'NODE_EXTRA_CA_CERTS']

/** Starts a process that runs collectors, with nothing of the environment that it does not need. Does not throw. */
export function spawnChild({ chainNames, heapMbMax, log, receive }: SpawnEdge): Spawned {
  const environment = environmentNames.flatMap(name => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const child = fork(entry, chainNames, {
    env: Object.fromEntries(environment),
    execArgv: [`--max-old-space-size=${heapMbMax}`, '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.on('message', message => {
    if (isFromChild(message)) receive(message)
  })
  const crashed = logLines(child, log)
  return {
    post: message => {
      // Its answer is not waited for: a channel that is closed is told by the exit.
      if (child.connected) child.send(message, () => {})
    },
    kill: () => child.kill('SIGKILL'),
    exited: exitOf(child, () => (crashed() ? `needed more than ${heapMbMax} MB of memory` : undefined)),
  }
}

function isFromChild(message: unknown): message is FromChild {
  return typeof message === 'object' && message !== null && 'kind' in message
}

/** Turns of the event loop given to what the process has printed last; a process of its own may hold the pipe open. */
const turnsToRead = 50

async function exitOf(child: ChildProcess, why: () => string | undefined): Promise<string> {
  const unstarted = new Promise<string>(resolve => {
    child.on('error', error => {
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`)
    })
  })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const exited = new Promise<string>(resolve => {
    child.once('exit', (code, signal) => resolve(`ended with ${signal ?? `exit code ${code}`}`))
  }).then(async how => {
    await Promise.race([closed, turned(turnsToRead)])
    return why() ?? how
  })
  return Promise.race([unstarted, exited])
}

async function turned(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await setImmediate()
}

/**
 * What is printed past the console goes to the log, a bounded part of it, but for V8's report of a full heap, which is
 * one fact.
 *
 * @returns whether that report was seen
 */
function logLines(child: ChildProcess, log: (line: LogLine) => void): () => boolean {
  let crashed = false
  const each = (stream: Readable | null, level: LogLevel) => {
    if (!stream) return
    eachLine(stream, message => {
      crashed ||= message.startsWith('<--- Last few GCs') || message.startsWith('FATAL ERROR')
      if (!crashed) log({ collectorId: '', level, message, facts: {} })
    })
  }
  each(child.stdout, 'info')
  each(child.stderr, 'warn')
  return () => crashed
}

/** Lines up to a number and a length; the rest is read and dropped, so that whoever prints without end fills no memory. */
function eachLine(stream: Readable, take: (line: string) => void): void {
  let [rest, left] = ['', runLogLinesMax]
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (left <= 0) return
    const lines = `${rest}${chunk}`.split('\n')
    rest = (lines.pop() ?? '').slice(0, collectorTextCharsMax)
    const whole = lines.filter(line => line.trim() !== '').slice(0, left)
    left -= whole.length
    for (const line of whole) take(line.slice(0, collectorTextCharsMax))
  })
}
