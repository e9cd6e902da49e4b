import type { Source } from './sources.ts'

/** What starts processes: Node itself, the command line, and the runner of collectors. */
const starters = [
  'node:child_process',
  'src/runner/daemon/process-runner.ts',
  'test/runner/setup.ts',
  'test/support/command.ts',
  'test/support/tidegauge.ts',
]

/** Whether a file of the tests starts processes itself. */
export function startsProcesses({ file, imports }: Source): boolean {
  return !file.startsWith('test/tidy') && imports.some(({ target, isType }) => !isType && starters.includes(target))
}

const deadline = /\b(?:deadline|timeout)(?:Ms: ([\d_]+)|: ([\d.]+)s)\b/g

/** Deadlines of the product in a text, in its options and in YAML, that are shorter than a minute. */
export function shortDeadlines(text: string): string[] {
  return [...text.matchAll(deadline)]
    .filter(([, ms, seconds]) => Number((ms ?? `${Number(seconds) * 1_000}`).replaceAll('_', '')) < 60_000)
    .map(([found]) => found)
}
