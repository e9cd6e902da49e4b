import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { endWithThis } from '../../src/edge/end-with-this.ts'
import type { Time } from '../../src/edge/time.ts'
import type { StatusJson } from '../../src/status/json.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const stopMsMax = 20_000
const ownEndMsMax = 2_000
const answerMsMax = 10_000
const tailLines = 15

/** The real daemon, as a child process. */
export interface Daemon {
  /** Its end, once it has ended. */
  readonly ended: Promise<string>
  /** The last lines of its log. */
  tail(): readonly string[]
  /**
   * Complete when it has ended; killed when it takes longer than 20 seconds.
   *
   * @param isAsked it has had a signal already; a second one would cut its stop short, so it is given time first
   */
  stop(parts: { readonly isAsked: boolean }): Promise<void>
}

export function startDaemon(files: { readonly config: string; readonly log: string }, time: Time): Daemon {
  const log = openSync(files.log, 'a')
  const child = spawn(process.execPath, ['src/bin.cjs', 'run', '--config', files.config], {
    cwd: root,
    stdio: ['ignore', log, log],
  })
  endWithThis(child)
  closeSync(log)
  const closed = once(child, 'close')
  return {
    ended: closed.then(([code, signal]) => (signal ? `signal ${signal}` : `exit code ${code}`)),
    tail: () => readFileSync(files.log, 'utf8').trimEnd().split('\n').slice(-tailLines),
    async stop({ isAsked }) {
      const isClosed = (ms: number) => inTime(closed, ms, time)
      if (isAsked && (await isClosed(ownEndMsMax))) return
      child.kill('SIGTERM')
      if (await isClosed(stopMsMax)) return
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** Whether it resolves in time. */
async function inTime(promise: Promise<unknown>, ms: number, time: Time): Promise<boolean> {
  const patience = new AbortController()
  const late = time.sleep(ms, patience.signal).then(() => false)
  const isInTime = await Promise.race([promise.then(() => true), late])
  patience.abort()
  await late.catch(() => {})
  return isInTime
}

/** Status of the daemon; `undefined` while it does not answer. */
export async function statusOf(url: string, time: Time): Promise<StatusJson | undefined> {
  try {
    const response = await fetch(`${url}/status.json`, { signal: time.timeout(answerMsMax) })
    return response.ok ? ((await response.json()) as StatusJson) : undefined
  } catch {
    return undefined
  }
}

/** The preferred port on loopback when it is free, else one the system picks. */
export async function freePort(preferred: number): Promise<number> {
  return (await listenOnce(preferred)) ?? (await listenOnce(0)) ?? Promise.reject(new Error('no port is free'))
}

/** Whether nothing listens on a port. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined
}

/** The port that could be listened on; `undefined` when it could not. */
async function listenOnce(port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return undefined
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? address?.port : undefined
}
