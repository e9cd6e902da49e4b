import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { packageUrl } from '../../src/edge/program-files.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { temporaryFolder } from './folder.ts'

/** The command line as it is installed, which tests start, and as it is in a clone. */
const bundled = fileURLToPath(new URL('dist/bin.cjs', packageUrl))
export const source = fileURLToPath(new URL('src/bin.cjs', packageUrl))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts a command line; it is killed when the test ends, at the latest. */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  main: string = bundled,
): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Runs a command line as a user types it, to its end. */
export async function tidegauge(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  main?: string,
): Promise<Ended> {
  const child = start(args, env, main)
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr: withoutProgress(stderr) }
}

/** Progress depends on the speed of the machine: tests do not compare it. */
export function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^loaded so far: .*\n/gm, '')
}

/** Resolves with the line of stderr that fits; rejects when the command has ended without one. */
export async function says(child: ChildProcess, what: RegExp): Promise<string> {
  if (!child.stderr) throw new Error('it says nothing')
  const lines = createInterface({ input: child.stderr })
  return new Promise((resolve, reject) => {
    lines.on('line', line => what.test(line) && resolve(line))
    lines.on('close', () => reject(new Error(`it never said ${what}`)))
  })
}

/** Before a daemon is asked again: one that is asked without a pause has no time for its work. */
export function untilNextLook(): Promise<void> {
  return systemTime.sleep(20)
}

export interface RunningDaemon {
  /** Address of the status server. */
  readonly url: string
  readonly pid: number
  /** Every line of the log so far. */
  readonly log: string[]
  /** The line of the log, also an earlier one, whose message fits for the n-th time; the first by default. */
  logged(message: string | RegExp, time?: number): Promise<Record<string, unknown>>
  /** `status.json`, as soon as it fits. */
  status<T>(fits: (status: T) => boolean): Promise<T>
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Resolves with the exit code when it has ended. */
  readonly ended: Promise<number | null>
}

/** Starts `tidegauge run` and waits until it runs. */
export async function startDaemon(
  config: string,
  env: Readonly<Record<string, string>> = {},
  main?: string,
): Promise<RunningDaemon> {
  const child = start(['run', '--config', config], env, main)
  const closed = once(child, 'close') as Promise<[number | null]>
  const log: string[] = []
  const waiting = new Set<() => void>()
  const output = () => new Promise<void>(resolve => waiting.add(resolve))
  const wake = () => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  if (child.stderr) {
    createInterface({ input: child.stderr }).on('line', line => {
      log.push(line)
      wake()
    })
  }
  let hasEnded = false
  void closed.then(() => {
    hasEnded = true
    wake()
  })

  async function logged(message: string | RegExp, time = 1): Promise<Record<string, unknown>> {
    for (let [seen, left] = [0, time]; ; ) {
      for (; seen < log.length; seen += 1) {
        const line = JSON.parse(log[seen] ?? '') as Record<string, unknown>
        const text = String(line['msg'])
        if (typeof message === 'string' ? text === message : message.test(text)) left -= 1
        if (left === 0) return line
      }
      if (hasEnded) throw new Error(`the daemon ended before it logged ${message}:\n${log.join('\n')}`)
      await output()
    }
  }

  const url = String((await logged('running'))['page']).replace(/\/$/, '')
  return {
    url,
    pid: child.pid ?? 0,
    log,
    logged,
    async status<T>(fits: (status: T) => boolean) {
      for (;;) {
        const response = await fetch(`${url}/status.json`)
        const status = (await response.json()) as T
        // An outbox that does not answer is no status: the machine is busy, or its database is.
        if (response.ok && fits(status)) return status
        await untilNextLook()
      }
    },
    ended: closed.then(([code]) => code),
    async kill(signal) {
      child.kill(signal)
      return (await closed)[0]
    },
  }
}

/** Whether a daemon has collected something, and delivered all of it. */
export const allDelivered = ({ balance }: StatusJson) => balance.enqueued > 0 && balance.due === 0

/** A folder with a configuration `config/tidegauge.yaml` that keeps its data in `data/`. */
export function configured(
  yaml: string,
  files: Readonly<Record<string, string>> = {},
): { folder: string; config: string } {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'config'))
  const config = join(folder, 'config', 'tidegauge.yaml')
  writeFileSync(config, yaml)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'config', name)), { recursive: true })
    writeFileSync(join(folder, 'config', name), text)
  }
  return { folder, config }
}

/** The embedded service, the `host` collector, and a port the system picks. */
export const hostYaml = `service: embedded
status: { listen: "127.0.0.1:0" }
protocols:
  - id: this-machine
    name: This machine
    collectors:
      - use: host
`

/** A collector's file: one label, one value. */
export const levelCollector = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Level: {} },
  history: false,
  collect: () => ({ Level: 1 }),
})
`
