import { hourText } from '../../model/hour.ts'
import { printTable } from '../table.ts'
import { counted, cut, print } from '../terminal.ts'
import type { ServiceComparison, ServiceDifference } from './compare.ts'

/** A protocol as it was compared, or why it could not be. */
export type Verified = { readonly protocolId: string } & (
  | ({ readonly kind: 'compared' } & ServiceComparison)
  | { readonly kind: 'unreadable'; readonly reason: string }
)

/** Differences in the table of a protocol. */
const rowsMax = 50
/** Characters of a reason. */
const reasonCharsMax = 160

const kindText: Readonly<Record<ServiceDifference['kind'], string>> = {
  missing: 'missing at the service',
  value: 'other value',
  unit: 'other unit',
  unknown: 'unknown here',
}

/** Prints a line for each protocol, and a table of its differences. */
export function printVerified(found: readonly Verified[]): void {
  for (const one of found) {
    if (one.kind === 'unreadable') print(`${one.protocolId}: cannot be compared: ${cut(one.reason, reasonCharsMax)}`)
    else printCompared(one.protocolId, one)
  }
}

function printCompared(protocolId: string, { compared, notShown, differences }: ServiceComparison): void {
  print(`${protocolId}: ${resultText(compared, differences)}${hiddenText(notShown)}`)
  if (differences.length === 0) return
  printTable(['difference', 'metric', 'hour', 'delivered', 'shown'], differences.slice(0, rowsMax).map(rowOf), [
    'delivered',
    'shown',
  ])
  if (differences.length > rowsMax)
    print(`and ${counted(differences.length - rowsMax, 'difference')} more: --json has all`)
}

function resultText(compared: number, differences: readonly ServiceDifference[]): string {
  if (differences.length === 0) {
    return compared === 0
      ? 'nothing that was delivered could be compared'
      : `${counted(compared, 'metric')} compared, all equal`
  }
  const byKind = [...Map.groupBy(differences, ({ kind }) => kind)]
  const kinds = byKind.map(([kind, own]) => `${own.length} ${kindText[kind]}`).join(', ')
  return `${counted(compared, 'metric')} compared: ${kinds}`
}

function hiddenText(notShown: number): string {
  return notShown === 0 ? '' : `; ${counted(notShown, 'metric')} not compared: the service does not show those hours`
}

function rowOf({ kind, id, hour, ours, shown }: ServiceDifference): string[] {
  return [kindText[kind], id, hourText(hour), valueText(ours), valueText(shown)]
}

function valueText(of: { readonly value?: number; readonly unit?: string } | undefined): string {
  if (!of) return '–'
  return [String(of.value ?? '?'), of.unit ?? ''].join(' ').trim()
}

/** @param pushedAgain metrics that were made due again for a repair */
export function verifiedJson(found: readonly Verified[], pushedAgain: number) {
  return {
    protocols: found.map(({ protocolId, ...one }) => {
      if (one.kind === 'unreadable') return { protocol: protocolId, comparable: false, reason: one.reason }
      const differences = one.differences.map(({ hour, ...rest }) => ({ ...rest, hour: hourText(hour) }))
      return { protocol: protocolId, comparable: true, compared: one.compared, notShown: one.notShown, differences }
    }),
    pushedAgain,
  }
}
