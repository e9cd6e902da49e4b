import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/folder.ts'

const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url))

export interface DemoRun {
  /** Its folder for temporary files: what is left behind is seen. */
  readonly folder: string
  readonly child: ChildProcess
  /** Everything printed so far. */
  text(): string
  /** Resolves when a line with these words is printed; rejects when the demo ends before. */
  says(words: RegExp): Promise<RegExpExecArray>
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>
  /** Whether the chain, the daemon or whatever else it started is still there. */
  hasProcesses(): boolean
}

/** Starts the demo as `npm run demo` does. */
export function startDemo(args: readonly string[], env: NodeJS.ProcessEnv = {}): DemoRun {
  const folder = temporaryFolder()
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  child.stderr.on('data', chunk => {
    printed += chunk
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    folder,
    child,
    text: () => printed,
    ended,
    hasProcesses() {
      try {
        return process.kill(-(child.pid ?? 0), 0)
      } catch {
        return false
      }
    },
    says: words =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = words.exec(printed)
          if (match) resolve(match)
        }
        look()
        child.stdout.on('data', look)
        ended.then(() => reject(new Error(`it ended before it said ${words}:\n${printed}`)))
      }),
  }
}
