import type { AppContext } from '../app/context.ts'
import { openContractLook } from '../app/open-chains.ts'
import { LogList } from '../chain/log-list.ts'
import type { RecentEvents } from '../chain/read/node-questions.ts'
import type { ChainConfig } from '../config/config.ts'
import type { LogFilter } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import type { CollectedPart } from './collected-report.ts'
import { counted } from './terminal.ts'

/** Kinds of events that are named in one sentence; further ones are counted. */
const kindsMax = 5

/** A collector that read events and found none in the hour, nor lately. */
export interface QuietEvents {
  readonly part: CollectedPart
  /** A sentence without a capital: `no such event in the last 10,000 blocks; …`. */
  readonly text: string
}

/** Finds collectors whose events have not been emitted lately: the address or the event may be wrong. */
export async function quietEvents(context: AppContext, parts: readonly CollectedPart[]): Promise<QuietEvents[]> {
  await using stack = new AsyncDisposableStack()
  const none = new LogList([]).digest
  const asked = parts.flatMap(part =>
    part.pins.flatMap(({ chainId, logs = [] }) => {
      const chain = context.config.chains.find(({ id }) => id === chainId)
      const empty = logs.filter(({ digest }) => digest === none).map(({ filter }) => filter)
      return chain ? empty.map(filter => ({ part, chain, filter })) : []
    }),
  )
  const found = await Promise.all(
    asked.map(async ({ part, chain, filter }) => {
      const text = await quietText(context, chain, filter, stack)
      return text === undefined ? [] : [{ part, text }]
    }),
  )
  return found.flat()
}

/** @returns undefined when the event was seen, or no endpoint says whether it was */
async function quietText(
  context: AppContext,
  chain: ChainConfig,
  filter: LogFilter,
  stack: AsyncDisposableStack,
): Promise<string | undefined> {
  try {
    const recent = await openContractLook(chain, context, stack).events(filter)
    if (recent.isSeen) return undefined
    const whose = Array.isArray(filter.address) ? 'these contracts' : 'this contract'
    const blocks = (count: number) => `in the last ${counted(count, 'block')}`
    const place = recent.blocks === recent.emittedBlocks ? '' : ` ${blocks(recent.emittedBlocks)}`
    return `no such event ${blocks(recent.blocks)}; ${whose} emitted ${kindsText(recent)}${place}`
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

function kindsText({ emitted }: RecentEvents): string {
  if (emitted.size === 0) return 'nothing'
  const kinds = [...emitted].sort(([, a], [, b]) => b - a)
  const shown = kinds.slice(0, kindsMax).map(([name, count]) => `${name} ×${count}`)
  return [...shown, ...(kinds.length > kindsMax ? [`${kinds.length - kindsMax} others`] : [])].join(', ')
}
