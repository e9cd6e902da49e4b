import { sources } from './sources.ts'

const limitsFile = 'src/model/limits.ts'

/** Shared limits that one folder uses, and that no relation ties to a limit of another folder. */
export function limitsOfOneFolder(): string[] {
  const text = sources.find(({ file }) => file === limitsFile)?.text ?? ''
  const names = [...text.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name)
  const usersOf = (name: string) =>
    sources
      .filter(({ file, text }) => file !== limitsFile && new RegExp(`\\b${name}\\b`).test(text))
      .map(({ file }) => file.split('/')[1] ?? '')
  // Each relation is an array that begins with what holds.
  const tied = [...text.matchAll(/^ {2}\[\s*([^']+),\s*'/gm)]
    .map(([, holds = '']) => names.filter(name => new RegExp(`\\b${name}\\b`).test(holds)))
    .filter(related => new Set(related.flatMap(usersOf)).size > 1)
    .flat()
  return names.filter(name => new Set(usersOf(name)).size < 2 && !tied.includes(name))
}
