import { address, type ChainAsOf, defineCollector, z } from 'tidegauge'
import { part } from './values/abi-argument.ts'
import { decimalsOption, decimalsReader } from './values/decimals.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { eventFilter, plain } from './values/event.ts'
import { nearestNumber, scaled } from './values/fraction.ts'
import { OptionEntryMistake } from './values/mistake.ts'

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: z.union([address, z.array(address).min(1)]).describe('the contract, or several'),
    event: z.string().describe('its signature: "Transfer(address indexed from, address indexed to, uint256 value)"'),
    where: z.record(z.string(), z.unknown()).optional().describe('arguments that a log must have, all of them'),
    sum: z.string().optional().describe('the argument that is added up'),
    count: z.literal(true).optional().describe('the number of logs'),
    unique: z.string().optional().describe('the argument whose different values are counted'),
    decimals: decimalsOption.optional().describe('of the sum'),
    label: labelOption.max(16).describe('label of the metric'),
    ...declared,
  })
  .superRefine((given, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const kinds = (['sum', 'count', 'unique'] as const).filter(kind => given[kind] !== undefined)
    if (kinds.length !== 1) {
      tell(kinds.slice(1, 2), `must have one of sum, count, unique, and has ${kinds.join(' and ') || 'nothing of it'}`)
    } else if (given.decimals !== undefined && given.sum === undefined) {
      tell(['decimals'], `belongs to a sum, and this is a ${kinds[0]}`)
    }
    if (given.decimals === true && Array.isArray(given.address)) {
      tell(['decimals'], 'must be a number or { address: "0x…" }: there are several contracts')
    }
    try {
      eventFilter(given)
    } catch (error) {
      if (!(error instanceof OptionEntryMistake)) throw error
      tell(error.path, error.message)
    }
  })

type Options = z.output<typeof options>

/**
 * A number out of the events of an hour, those after the as-of block of the hour before up to this hour's: the sum of
 * an argument, their count, or the count of an argument's different values. No event at all is 0.
 */
export default defineCollector({
  options,
  metrics: given => ({ [given.label]: declaration(given) }),
  history: true,
  async collect({ options, chain }) {
    return { [options.label]: await eventValue(options, chain(options.chain)) }
  },
})

async function eventValue({ sum, unique, decimals = 0, ...given }: Options, chain: ChainAsOf): Promise<number> {
  const { abi, indexed, isMeant } = eventFilter({ ...given, sum, unique })
  const own = typeof given.address === 'string' ? given.address : undefined
  const token = decimals === true ? own : typeof decimals === 'object' ? decimals.address : undefined
  const [logs, places] = await Promise.all([
    chain.logs({ address: given.address, event: abi, args: indexed }),
    token ? decimalsReader(chain, 'decimals: 18')(token) : Number(decimals),
  ])
  const meant = logs.map(({ args }) => args).filter(isMeant)
  if (unique !== undefined) return new Set(meant.map(args => plain(part(args, unique)))).size
  if (sum === undefined) return meant.length
  const total = meant.reduce<bigint>((total, args) => total + BigInt(part(args, sum) as bigint | number | boolean), 0n)
  return nearestNumber(scaled(total, places))
}
