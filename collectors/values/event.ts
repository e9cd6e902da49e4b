import type { AbiEvent } from 'viem'
import { argument, part } from './abi-argument.ts'
import { OptionEntryMistake } from './mistake.ts'
import { isNumber, parsedSignature } from './signature.ts'

/** An event as it is written: `{ event: 'Swap(address indexed who, uint256 amount)', where: { who: '0x…' } }`. */
export interface WrittenEvent {
  readonly event: string
  /** Arguments that a log must have. */
  readonly where?: Readonly<Record<string, unknown>> | undefined
  /** An argument that is an integer or a bool. */
  readonly sum?: string | undefined
  readonly unique?: string | undefined
}

/** An event by its signature, and which of its logs are meant. */
export interface ParsedEvent {
  readonly abi: AbiEvent
  /** Arguments that the node can filter by. */
  readonly indexed: Readonly<Record<string, unknown>>
  /** Whether a log has the arguments that the node cannot filter by. */
  isMeant(args: unknown): boolean
}

/** @throws OptionEntryMistake when it is no event, or an argument is not of it */
export function eventFilter({ event, where = {}, sum, unique }: WrittenEvent): ParsedEvent {
  const abi = parsedEvent(event)
  if (sum !== undefined && !isNumber(input(abi, sum, ['sum']).type)) {
    throw new OptionEntryMistake(
      ['sum'],
      `must be an integer or a bool, and ${sum} is ${input(abi, sum, ['sum']).type}`,
    )
  }
  if (unique !== undefined) input(abi, unique, ['unique'])
  const wanted = Object.entries(where).map(([name, written]) => {
    const { indexed = false, ...parameter } = input(abi, name, ['where', name])
    return { name, indexed, value: argument(parameter, written, ['where', name]) }
  })
  const [first] = abi.inputs.filter(({ indexed }) => indexed)
  if (abi.anonymous && first && !narrow.test(first.type) && !(first.name && first.name in where)) {
    const known = first.name ? `: give ${first.name} under where` : ''
    throw new OptionEntryMistake(['event'], `is anonymous, and its first topic may be that of any other event${known}`)
  }
  const own = wanted.filter(({ indexed }) => !indexed).map(({ name, value }) => [name, plain(value)] as const)
  return {
    abi,
    indexed: Object.fromEntries(wanted.filter(({ indexed }) => indexed).map(({ name, value }) => [name, value])),
    isMeant: args => own.every(([name, value]) => plain(part(args, name)) === value),
  }
}

/** @throws OptionEntryMistake */
function parsedEvent(event: string): AbiEvent {
  const signature = event.replace(/\)\s*anonymous\s*;?\s*$/, ')')
  const abi = parsedSignature('event', signature, 'event', `must be the signature of an event, ${example}`)
  return signature === event ? abi : { ...abi, anonymous: true }
}

/** Types of an indexed argument that no signature looks like: some of their 32 bytes are always the same. */
const narrow = /^(address|bool|bytes([1-9]|1\d|2[0-8])|u?int([1-9]\d?|1\d\d|2[01]\d|22[0-4]))$/

/** An argument of a log as a text that is equal for equal arguments. */
export function plain(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === 'bigint') return String(each)
    // viem spells an address with capitals, for its checksum.
    return typeof each === 'string' && /^0x[0-9a-f]{40}$/i.test(each) ? each.toLowerCase() : each
  })
}

const example = 'like "Transfer(address indexed from, address indexed to, uint256 value)"'

function input({ name: event, inputs }: AbiEvent, name: string, path: readonly string[]): AbiEvent['inputs'][number] {
  const found = inputs.find(each => each.name === name)
  if (found) return found
  const known = inputs.map(each => each.name).filter(Boolean)
  const words = known.length > 0 ? known.join(', ') : 'nothing: name its arguments in the signature'
  throw new OptionEntryMistake(path, `${event} has no argument "${name}": it has ${words}`)
}
