import { dirname } from 'node:path'
import { sources } from './sources.ts'

/**
 * Limits that lie above the one folder that uses them, or elsewhere; but for those that a relation ties to a limit of
 * another folder.
 */
export function limitsOfOneFolder(): string[] {
  return sources.filter(({ file }) => /limits\.ts$/.test(file)).flatMap(limitsFarFromUsers)
}

function limitsFarFromUsers({ file, text }: { readonly file: string; readonly text: string }): string[] {
  const names = [...text.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name)
  const foldersOf = (name: string) => {
    const users = sources.filter(source => source.file !== file && new RegExp(`\\b${name}\\b`).test(source.text))
    return [...new Set(users.map(source => dirname(source.file)))]
  }
  // Each relation is an array that begins with what holds.
  const tied = [...text.matchAll(/^ {2}\[\s*([^']+),\s*'/gm)]
    .map(([, holds = '']) => names.filter(name => new RegExp(`\\b${name}\\b`).test(holds)))
    .filter(related => new Set(related.flatMap(foldersOf)).size > 1)
    .flat()
  const home = dirname(file)
  return names
    .filter(name => !tied.includes(name))
    .map(name => ({ name, folders: foldersOf(name) }))
    .filter(({ name, folders }) => (folders.length > 0 ? !isShared(folders, home) : !isUsedIn(text, name)))
    .map(({ name, folders }) => `${file}: ${name} is used in ${folders.join(', ') || 'no file'}`)
}

const isUsedIn = (text: string, name: string) => text.split(new RegExp(`\\b${name}\\b`)).length > 2

/** Whether a limit lies in the folder of its users, or where they meet. */
function isShared(folders: readonly string[], home: string): boolean {
  const shared = folders.reduce(commonFolder)
  return shared === home || (folders.length > 1 && home.startsWith(`${shared}/`))
}

function commonFolder(one: string, other: string): string {
  const [steps, others] = [one.split('/'), other.split('/')]
  const differs = steps.findIndex((step, at) => step !== others[at])
  return (differs < 0 ? steps : steps.slice(0, differs)).join('/')
}
