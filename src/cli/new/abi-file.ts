import { readFileSync } from 'node:fs'
import { Fault } from '../../model/fault.ts'
import { isRecord, parsedJson } from '../../model/json.ts'
import { type Answered, type Asked, askedIn } from './answers.ts'
import type { ReadEntry } from './identify.ts'

/** View functions of an ABI that are asked for, at most: they share one call. */
const functionsMax = 200

/**
 * Functions of a JSON ABI, or of an artefact with one in `abi`.
 *
 * @throws Fault `usage` when the file cannot be read, is no ABI, or has no view function without arguments
 */
export function abiFunctions(file: string): Asked[] {
  const abi = abiIn(parsedJson(textOf(file)))
  if (!abi) {
    throw new Fault('usage', `${file} is no ABI`, {
      fix: 'give a JSON ABI (a list), or an artefact of a compiler that has it in "abi"',
    })
  }
  const asked = attempt(() => askedIn(abi))
  if (!asked || asked.length === 0) {
    throw new Fault('usage', `${file} has no view function without arguments`, {
      fix: 'write a contract-read entry by hand for functions with arguments',
    })
  }
  return asked.slice(0, functionsMax)
}

function textOf(file: string): string {
  const text = attempt(() => readFileSync(file, 'utf8'))
  if (text === undefined) throw new Fault('usage', `${file} cannot be read`, { fix: 'give the path of a JSON ABI' })
  return text
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

function abiIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isRecord(value)) return undefined
  const { abi, output } = value
  if (Array.isArray(abi)) return abi
  // Etherscan's API has it as text, metadata of a compiler a level below.
  if (typeof value['result'] === 'string') return abiIn(parsedJson(value['result']))
  return isRecord(output) ? abiIn(output) : undefined
}

const isNumber = (type: string) => /^u?int\d*$|^bool$/.test(type)

const labelCharsMax = 16

/**
 * Entries of `contract-read` for the functions of an ABI that answered with numbers, by labels that are not taken.
 *
 * @param taken labels, and call data of functions that have an entry already
 */
export function abiEntries(
  answered: readonly Answered[],
  taken: { readonly labels: readonly string[]; readonly inputs: readonly string[] },
): Record<string, ReadEntry> {
  const entries: Record<string, ReadEntry> = {}
  for (const { abi, call, input } of answered) {
    if (taken.inputs.includes(input)) continue
    for (const [place, { name = '', type }] of abi.outputs.entries()) {
      if (!isNumber(type)) continue
      const isOnly = abi.outputs.length === 1
      const label = freeLabel(isOnly ? abi.name : `${abi.name}_${name || place}`, [
        ...taken.labels,
        ...Object.keys(entries),
      ])
      const take = isOnly ? {} : { take: name || String(place) }
      entries[label] = { call, ...take }
    }
  }
  return entries
}

/** A label of letters and digits, at most as long as is advised. */
function freeLabel(name: string, taken: readonly string[]): string {
  const isShouted = /^[A-Z0-9_]+$/.test(name)
  const parts = (isShouted ? name.toLowerCase() : name).split(/[^A-Za-z0-9]+/)
  const words = parts.map(word => word.charAt(0).toUpperCase() + word.slice(1))
  const plain = words.join('').slice(0, labelCharsMax) || 'Value'
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : String(count)
    const label = `${plain.slice(0, labelCharsMax - end.length)}${end}`
    if (!taken.includes(label)) return label
  }
}
