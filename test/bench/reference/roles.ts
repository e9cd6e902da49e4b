import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const connections = 16
export const metricsPerPush = 100

export function protocolIdOf(connection: number): string {
  return `bench-${connection}`
}

/** What the load process is asked for: a number of pushes, or as many as fit in a time. */
export interface Load {
  readonly url: string
  readonly key: string
  /** Hours since the first that no earlier load has used. */
  readonly startHour: number
  readonly pushes?: number
  readonly ms?: number
}

export interface Loaded {
  readonly pushes: number
  readonly ms: number
  /** Pushes that were not answered 200, with all metrics processed and no warning. */
  readonly errors: number
}

/** A process of the benchmark that answers a line with a line. */
export interface Role {
  readLine<T>(): Promise<T>
  writeLine(value: unknown): void
  stop(): Promise<void>
}

export function startRole(script: string, ...args: string[]): Role {
  const child = spawn(process.execPath, [new URL(script, import.meta.url).pathname, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async readLine<T>() {
      const line = await lines.next()
      if (line.done) throw new Error(`${script} ended before it answered`)
      return JSON.parse(line.value) as T
    },
    writeLine: value => child.stdin.write(`${JSON.stringify(value)}\n`),
    async stop() {
      child.stdin.end()
      await closed
    },
  }
}
