import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))
export const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')

/** Code blocks of a section of docs/tutorial.md, in their order. */
export function blocks(section: string, language: string): string[] {
  const text = tutorial.split(/^## /m).find(part => part.startsWith(`${section}\n`)) ?? ''
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code)
}

/** The commands of a section, without their comments. */
export function commands(section: string): string[] {
  return blocks(section, 'sh').flatMap(block =>
    block
      .split('\n')
      .map(line => line.replace(/ +#.*/, ''))
      .filter(Boolean),
  )
}

/** Files of a clone, with its packages. */
export function cleanClone(): string {
  const clone = temporaryFolder()
  for (const name of ['src', 'collectors', 'config', 'test', 'package.json', '.npmrc']) {
    const filter = (path: string) =>
      !/node_modules|^config\/(mine\.yaml|tide\.yaml|supply\.ts)$/.test(path.slice(root.length))
    cpSync(join(root, name), join(clone, name), { recursive: true, filter })
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  return clone
}

export interface Shell {
  readonly child: ChildProcess
  /** Resolves once its output holds these words; rejects when it ends before. */
  says(words: RegExp): Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>
}

/** As in a terminal: what npm tells the tests about their own run is not for the commands. */
const ownEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name)))

/** Types a command; whatever it has started ends with the test. */
export function type(command: string, cwd: string): Shell {
  const child = spawn('sh', ['-c', command], { cwd, env: ownEnv, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  const looks = new Set<() => void>()
  const heard = (chunk: Buffer) => {
    text += chunk
    for (const look of looks) look()
  }
  child.stdout.on('data', heard)
  child.stderr.on('data', heard)
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, text }))
  onTestFinished(async () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGTERM')
    } catch {
      // It has ended.
    }
    await ended
  })
  const says = (words: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => void (words.test(text) && resolve(text))
      looks.add(look)
      look()
      void ended.then(end =>
        reject(new Error(`${command} ended with ${end.code} before it said ${words}:\n${end.text}`)),
      )
    })
  return { child, says, ended }
}
