import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'

const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url))

export interface ProgramRun {
  /** Its folder for temporary files: what is left behind is seen. */
  readonly folder: string
  readonly child: ChildProcess
  /** Everything printed so far. */
  text(): string
  /** Resolves when a line with these words is printed; rejects when it ends before. */
  says(words: RegExp): Promise<RegExpExecArray>
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>
  /** Those of its processes that are still there: the chain, the daemon and whatever else it started. */
  processes(): StartedProcess[]
}

interface StartedProcess {
  readonly pid: number
  readonly command: string
}

/** Starts the demo as `npm run demo` does. */
export function startDemo(args: readonly string[], env?: NodeJS.ProcessEnv): ProgramRun {
  return startProgram([main, ...args], env)
}

/**
 * Starts a program of Node in a group of its own, in an empty folder that is its folder for temporary files, too. It ends
 * with the test, at the latest.
 */
export function startProgram(argv: readonly string[], env: NodeJS.ProcessEnv = {}): ProgramRun {
  const folder = temporaryFolder()
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    env: { ...process.env, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
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
    processes() {
      const lines = execFileSync('ps', ['-A', '-o', 'pid=,pgid=,args=']).toString().split('\n')
      return lines.flatMap(line => {
        const [, pid, group, command = ''] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? []
        // The chain has a group of its own, and names its folder.
        return Number(group) === child.pid || command.includes(folder) ? [{ pid: Number(pid), command }] : []
      })
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
