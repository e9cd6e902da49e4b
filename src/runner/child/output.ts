import { Fault, type FaultRecord, faultRecord } from '../../model/fault.ts'
import { undeclaredLabelsMax } from './limits.ts'
import type { Prepared } from './prepare.ts'
import type { Settled } from './settled-or-late.ts'
import { cut, faultOf, shown } from './thrown/thrown.ts'

/** Result of one label of an output. */
export type LabelEnd = { readonly label: string } & (
  | { readonly kind: 'reading'; readonly value: number }
  | { readonly kind: 'failure'; readonly fault: FaultRecord }
)

/** The value of a label, still to be awaited. A getter that throws gives a rejected promise. */
export function valueUnder(output: unknown, label: string): Promise<unknown> {
  return new Promise(resolve => {
    if (typeof output !== 'object' || output === null) throw wrong(`collect returned ${shown(output)}, not an object`)
    if (!Reflect.has(output, label)) throw wrong(`"${label}" is declared, but missing in what collect returned`)
    resolve(Reflect.get(output, label))
  })
}

/** The collector of a label. */
export type LabelSource = Pick<Prepared, 'file' | 'isShipped'>

/** Checks a label's value: only a finite number is one. */
export function labelEnd(label: string, settled: Settled, late: Fault, { file, isShipped }: LabelSource): LabelEnd {
  if (settled.kind === 'late') return failed(label, late)
  if (settled.kind === 'threw') return failed(label, faultOf(settled.error, 'collector-threw', file))
  const { value } = settled
  if (typeof value === 'number' && Number.isFinite(value)) return { label, kind: 'reading', value }
  return failed(label, wrong(`"${label}" is ${shown(value)}, not a finite number`, fixFor(value, isShipped)))
}

/** A failure for each returned label that is not declared; when there are many, only their number. */
export function undeclaredEnds(output: unknown, declared: readonly string[]): LabelEnd[] {
  const undeclared = ownLabels(output).filter(label => !declared.includes(label))
  const more = undeclared.length - undeclaredLabelsMax
  return undeclared.slice(0, undeclaredLabelsMax).map((label, index) => {
    const others = index === undeclaredLabelsMax - 1 && more > 0 ? `, and ${more} more` : ''
    const name = cut(label)
    return failed(
      name,
      wrong(`"${name}"${others}: returned but not declared`, 'add it to metrics, or do not return it'),
    )
  })
}

/** Fault when `collect` returned no object. */
export function outputFault(output: unknown): Fault | undefined {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) return undefined
  return wrong(`collect returned ${shown(output)}, not an object of readings by label`)
}

function ownLabels(output: unknown): string[] {
  try {
    return typeof output === 'object' && output !== null ? Object.keys(output) : []
  } catch {
    return []
  }
}

function fixFor(value: unknown, isShipped: boolean): string {
  if (isShipped) return 'take another value, or give it more `decimals`: no number is larger than 1.8e308'
  if (typeof value === 'bigint') return 'turn it into a number with units(amount, decimals)'
  if (value === null || value === undefined) return 'throw, or reject, when a value is not known'
  return 'return a number, or reject when there is none; is an await missing?'
}

function failed(label: string, fault: Fault): LabelEnd {
  return { label, kind: 'failure', fault: faultRecord(fault) }
}

function wrong(message: string, fix?: string): Fault {
  return new Fault('collector-output', message, fix === undefined ? {} : { fix })
}
