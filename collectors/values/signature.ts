import { type Abi, parseAbiItem } from 'viem'
import { OptionEntryMistake } from './mistake.ts'

type Kind = 'function' | 'event'
type Item<K extends Kind> = Extract<Abi[number], { readonly type: K }>

/**
 * The ABI of a signature, written with or without the word before it.
 *
 * @param words what must be written
 * @throws OptionEntryMistake at `option` for any other text
 */
export function parsedSignature<K extends Kind>(kind: K, signature: string, option: string, words: string): Item<K> {
  const text = signature.trim().replace(new RegExp(`^${kind}\\s+`), '')
  let why = ''
  try {
    const item = parseAbiItem(`${kind} ${text}` as string) as Abi[number]
    if (item.type === kind) return item as Item<K>
  } catch (error) {
    const { details } = error as { details?: unknown }
    if (typeof details === 'string' && details !== '') why = ` (${details})`
  }
  throw new OptionEntryMistake([option], `${words}${why}`)
}

/** Whether values of an ABI type are numbers here: integers, and bools as 1 or 0. */
export function isNumber(type: string): boolean {
  return /^u?int\d*$|^bool$/.test(type)
}
