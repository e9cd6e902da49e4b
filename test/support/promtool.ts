import { spawnSync } from 'node:child_process'
import { findProgram } from './program.ts'

export const promtoolPlace = findProgram('promtool', 'prometheus')

/** Runs promtool. @returns what it says @throws Error with that, when it finds a fault */
export function promtool(args: readonly string[], input = ''): string {
  if (promtoolPlace.kind === 'missing') throw new Error(promtoolPlace.reason)
  const { status, stdout, stderr } = spawnSync(promtoolPlace.path, args, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

/** Checks an exposition's names, types, units and descriptions. @throws Error that says what is wrong */
export function checkMetrics(exposition: string): void {
  const said = promtool(['check', 'metrics'], exposition)
  if (said.trim() !== '') throw new Error(said)
}
