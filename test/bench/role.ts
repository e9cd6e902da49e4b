import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A process of the benchmark that answers a line with a line. */
export interface Role {
  /** Rejects when the process ends instead. */
  readLine<T>(): Promise<T>
  writeLine(value: unknown): void
  /** Ends its input, and waits until it has ended. */
  stop(): Promise<void>
}

/** Starts a script of the benchmark under this Node; what it writes on stderr is seen, unless `errors` says otherwise. */
export function startRole(script: URL, args: readonly string[], errors: number | 'inherit' = 'inherit'): Role {
  const child = spawn(process.execPath, [script.pathname, ...args], { stdio: ['pipe', 'pipe', errors] })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error(`${script.pathname} has no pipes`)
  const closed = once(child, 'close')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return {
    async readLine<T>() {
      const line = await lines.next()
      if (line.done) throw new Error(`${script.pathname} ended before it answered`)
      return JSON.parse(line.value) as T
    },
    writeLine: value => stdin.write(`${JSON.stringify(value)}\n`),
    async stop() {
      stdin.end()
      await closed
    },
  }
}
