import { type Abi, parseAbiItem } from 'viem'
import { OptionEntryMistake } from './mistake.ts'

type Kind = 'function' | 'event'
type Item<K extends Kind> = Extract<Abi[number], { readonly type: K }>

/**
 * The ABI of a signature as it stands in a source, in an explorer or in another library's list.
 *
 * @param words what must be written
 * @throws OptionEntryMistake at `option` for any other text; it names what is not understood
 */
export function parsedSignature<K extends Kind>(kind: K, signature: string, option: string, words: string): Item<K> {
  const text = plainSignature(kind, signature)
  let reason = ''
  try {
    const item = parseAbiItem(`${kind} ${text}` as string) as Abi[number]
    if (item.type === kind) return item as Item<K>
  } catch (error) {
    reason = notUnderstood(text, error)
  }
  throw new OptionEntryMistake([option], `${words}${reason && ` (${reason})`}`)
}

/**
 * The signature in the form that viem parses, without the word before it: one space between words, none at brackets, and
 * without what does not belong to an ABI, such as `external`, `memory`, a semicolon or the body.
 */
function plainSignature(kind: Kind, signature: string): string {
  return signature
    .replace(/\/\/.*|\/\*[\s\S]*?(?:\*\/|$)/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/[;{].*/, '')
    .replace(/\boverride ?\([^()]*\)/g, '')
    .replace(/\b(external|public|virtual|override|memory|calldata|storage)\b/g, ' ')
    .replace(/\baddress payable\b/g, 'address')
    .replace(/\bconstant\b/g, 'view')
    .replace(/\btuple ?\(/g, '(')
    .replace(/ +/g, ' ')
    .replace(/ ?([()[\],]) ?/g, '$1')
    .replace(/([)\],])(?=[\w$])/g, '$1 ')
    .replace(/ returns\(/, ' returns (')
    .replace(/ +/g, ' ')
    .trim()
    .replace(new RegExp(`^${kind} `), '')
}

/** The first thing that keeps a signature from being one, in words; empty where that is not known. */
function notUnderstood(text: string, error: unknown): string {
  let outerText = text
  for (let before = ''; before !== outerText; ) [before, outerText] = [outerText, outerText.replace(/\([^()]*\)/g, '')]
  if (/[()]/.test(outerText)) return 'a bracket is not closed, or not opened'
  const [, ...after] = outerText.split(' ')
  if (after.includes('returns') && !text.includes(' returns (')) return 'write what it returns in brackets'
  const unknown = after.find(word => !['view', 'pure', 'payable', 'nonpayable', 'returns', ''].includes(word))
  if (unknown !== undefined) return `"${unknown}" is not understood`
  const { metaMessages, details } = error as { readonly metaMessages?: unknown; readonly details?: unknown }
  const [message] = [metaMessages].flat()
  const type = /^Type "(.+)" is not a valid/.exec(String(message))?.[1]
  if (type !== undefined) return `"${type}" is no type of an ABI: a contract is an address, and an enum a uint8`
  const name = /^"(.+)" is a protected/.exec(String(message))?.[1]
  if (name !== undefined) return `"${name}" cannot be a name: write another one, or none`
  return [message, details].find(words => typeof words === 'string' && words !== '')?.toString() ?? ''
}

/** Whether values of an ABI type are numbers here: integers, and bools as 1 or 0. */
export function isNumber(type: string): boolean {
  return /^u?int\d*$|^bool$/.test(type)
}
